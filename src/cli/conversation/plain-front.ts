/**
 * The conversation without a live screen: for screen readers, and for terminals that cannot move the cursor.
 *
 * 1. Text is only appended. There is no spinner, no region and no symbol that stands alone.
 * 2. A question is a numbered list. Only a line with a number answers it, and only one that was typed after it appeared.
 */
import { createInterface } from "node:readline";
import type { ReadStream, WriteStream } from "node:tty";
import { callTitle } from "../call-title.js";
import { clipboardSequence } from "../pager.js";
import type { Offer } from "../permissions/offers.js";
import { isEmpty } from "../screen/draft.js";
import { type Line, paint, plainText as textOf } from "../screen/line.js";
import type { Choice } from "../screen/picker.js";
import type { Typed } from "../screen/prompt.js";
import { oneLine } from "../text.js";
import { plainText } from "../text-style.js";
import {
  type Answered,
  type Answering,
  answerKeys,
  choosing,
  pressAnswer,
  promptOf,
  scopesOf,
  submitAnswer,
} from "./answering.js";
import { inputLines } from "./exact-lines.js";
import { answerableAfter, bell, type Front, isMessage, type Talk, twiceWithin } from "./front.js";
import { createLineOrder } from "./line-order.js";
import type { OpenQuestion } from "./questions.js";

const defaultColumns = 80;
/** Characters of the call that a question names. */
const mostTitle = 160;

/** Marks at the beginning of a line, in words. */
const words: readonly (readonly [RegExp, string])[] = [
  [/^> /, "You: "],
  [/^↳ you, /, "You, "],
  [/^✓ /, "Tool, done: "],
  [/^✗ (?=model|Model|failed)/, "Failed: "],
  [/^✗ /, "Tool, failed: "],
  [/^\? /, "Question: "],
  [/^ {2}│ /, "  "],
];

type PlainStreams = { readonly input: ReadStream; readonly output: WriteStream };

