/**
 * The conversation without a live screen: for screen readers, and for terminals that cannot move the cursor.
 *
 * 1. Text is only appended. There is no spinner, no live region and no symbol without words.
 * 2. A question is a numbered list. It is answered only by a line with a number that was typed after the question appeared.
 */
import { createInterface } from "node:readline";
import type { ReadStream, WriteStream } from "node:tty";
import type { RuleOffer } from "../../permissions/rule-offers.js";
import { formatCallTitle } from "../../render/format-call.js";
import { isEmpty } from "../../screen/draft.js";
import type { EarlyInput } from "../../screen/early-prompt.js";
import { type Line, paint, toPlainText as textOf } from "../../screen/line.js";
import type { Choice } from "../../screen/picker.js";
import { createClipboardSequence } from "../../terminal/pager.js";
import { toOneLine } from "../../terminal/text.js";
import { plainText } from "../../terminal/text-style.js";
import { renderInput } from "../lines/exact-lines.js";
import type { OpenQuestion } from "../view/questions.js";
import {
  type AnswerResult,
  type AnswerState,
  findFieldText,
  formatAnswerPrompt,
  initialAnswerState,
  listAnswerKeys,
  listScopes,
  pressAnswer,
  submitAnswer,
} from "./answering.js";
import { answerDelayMs, bell, doublePressMs, type Front, isMessage, type Talk } from "./front.js";
import { createLineQueue } from "./line-queue.js";

const defaultColumns = 80;
/** The maximum length of the call's title in a question; characters. */
const maxTitle = 160;

/** Replaces the marks at the beginning of a line with words. */
const markWords: readonly (readonly [RegExp, string])[] = [
  [/^> /, "You: "],
  [/^↳ you, /, "You, "],
  [/^✓ /, "Tool, done: "],
  // Sentences; the name of a tool begins with a small letter.
  [/^✗ (?=model|failed|[A-Z/])/, "Failed: "],
  [/^✗ /, "Tool, failed: "],
  [/^\? /, "Question: "],
  [/^ {2}│ /, "  "],
];

type PlainStreams = { readonly input: ReadStream; readonly output: WriteStream };

