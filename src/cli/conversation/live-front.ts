/**
 * The live screen of a conversation: keys in, the history and a small region out.
 *
 * 1. The prompt is always there. What is typed before the session is open is kept, and sent when it is.
 * 2. No key answers a question by accident: never Enter, never a paste, never in the first moment, and never while there
 *    is a draft unless Tab has gone to the question.
 * 3. At rest nothing runs: no timer, no bytes.
 */
import { clipboardSequence, giveToClipboard, showInPager } from "../pager.js";
import * as edit from "../screen/draft.js";
import { continued, nameOfKey, pressed } from "../screen/draft-keys.js";
import type { Key } from "../screen/keys.js";
import type { Prompt } from "../screen/prompt.js";
import type { Region } from "../screen/screen.js";
import { type Answered, type Answering, choosing, pressAnswer, promptOf, submitAnswer } from "./answering.js";
import { createCompletion } from "./completion.js";
import { callText, createEditing, editedLines } from "./edit-in-editor.js";
import { answerableAfter, bell, type Front, type Talk, twiceWithin } from "./front.js";
import { commandKeys } from "./key-help.js";
import { lendTerminal } from "./lend-terminal.js";
import { createLineOrder } from "./line-order.js";
import { liveRegion } from "./live-region.js";
import { createPicking } from "./picking.js";
import type { OpenQuestion } from "./questions.js";
import { createTicker, isBusy } from "./ticker.js";
import { wrappedNote } from "./view-lines.js";
import { createWaiting } from "./waiting.js";

type Asked = { readonly question: OpenQuestion; readonly since: number };