/** @param typed what was typed at a prompt before */
export function createPlainFront({ input, output }: PlainStreams, typed?: Typed): Front {
  let talk: Talk | null = null;
  /** Goes on without what is waited for. */
  let skip: (() => void) | null = null;
  let answering: Answering = choosing;
  let asked: { readonly question: OpenQuestion; readonly since: number } | null = null;
  let choosingFrom: { readonly choices: readonly Choice[]; readonly settle: (id: string | null) => void } | null = null;
  let isReady = false;
  let isLeaving = false;
  let lastInterrupt = Number.NEGATIVE_INFINITY;
  const order = createLineOrder(typed?.messages);
  const lines = createInterface({ input, terminal: false });

  function print(text: string): void {
    output.write(`${text}\n`);
  }

  function printLine(line: Line): void {
    const text = textOf(line);
    const [mark, word] = words.find(([pattern]) => pattern.test(text)) ?? [];
    print(mark === undefined || word === undefined ? paint(line, plainText) : text.replace(mark, word));
  }

  function flush(): void {
    for (const line of talk?.control.view.taken() ?? []) printLine(line);
  }

  function changed(): void {
    flush();
    const view = talk?.control.view;
    if (view === undefined) return;
    const [question] = view.questions.all();
    if (question !== asked?.question) {
      asked = question === undefined ? null : { question, since: performance.now() };
      answering = choosing;
      if (question !== undefined) printQuestion(question);
      if (question !== undefined && talk?.rings === true) output.write(bell);
    }
    const wasReady = isReady;
    isReady = view.state().runId === null;
    if (isReady && isLeaving) isLeaving = false;
    if (isReady && !wasReady) print("Ready. Type a message and press Enter. /help lists the commands.");
  }

  function printQuestion(question: OpenQuestion): void {
    const input = answering.mode === "choose" ? (answering.edited ?? question.input) : question.input;
    print(`${callTitle(question.name, input, mostTitle)} waits for your answer. Type a number and press Enter:`);
    for (const [at, { says }] of answerKeys(question).entries()) print(`  ${at + 1} ${says}`);
  }

  function onLine(line: string): void {
    if (choosingFrom !== null) choose(choosingFrom, line);
    else if (isLeaving) leaveBy(line);
    else if (asked !== null && answering.mode === "always") pickRule(line, answering.offers, asked.question);
    else if (asked !== null && answering.mode !== "choose")
      follow(submitAnswer(line, answering, asked.question), asked.question);
    else if (!(asked !== null && pressNumber(line, asked))) send(line);
  }

  function choose({ choices, settle }: NonNullable<typeof choosingFrom>, line: string): void {
    const chosen = /^\d+$/.test(line.trim()) ? choices[Number(line) - 1] : undefined;
    choosingFrom = null;
    settle(chosen?.id ?? null);
  }

  function pressNumber(line: string, { question, since }: NonNullable<typeof asked>): boolean {
    if (!/^\s*\d\s*$/.test(line)) return false;
    if (performance.now() - since < answerableAfter) {
      print("This was typed before the question could be read, so it is no answer. Type the number again.");
      return true;
    }
    const key = answerKeys(question)[Number(line) - 1]?.key;
    if (key === undefined) printQuestion(question);
    else follow(pressAnswer(key, answering, question), question);
    return true;
  }

  function follow(answered: Answered, question: OpenQuestion): void {
    if (answered === null) return;
    switch (answered.type) {
      case "decision":
        answering = choosing;
        talk?.control.answer(question, answered.decision);
        break;
      case "go":
        answering = answered.to;
        print(`${promptOf(answered.to)}${answered.text === "" ? "" : ` now: ${oneLine(answered.text)}`}`);
        break;
      case "edited":
        answering = { mode: "choose", edited: answered.input };
        for (const line of inputLines(answered.input)) printLine(line);
        asked = { question, since: performance.now() };
        printQuestion(question);
        break;
      case "why":
        talk?.rules.explain(question);
        break;
      case "always":
        talk?.rules.offer(question, (offers) => offer(offers, question));
        break;
      case "keep":
        answering = choosing;
        talk?.rules.keep(question, answered.offer, answered.scope);
        break;
      case "problem":
        print(oneLine(answered.message));
        break;
    }
  }

  function offer(offers: readonly Offer[], question: OpenQuestion): void {
    if (asked?.question !== question || answering.mode !== "choose") return;
    answering = { mode: "always", offers, picked: 0 };
    print("Always allow, without asking. Type a number and press Enter, or only Enter to go back:");
    for (const [at, { says, scope }] of rulesToPick(offers).entries())
      print(`  ${at + 1} ${oneLine(says)}, ${scope.says}`);
    for (const note of new Set(offers.flatMap((one) => one.note ?? []))) print(oneLine(note));
  }

  function pickRule(line: string, offers: readonly Offer[], question: OpenQuestion): void {
    answering = choosing;
    const rule = /^\s*\d+\s*$/.test(line) ? rulesToPick(offers)[Number(line) - 1] : undefined;
    if (rule === undefined) printQuestion(question);
    else follow({ type: "keep", offer: rule.offer, scope: rule.scope.scope }, question);
  }

  function send(line: string): void {
    if (line.trim() === "") return;
    if (isMessage(line)) isReady = false;
    order.send(line);
  }

  function leaveBy(line: string): void {
    isLeaving = false;
    if (line.trim() === "1") talk?.quit("stop");
    else if (line.trim() === "2") talk?.quit("leave");
  }

  function askHowToLeave(): void {
    isLeaving = true;
    print("A run is at work. Type a number and press Enter:");
    print("  1 stop it and leave\n  2 leave it; pawl --continue carries it on\n  3 stay");
  }

  function interrupt(): void {
    const isTwice = performance.now() - lastInterrupt < twiceWithin;
    lastInterrupt = performance.now();
    const isAtWork = talk !== null && talk.control.view.state().runId !== null;
    if (skip !== null) skip();
    else if (isTwice && isAtWork) askHowToLeave();
    else if (isTwice) talk?.quit("rest");
    else if (talk?.stopOwn() === true) return;
    else if (isAtWork) talk?.control.stop();
    else print("Ctrl-C once more leaves.");
  }

  function begin(next: Talk | null): void {
    flush();
    [talk, skip, asked, answering, isReady] = [next, null, null, choosing, false];
  }

  if (typed !== undefined && !isEmpty(typed.draft)) print(`What you had begun: ${oneLine(typed.draft.text)}`);
  lines.on("line", onLine);
  lines.on("close", leaveAtEnd);
  process.on("SIGINT", interrupt);

  /** Ctrl-D: no further line can come, so nobody can be asked how to leave. */
  function leaveAtEnd(): void {
    talk?.quit(talk.control.view.state().runId === null ? "rest" : "leave");
  }

  return {
    columns: () => output.columns || defaultColumns,
    changed,
    talk(next) {
      begin(next);
      if (next.draft !== undefined) print(`The message was: ${oneLine(next.draft)}`);
      order.talk(next);
      changed();
    },
    wait(notice, skipIt) {
      begin(null);
      skip = skipIt ?? null;
      print(`${oneLine(notice)}${skip === null ? "" : " Ctrl-C does not wait."}`);
      order.talk(null);
      changed();
    },
    choose(title, choices) {
      print(`${title}: type a number and press Enter, or only Enter to go back.`);
      for (const [at, { text }] of choices.entries()) print(`  ${at + 1} ${oneLine(text)}`);
      return new Promise((settle) => {
        choosingFrom = { choices, settle };
      });
    },
    // The text is read out where it stands.
    page: async () => false,
    copy: (text) => void output.write(clipboardSequence(text)),
    close() {
      flush();
      lines.off("close", leaveAtEnd);
      lines.close();
      process.off("SIGINT", interrupt);
    },
  };
}

/** Each rule in each place in which it may be kept. */
function rulesToPick(offers: readonly Offer[]) {
  return offers.flatMap((offer) => scopesOf(offer).map((scope) => ({ offer, scope, says: offer.says })));
}