/** @param earlyInput the input typed at the early prompt */
export function createPlainFront({ input, output }: PlainStreams, earlyInput?: EarlyInput): Front {
  let talk: Talk | null = null;
  /** Continues without waiting. */
  let skipWait: (() => void) | null = null;
  let answerState: AnswerState = initialAnswerState;
  let shownQuestion: { readonly question: OpenQuestion; readonly since: number } | null = null;
  let openChoice: { readonly choices: readonly Choice[]; readonly settle: (id: string | null) => void } | null = null;
  let isReady = false;
  let isLeaving = false;
  let hasLeft = false;
  let lastInterrupt = Number.NEGATIVE_INFINITY;
  const lineQueue = createLineQueue(earlyInput?.messages);
  const lines = createInterface({ input, terminal: false });

  function print(text: string): void {
    output.write(`${text}\n`);
  }

  function printLine(line: Line): void {
    const text = textOf(line);
    const [mark, word] = markWords.find(([pattern]) => pattern.test(text)) ?? [];
    print(mark === undefined || word === undefined ? paint(line, plainText) : text.replace(mark, word));
  }

  function flush(): void {
    for (const line of talk?.control.view.takeHistory() ?? []) printLine(line);
  }

  function changed(): void {
    flush();
    const view = talk?.control.view;
    if (view === undefined) return;
    const [question] = view.questions.all();
    if (question !== shownQuestion?.question) {
      answerState = initialAnswerState;
      shownQuestion = null;
      if (question !== undefined) {
        showQuestion(question);
        if (talk?.rings === true) output.write(bell);
      }
    }
    const wasReady = isReady;
    isReady = view.state().runId === null && talk?.control.isReading() !== true;
    if (isReady && isLeaving) isLeaving = false;
    if (isReady && !wasReady && !hasLeft) print("Ready. Type a message and press Enter. /help lists the commands.");
  }

  /** The time is taken once a terminal that lags has the question. */
  function showQuestion(question: OpenQuestion): void {
    printQuestion(question);
    shownQuestion = { question, since: performance.now() };
  }

  function printQuestion(question: OpenQuestion): void {
    const input = answerState.mode === "choose" ? (answerState.edited ?? question.input) : question.input;
    print(`${formatCallTitle(question.name, input, maxTitle)} waits for your answer. Type a number and press Enter:`);
    for (const [at, { label }] of listAnswerKeys(question, answerState).entries()) print(`  ${at + 1} ${label}`);
  }

  function onLine(line: string): void {
    if (openChoice !== null) choose(openChoice, line);
    else if (isLeaving) applyLeaveChoice(line);
    else if (shownQuestion !== null && answerState.mode === "always")
      applyPickedRule(line, answerState.offers, shownQuestion.question);
    else if (shownQuestion !== null && answerState.mode !== "choose")
      applyAnswer(submitAnswer(toTypedText(line), answerState, shownQuestion.question), shownQuestion.question);
    else if (!(shownQuestion !== null && pressNumber(line, shownQuestion))) send(line);
  }

  /** A line begins empty here, so an empty line keeps the current text of a field. */
  function toTypedText(line: string): string {
    const current = findFieldText(answerState);
    if (current === null) return line;
    return line === "" ? current : line === emptyField ? "" : line;
  }

  function choose({ choices, settle }: NonNullable<typeof openChoice>, line: string): void {
    const chosen = /^\d+$/.test(line.trim()) ? choices[Number(line) - 1] : undefined;
    openChoice = null;
    settle(chosen?.id ?? null);
  }

  function pressNumber(line: string, { question, since }: NonNullable<typeof shownQuestion>): boolean {
    if (!/^\s*\d{1,2}\s*$/.test(line)) return false;
    if (performance.now() - since < answerDelayMs) {
      print(
        "This was typed before the question could be read, so it was not taken as an answer. Type the number again.",
      );
      return true;
    }
    const key = listAnswerKeys(question, answerState)[Number(line) - 1]?.key;
    if (key === undefined) printQuestion(question);
    else applyAnswer(pressAnswer(key, answerState, question), question);
    return true;
  }

  function applyAnswer(answered: AnswerResult, question: OpenQuestion): void {
    if (answered === null) return;
    switch (answered.type) {
      case "decision":
        answerState = initialAnswerState;
        talk?.control.answer(question, answered.decision);
        break;
      case "go":
        answerState = answered.to;
        print(formatPlainPrompt(answered.to, answered.text));
        break;
      case "edited":
        answerState = { mode: "choose", edited: answered.input };
        for (const line of renderInput(answered.input)) printLine(line);
        showQuestion(question);
        break;
      case "why":
        talk?.rules.explain(question);
        break;
      case "always":
        talk?.rules.offer(question, (offers) => offer(offers, question));
        break;
      case "keep":
        answerState = initialAnswerState;
        talk?.rules.keep(question, answered.offer, answered.scope);
        break;
      case "problem":
        print(toOneLine(answered.message));
        break;
    }
  }

  function offer(offers: readonly RuleOffer[], question: OpenQuestion): void {
    if (shownQuestion?.question !== question || answerState.mode !== "choose") return;
    answerState = { mode: "always", offers, picked: 0 };
    print("Always allow, without asking. Type a number and press Enter, or only Enter to go back:");
    for (const [at, { says, scope }] of listRuleChoices(offers).entries())
      print(`  ${at + 1} ${toOneLine(says)}, ${scope.label}`);
    for (const note of new Set(offers.flatMap(({ note: text }) => text ?? []))) print(toOneLine(note));
  }

  function applyPickedRule(line: string, offers: readonly RuleOffer[], question: OpenQuestion): void {
    answerState = initialAnswerState;
    const rule = /^\s*\d+\s*$/.test(line) ? listRuleChoices(offers)[Number(line) - 1] : undefined;
    if (rule === undefined) printQuestion(question);
    else applyAnswer({ type: "keep", offer: rule.offer, scope: rule.scope.scope }, question);
  }

  function send(line: string): void {
    if (line.trim() === "") return;
    if (isMessage(line)) isReady = false;
    lineQueue.send(line);
  }

  function applyLeaveChoice(line: string): void {
    isLeaving = false;
    if (line.trim() === "1") talk?.quit("stop");
    else if (line.trim() === "2") talk?.quit("leave");
  }

  function askHowToLeave(): void {
    isLeaving = true;
    print("A run is in progress. Type a number and press Enter:");
    print("  1 stop it and leave\n  2 leave it; pawl --continue resumes it\n  3 stay");
  }

  function interrupt(): void {
    if (hasLeft) return;
    const isDoublePress = performance.now() - lastInterrupt < doublePressMs;
    lastInterrupt = performance.now();
    const isAtWork = talk !== null && talk.control.view.state().runId !== null;
    if (skipWait !== null) skipWait();
    else if (isDoublePress && isAtWork) askHowToLeave();
    else if (isDoublePress) talk?.quit("rest");
    else if (talk?.stopOwn() === true) return;
    else if (isAtWork) talk?.control.stop();
    else print("Press Ctrl-C again to leave.");
  }

  function switchTalk(next: Talk | null): void {
    flush();
    [talk, skipWait, shownQuestion, answerState, isReady] = [next, null, null, initialAnswerState, false];
  }

  if (earlyInput !== undefined && !isEmpty(earlyInput.draft))
    print(`Your unsent draft: ${toOneLine(earlyInput.draft.text)}`);
  lines.on("line", onLine);
  lines.on("close", leaveAtEnd);
  process.on("SIGINT", interrupt);

  /** Ctrl-D closes the input, so the person cannot be asked how to leave. */
  function leaveAtEnd(): void {
    talk?.quit(talk.control.view.state().runId === null ? "rest" : "leave");
  }

  return {
    columns: () => output.columns || defaultColumns,
    changed,
    talk(next) {
      switchTalk(next);
      if (next.draft !== undefined) print(`The message was: ${toOneLine(next.draft)}`);
      lineQueue.talk(next);
      changed();
    },
    // The lines that were typed before are on the screen, and the terminal edits lines itself.
    remember() {},
    wait(waitText, skipRequested) {
      switchTalk(null);
      skipWait = skipRequested ?? null;
      print(`${toOneLine(waitText)}${skipWait === null ? "" : " Ctrl-C skips the wait."}`);
      lineQueue.talk(null);
      changed();
    },
    leave(waitText) {
      hasLeft = true;
      lines.off("line", onLine);
      lines.off("close", leaveAtEnd);
      print(toOneLine(waitText));
    },
    choose(title, choices) {
      print(`${title}: type a number and press Enter, or only Enter to go back.`);
      for (const [at, { text }] of choices.entries()) print(`  ${at + 1} ${toOneLine(text)}`);
      return new Promise((settle) => {
        openChoice = { choices, settle };
      });
    },
    // Screen readers read the text where it is printed.
    page: async () => false,
    copy: (text) => void output.write(createClipboardSequence(text)),
    close() {
      flush();
      lines.off("close", leaveAtEnd);
      lines.close();
      process.off("SIGINT", interrupt);
    },
  };
}

/** What a person types for a field that is to be empty. */
const emptyField = '""';

/** For example `path > now: notes.txt. Enter keeps it, "" empties it.` */
function formatPlainPrompt(answering: AnswerState, text: string): string {
  const prompt = formatAnswerPrompt(answering);
  if (answering.mode !== "edit") return `${prompt}${text === "" ? "" : ` now: ${toOneLine(text)}`}`;
  if (text === "") return `${prompt} now empty. Enter keeps it.`;
  return `${prompt} now: ${toOneLine(text)}\nEnter keeps it, ${emptyField} empties it.`;
}

/** Each rule with each scope in which it can be saved. */
function listRuleChoices(offers: readonly RuleOffer[]) {
  return offers.flatMap((offer) => listScopes(offer).map((scope) => ({ offer, scope, says: offer.label })));
}