/** Takes the prompt over, with what was typed there. */
export function createLiveFront(prompt: Prompt): Front {
  const { tty, screen } = prompt;
  const typed = prompt.handOver(onKey);
  const completion = createCompletion(() => talk, refresh);
  let talk: Talk | null = null;
  let { draft } = typed;
  let answering: Answering = choosing;
  let asked: Asked | null = null;
  let [isOnQuestion, isLeaving] = [false, false];
  const [waiting, picking] = [createWaiting(), createPicking(refresh)];
  const lines = createLineOrder(typed.messages);
  let [lastEscape, lastInterrupt] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const ticker = createTicker(refresh);

  function refresh(): void {
    screen.show(region);
    ticker.run(talk !== null && isBusy(talk.control.view.state()));
  }

  /** Asked once for each frame: much may change between two of them. */
  function region(): Region {
    const view = talk?.control.view ?? null;
    if (view !== null) screen.commit(view.taken());
    const hints = asked === null ? completion.hints(draft, tty.columns) : [];
    const mode = talk?.control.mode.present() ?? "ask";
    const picker = picking.present();
    const notice = waiting.notice();
    const shown = { view, draft, hints, answering, isOnQuestion, picker, isLeaving, notice, mode };
    return liveRegion(shown, tty.columns, tty.rows, Date.now());
  }

  /** Notices when another question is the first one. */
  function changed(): void {
    const [question] = talk?.control.view.questions.all() ?? [];
    if (question !== asked?.question) {
      if (asked !== null && answering.mode !== "choose") draft = edit.clear(draft);
      asked = question === undefined ? null : { question, since: performance.now() };
      [answering, isOnQuestion] = [choosing, false];
      if (question !== undefined && talk?.rings === true) tty.write(bell);
    }
    if (!isAtWork()) isLeaving = false;
    refresh();
  }

  function say(text: string): void {
    talk?.control.say(wrappedNote(text, tty.columns, "dim"));
  }

  function onKey(key: Key): void {
    if (!picking.press(key)) press(key);
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

  /** Keys that mean the same everywhere. @returns whether it was one */
  function pressCommon(key: Extract<Key, { type: "key" }>): boolean {
    switch (nameOfKey(key)) {
      case "ctrl-c":
        interrupt();
        return true;
      case "ctrl-d":
        if (edit.isEmpty(draft)) leave();
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
        takeBack();
        return true;
    }
    const command = commandKeys[nameOfKey(key)];
    if (command !== undefined && talk !== null) lines.send(command);
    return command !== undefined;
  }

  function isAtWork(): boolean {
    return talk !== null && talk.control.view.state().runId !== null;
  }

  function interrupt(): void {
    if (!edit.isEmpty(draft) || answering.mode !== "choose") {
      [draft, answering] = [edit.clear(draft), choosing];
      return;
    }
    const isTwice = performance.now() - lastInterrupt < twiceWithin;
    lastInterrupt = performance.now();
    if (waiting.skip()) return;
    if (isTwice) leave();
    else if (talk?.stopOwn() === true) return;
    else if (isAtWork()) talk?.control.stop();
    else say("Ctrl-C once more leaves.");
  }

  function leave(): void {
    if (talk === null) return;
    if (!isAtWork()) talk.quit("rest");
    else if (talk.control.view.state().isWaiting) talk.quit("leave");
    else isLeaving = true;
  }

  function pressEscape(): void {
    const isTwice = performance.now() - lastEscape < twiceWithin;
    lastEscape = performance.now();
    if (waiting.skip()) return;
    if (answering.mode !== "choose") [draft, answering] = [edit.clear(draft), choosing];
    else if (asked !== null && !edit.isEmpty(draft) && !isOnQuestion) isOnQuestion = true;
    else if (asked !== null && !isTwice) say("Esc once more denies this, and stops the run.");
    else if (talk?.stopOwn() === true) return;
    else if (isAtWork()) talk?.control.stop();
    else if (isTwice && edit.isEmpty(draft) && talk !== null) lines.send("/fork");
  }

  function pressTab(): void {
    const found = asked === null ? completion.complete(draft) : null;
    if (asked !== null && answering.mode === "choose") isOnQuestion = !isOnQuestion;
    else if (found?.type === "draft") draft = found.draft;
    else if (found?.type === "choose")
      void picking.choose("@", found.choices).then((path) => {
        if (path !== null) draft = found.draft(path);
        refresh();
      });
    else if (isAtWork() && draft.text.trim() !== "") talk?.control.queue(takeDraft());
  }

  function searchHistory(): void {
    if (answering.mode !== "choose") return;
    void picking.choose("history", edit.earlierMessages(draft)).then((message) => {
      if (message !== null) draft = edit.write(draft, message);
      refresh();
    });
  }

  function takeBack(): void {
    const text = talk?.control.takeBack() ?? null;
    if (text !== null) draft = edit.write(draft, text);
  }

  function takeDraft(): string {
    const { text, draft: rest } = edit.take(draft);
    draft = rest;
    return text;
  }

  /** Whether a key may be meant for the question. */
  function isReadyFor({ since }: Asked): boolean {
    return (isOnQuestion || edit.isEmpty(draft)) && performance.now() - since >= answerableAfter;
  }

  /** A key for the question that is open. @returns whether it was one */
  function pressQuestion(key: Key): boolean {
    if (asked === null || key.type === "paste") return false;
    if (answering.mode !== "choose" && answering.mode !== "always") return false;
    if (!isReadyFor(asked) || (key.type === "key" && answering.mode !== "always")) return false;
    const pressedKey = key.type === "key" ? nameOfKey(key) : key.text;
    return follow(pressAnswer(pressedKey, answering, asked.question), asked.question);
  }

  /** Does what an answer leads to. @returns whether it leads to something */
  function follow(answered: Answered, question: OpenQuestion): boolean {
    if (answered === null) return false;
    switch (answered.type) {
      case "decision":
        talk?.control.answer(question, answered.decision);
        [draft, answering, isOnQuestion] = [edit.clear(draft), choosing, false];
        break;
      case "go":
        answering = answered.to;
        draft = edit.write(edit.clear(draft), answered.text);
        break;
      case "edited":
        answering = { mode: "choose", edited: answered.input };
        draft = edit.clear(draft);
        talk?.control.say(editedLines(question, answered.input, talk.control.fileOf(question)));
        asked = { question, since: performance.now() };
        break;
      case "why":
        talk?.rules.explain(question);
        break;
      case "always":
        talk?.rules.offer(question, (offers) => {
          // Another question may have come meanwhile.
          if (asked?.question === question && answering.mode === "choose")
            answering = { mode: "always", offers, picked: 0 };
          refresh();
        });
        break;
      case "keep":
        [answering, isOnQuestion] = [choosing, false];
        talk?.rules.keep(question, answered.offer, answered.scope);
        break;
      case "problem":
        say(answered.message);
        break;
    }
    return true;
  }

  function pressDraft(key: Key): void {
    if (key.type !== "key" || nameOfKey(key) !== "enter") {
      draft =
        pressed(draft, key, { prompt: asked === null ? "> " : promptOf(answering), columns: tty.columns }) ?? draft;
      return;
    }
    const longer = continued(draft);
    if (longer !== null) draft = longer;
    else if (asked !== null && answering.mode !== "choose") {
      follow(submitAnswer(edit.wholeText(draft), answering, asked.question), asked.question);
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
    if (isAtWork() && asked === null) {
      say("pawl cannot be suspended while a run is at work: it would lose its session. Esc stops the run.");
      return;
    }
    screen.close();
    tty.suspend(resumed);
  }

  function resumed(): void {
    tty.enter();
    screen.open();
    refresh();
  }

  const lend = <T>(use: () => Promise<T>) => lendTerminal(prompt, interrupt, use, resumed);

  const inEditor = createEditing(lend, say);

  function openEditor(): void {
    const { question } = asked ?? {};
    const call = asked !== null && isReadyFor(asked) ? callText(answering, asked.question) : null;
    if (question !== undefined && call !== null)
      inEditor(call.text, call.name, (text) => {
        if (asked?.question === question && answering.mode === "choose") follow(call.read(text), question);
        else say(`${question.name} has been answered meanwhile, so what you wrote does not count.`);
      });
    else
      inEditor(edit.wholeText(draft), "message.md", (text) => {
        draft = edit.write(draft, text);
      });
  }

  function begin(next: Talk | null): void {
    if (talk !== null) screen.commit(talk.control.view.taken());
    [talk, asked, answering, isOnQuestion, isLeaving] = [next, null, choosing, false, false];
    lines.talk(next);
    changed();
  }

  // In raw mode, Ctrl-C is a key. This signal comes from another process.
  process.on("SIGINT", interrupt);
  refresh();
  return {
    columns: () => tty.columns,
    changed,
    talk(next) {
      waiting.end();
      if (next.draft !== undefined) draft = edit.write(draft, next.draft);
      begin(next);
    },
    wait(notice, skip) {
      waiting.begin(notice, skip);
      begin(null);
    },
    choose: picking.choose,
    page: (text) => lend(() => showInPager(text, process.env)),
    copy(text) {
      tty.write(clipboardSequence(text));
      giveToClipboard(text, process.env);
    },
    close() {
      ticker.run(false);
      process.off("SIGINT", interrupt);
      if (talk !== null) screen.commit(talk.control.view.taken());
      prompt.close();
    },
  };
}
