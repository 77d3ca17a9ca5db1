/**
 * The live screen of a conversation: reads keys, and draws the history and a small region.
 *
 * 1. The prompt is always there. Lines that are typed before the session is open are queued, and sent when it is.
 * 2. No key answers a question by accident: never Enter, never a paste, never just after the question appears, and never while
 *    there is a draft, unless the person has moved to the question with Tab.
 * 3. At rest, nothing runs: no timer, no output.
 */

import * as edit from "../../screen/draft.js";
import { applyKey, continueLine, formatKey } from "../../screen/draft-keys.js";
import type { Prompt } from "../../screen/early-prompt.js";
import type { Key } from "../../screen/keys.js";
import type { Region } from "../../screen/screen.js";
import { copyToClipboard, createClipboardSequence, showInPager } from "../../terminal/pager.js";
import { commandKeys } from "../commands/key-help.js";
import { wrapNote } from "../lines/view-lines.js";
import type { OpenQuestion } from "../view/questions.js";
import {
  type AnswerResult,
  type AnswerState,
  formatAnswerPrompt,
  initialAnswerState,
  pressAnswer,
  submitAnswer,
} from "./answering.js";
import { createCompletion } from "./completion.js";
import { createEditorAction, renderEditedCall, toEditableCall } from "./edit-in-editor.js";
import { answerDelayMs, bell, doublePressMs, type Front, type Talk } from "./front.js";
import { lendTerminal } from "./lend-terminal.js";
import { createLineQueue } from "./line-queue.js";
import { renderRegion } from "./live-region.js";
import { createPickerHost } from "./picker-host.js";
import { createStartupWait } from "./startup-wait.js";
import { createTicker, isBusy } from "./ticker.js";

type ShownQuestion = { readonly question: OpenQuestion; readonly since: number };

/** Takes over the early prompt and the input typed there. */
export function createLiveFront(prompt: Prompt): Front {
  const { tty, screen } = prompt;
  const earlyInput = prompt.handOver(onKey);
  const completion = createCompletion(() => talk, refresh);
  let talk: Talk | null = null;
  let { draft } = earlyInput;
  let answerState: AnswerState = initialAnswerState;
  let shownQuestion: ShownQuestion | null = null;
  let [isOnQuestion, isLeaving] = [false, false];
  const [startupWait, list] = [createStartupWait(), createPickerHost(refresh)];
  const lines = createLineQueue(earlyInput.messages);
  let [lastEscape, lastInterrupt] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const ticker = createTicker(refresh);

  function refresh(): void {
    screen.show(renderFrame);
    ticker.run(talk !== null && isBusy(talk.control.view.state()));
  }

  /** Called once per frame, however many changes there were since the last one. */
  function renderFrame(): Region {
    const view = talk?.control.view ?? null;
    if (view !== null) screen.commit(view.takeHistory());
    const hints = shownQuestion === null ? completion.hints(draft, tty.columns) : [];
    const mode = talk?.control.mode.current() ?? "ask";
    const picker = list.current();
    const notice = startupWait.notice();
    const shown = { view, draft, hints, answering: answerState, isOnQuestion, picker, isLeaving, notice, mode };
    return renderRegion(shown, tty.columns, tty.rows, Date.now());
  }

  /** Checks whether the first open question is a different one. */
  function changed(): void {
    const [question] = talk?.control.view.questions.all() ?? [];
    if (question !== shownQuestion?.question) {
      if (shownQuestion !== null && answerState.mode !== "choose") draft = edit.clear(draft);
      shownQuestion = question === undefined ? null : { question, since: performance.now() };
      [answerState, isOnQuestion] = [initialAnswerState, false];
      if (question !== undefined && talk?.rings === true) tty.write(bell);
    }
    if (!isAtWork()) isLeaving = false;
    refresh();
  }

  function say(text: string): void {
    talk?.control.say(wrapNote(text, tty.columns, "dim"));
  }

  function onKey(key: Key): void {
    if (!list.press(key)) press(key);
    refresh();
    screen.answerKey();
  }

  function press(key: Key): void {
    if (isLeaving) pressLeaving(key);
    else if (key.type === "paste") {
      draft = edit.paste(draft, key.text);
      if (key.isCut) say("The paste was too long: its end is missing.");
    } else if (!(key.type === "key" && pressCommon(key)) && !pressQuestion(key)) pressDraft(key);
  }

  function pressLeaving(key: Key): void {
    const text = key.type === "text" ? key.text : "";
    if (text === "s" || text === "l") talk?.quit(text === "s" ? "stop" : "leave");
    if ((key.type === "key" && key.name === "escape") || /^[sl]$/.test(text)) isLeaving = false;
  }

  /** Handles the keys that mean the same everywhere. @returns whether it was one */
  function pressCommon(key: Extract<Key, { type: "key" }>): boolean {
    switch (formatKey(key)) {
      case "ctrl-c":
        interrupt();
        return true;
      case "ctrl-d":
        if (edit.isEmpty(draft)) requestLeave();
        else draft = edit.remove(draft, "on", "character");
        return true;
      case "ctrl-l":
        screen.redraw();
        return true;
      case "ctrl-z":
        suspend();
        return true;
      case "ctrl-g":
        openEditor();
        return true;
      case "ctrl-r":
        searchHistory();
        return true;
      case "escape":
        pressEscape();
        return true;
      case "tab":
        pressTab();
        return true;
      case "alt-up":
        takeBackQueued();
        return true;
    }
    const command = commandKeys[formatKey(key)];
    if (command !== undefined && talk !== null) lines.send(command);
    return command !== undefined;
  }

  function isAtWork(): boolean {
    return talk !== null && talk.control.view.state().runId !== null;
  }

  function interrupt(): void {
    if (!edit.isEmpty(draft) || answerState.mode !== "choose") {
      [draft, answerState] = [edit.clear(draft), initialAnswerState];
      return;
    }
    const isDoublePress = performance.now() - lastInterrupt < doublePressMs;
    lastInterrupt = performance.now();
    if (startupWait.skip()) return;
    if (isDoublePress) requestLeave();
    else if (talk?.stopOwn() === true) return;
    else if (isAtWork()) talk?.control.stop();
    else say("Press Ctrl-C again to leave.");
  }

  function requestLeave(): void {
    if (talk === null) return;
    if (!isAtWork()) talk.quit("rest");
    else if (talk.control.view.state().isWaiting) talk.quit("leave");
    else isLeaving = true;
  }

  function pressEscape(): void {
    const isDoublePress = performance.now() - lastEscape < doublePressMs;
    lastEscape = performance.now();
    if (startupWait.skip()) return;
    if (answerState.mode !== "choose") [draft, answerState] = [edit.clear(draft), initialAnswerState];
    else if (shownQuestion !== null && !edit.isEmpty(draft) && !isOnQuestion) isOnQuestion = true;
    else if (shownQuestion !== null && !isDoublePress) say("Press Esc again to deny this and stop the run.");
    else if (talk?.stopOwn() === true) return;
    else if (isAtWork()) talk?.control.stop();
    else if (isDoublePress && edit.isEmpty(draft) && talk !== null) lines.send("/fork");
  }

  function pressTab(): void {
    const found = shownQuestion === null ? completion.complete(draft) : null;
    if (shownQuestion !== null && answerState.mode === "choose") isOnQuestion = !isOnQuestion;
    else if (found?.type === "draft") draft = found.draft;
    else if (found?.type === "choose")
      void list.choose("@", found.choices).then((path) => {
        if (path !== null) draft = found.draft(path);
        refresh();
      });
    else if (isAtWork() && draft.text.trim() !== "") talk?.control.queue(takeDraft());
  }

  function searchHistory(): void {
    if (answerState.mode !== "choose") return;
    void list.choose("history", edit.listEarlierMessages(draft)).then((message) => {
      if (message !== null) draft = edit.write(draft, message);
      refresh();
    });
  }

  function takeBackQueued(): void {
    const text = talk?.control.takeBack() ?? null;
    if (text !== null) draft = edit.write(draft, text);
  }

  function takeDraft(): string {
    const { text, draft: rest } = edit.submit(draft);
    draft = rest;
    return text;
  }

  /** Whether a key can answer the question now. */
  function acceptsAnswer({ since }: ShownQuestion): boolean {
    return (isOnQuestion || edit.isEmpty(draft)) && performance.now() - since >= answerDelayMs;
  }

  /** Handles a key for the open question. @returns whether it was one */
  function pressQuestion(key: Key): boolean {
    if (shownQuestion === null || key.type === "paste") return false;
    if (answerState.mode !== "choose" && answerState.mode !== "always") return false;
    if (!acceptsAnswer(shownQuestion) || (key.type === "key" && answerState.mode !== "always")) return false;
    const pressedKey = key.type === "key" ? formatKey(key) : key.text;
    return applyAnswer(pressAnswer(pressedKey, answerState, shownQuestion.question), shownQuestion.question);
  }

  /** Applies the effect of an answer. @returns whether there was one */
  function applyAnswer(answered: AnswerResult, question: OpenQuestion): boolean {
    if (answered === null) return false;
    switch (answered.type) {
      case "decision":
        talk?.control.answer(question, answered.decision);
        [draft, answerState, isOnQuestion] = [edit.clear(draft), initialAnswerState, false];
        break;
      case "go":
        answerState = answered.to;
        draft = edit.write(edit.clear(draft), answered.text);
        break;
      case "edited":
        answerState = { mode: "choose", edited: answered.input };
        draft = edit.clear(draft);
        talk?.control.say(renderEditedCall(question, answered.input, talk.control.fileOf(question)));
        shownQuestion = { question, since: performance.now() };
        break;
      case "why":
        talk?.rules.explain(question);
        break;
      case "always":
        talk?.rules.offer(question, (offers) => {
          // Meanwhile, another question may be shown.
          if (shownQuestion?.question === question && answerState.mode === "choose")
            answerState = { mode: "always", offers, picked: 0 };
          refresh();
        });
        break;
      case "keep":
        [answerState, isOnQuestion] = [initialAnswerState, false];
        talk?.rules.keep(question, answered.offer, answered.scope);
        break;
      case "problem":
        say(answered.message);
        break;
    }
    return true;
  }

  function pressDraft(key: Key): void {
    if (key.type !== "key" || formatKey(key) !== "enter") {
      draft =
        applyKey(draft, key, {
          prompt: shownQuestion === null ? "> " : formatAnswerPrompt(answerState),
          columns: tty.columns,
        }) ?? draft;
      return;
    }
    const continuedDraft = continueLine(draft);
    if (continuedDraft !== null) draft = continuedDraft;
    else if (shownQuestion !== null && answerState.mode !== "choose") {
      applyAnswer(submitAnswer(edit.expandPastes(draft), answerState, shownQuestion.question), shownQuestion.question);
    } else submit();
  }

  function submit(): void {
    const { control } = talk ?? {};
    if (draft.text.trim() === "") {
      if (control !== undefined && !isAtWork() && control.view.state().queued.length > 0) control.startQueued();
      return;
    }
    lines.send(takeDraft());
  }

  function suspend(): void {
    if (process.platform === "win32") return;
    if (isAtWork() && shownQuestion === null) {
      say("pawl cannot be suspended during a run: it would lose its session. Esc stops the run.");
      return;
    }
    screen.close();
    tty.suspend(onResumed);
  }

  function onResumed(): void {
    tty.enter();
    screen.open();
    refresh();
  }

  const lendToProgram = <T>(use: () => Promise<T>) => lendTerminal(prompt, interrupt, use, onResumed);

  const editInEditor = createEditorAction(lendToProgram, say);

  function openEditor(): void {
    const { question } = shownQuestion ?? {};
    const call =
      shownQuestion !== null && acceptsAnswer(shownQuestion)
        ? toEditableCall(answerState, shownQuestion.question)
        : null;
    if (question !== undefined && call !== null)
      editInEditor(call.text, call.name, (text) => {
        if (shownQuestion?.question === question && answerState.mode === "choose")
          applyAnswer(call.read(text), question);
        else say(`${question.name} was answered in the meantime, so your changes were discarded.`);
      });
    else
      editInEditor(edit.expandPastes(draft), "message.md", (text) => {
        draft = edit.write(draft, text);
      });
  }

  function switchTalk(next: Talk | null): void {
    if (talk !== null) screen.commit(talk.control.view.takeHistory());
    [talk, shownQuestion, answerState, isOnQuestion, isLeaving] = [next, null, initialAnswerState, false, false];
    lines.talk(next);
    changed();
  }

  // In raw mode, Ctrl-C is a key, so this signal comes from another process.
  process.on("SIGINT", interrupt);
  refresh();
  return {
    columns: () => tty.columns,
    changed,
    talk(next) {
      startupWait.end();
      if (next.draft !== undefined) draft = edit.write(draft, next.draft);
      switchTalk(next);
    },
    wait(notice, skip) {
      startupWait.begin(notice, skip);
      switchTalk(null);
    },
    choose: list.choose,
    page: (text) => lendToProgram(() => showInPager(text, process.env)),
    copy(text) {
      tty.write(createClipboardSequence(text));
      copyToClipboard(text, process.env);
    },
    close() {
      ticker.run(false);
      process.off("SIGINT", interrupt);
      if (talk !== null) screen.commit(talk.control.view.takeHistory());
      prompt.close();
    },
  };
}
