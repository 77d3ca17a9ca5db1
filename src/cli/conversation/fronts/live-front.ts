/**
 * The live screen of a conversation: reads keys, and draws the history and a small region. What a key does is in live-keys.ts.
 *
 * 1. The prompt is always there. Lines that are typed before the session is open are queued, and sent when it is.
 * 2. At rest, nothing runs: no timer, no output.
 */

import * as edit from "../../screen/draft.js";
import { formatKey } from "../../screen/draft-keys.js";
import type { Prompt } from "../../screen/early-prompt.js";
import type { Key } from "../../screen/keys.js";
import type { Region } from "../../screen/screen.js";
import { copyToClipboard, createClipboardSequence, showInPager } from "../../terminal/pager.js";
import { wrapNote } from "../lines/view-lines.js";
import { createCompletion } from "./completion.js";
import { createDesktopNotifications } from "./desktop-notifications.js";
import { createEditorAction, renderEditedCall } from "./edit-in-editor.js";
import { bell, type Front, type Talk } from "./front.js";
import { lendTerminal } from "./lend-terminal.js";
import { createLineQueue } from "./line-queue.js";
import {
  chooseRule,
  createLiveState,
  finishEditing,
  hideQuestion,
  type LiveCommand,
  type Pressed,
  pressInterrupt,
  pressKey,
  type Surroundings,
  showQuestion,
  viewQuestion,
} from "./live-keys.js";
import { renderRegion } from "./live-region.js";
import { createPickerHost } from "./picker-host.js";
import { createStartupWait } from "./startup-wait.js";
import { createTicker, isBusy } from "./ticker.js";

type HeldKeys = { readonly draft: edit.Draft; readonly keys: readonly Key[] };

/** Takes over the early prompt and the input typed there. */
export function createLiveFront(prompt: Prompt): Front {
  const { tty, screen } = prompt;
  const earlyInput = prompt.handOver(onKey);
  const completion = createCompletion(() => talk, onNames);
  let talk: Talk | null = null;
  let state = createLiveState(earlyInput.draft);
  let hasLeft = false;
  /** Tab, and Enter after it, until the names that Tab completes in this draft have been read. */
  let held: HeldKeys | null = null;
  const [startupWait, list] = [createStartupWait(), createPickerHost(refresh)];
  const lines = createLineQueue(earlyInput.messages);
  const ticker = createTicker(refresh);
  const notifications = createDesktopNotifications(tty, process.env);

  function refresh(): void {
    screen.show(renderFrame);
    ticker.run(talk !== null && isBusy(talk.control.view.state()));
  }

  /** Called once per frame, however many changes there were since the last one. */
  function renderFrame(): Region {
    const view = talk?.control.view ?? null;
    if (view !== null) screen.commit(view.takeHistory());
    const { shown, draft, answering, isOnQuestion, isLeaving } = state;
    const hints = shown === null ? completion.hints(draft, tty.columns) : [];
    const mode = talk?.control.mode.current() ?? "ask";
    const [picker, waitText] = [list.current(), startupWait.waitText()];
    const processes = talk?.countProcesses() ?? 0;
    const frame = { view, draft, hints, answering, isOnQuestion, picker, isLeaving, waitText, mode, processes };
    const region = renderRegion(frame, tty.columns, tty.rows, Date.now());
    if (picker !== null || isLeaving) state = hideQuestion(state);
    else if (shown !== null && shown.since === null) {
      const onWritten = () => {
        state = viewQuestion(state, shown, performance.now());
      };
      return { ...region, onWritten };
    }
    return region;
  }

  /** Checks whether the first open question is a different one. */
  function changed(): void {
    const [question] = talk?.control.view.questions.all() ?? [];
    const isNew = question !== undefined && question !== state.shown?.question;
    state = showQuestion(state, question);
    if (isNew && talk?.rings === true) tty.write(bell);
    if (isNew) notifications.ask(question.name);
    notifications.setAtWork(isAtWork(), performance.now());
    if (!isAtWork()) state = { ...state, isLeaving: false };
    refresh();
  }

  function isAtWork(): boolean {
    return talk !== null && talk.control.view.state().runId !== null;
  }

  function lookAround(): Surroundings {
    const view = talk?.control.view.state();
    return {
      now: performance.now(),
      columns: tty.columns,
      hasTalk: talk !== null,
      isAtWork: isAtWork(),
      isWaiting: view?.isWaiting === true,
      queuedCount: view?.queued.length ?? 0,
      canSkipWait: startupWait.canSkip(),
      canSuspend: process.platform !== "win32",
      complete: completion.complete,
    };
  }

  function onKey(key: Key): void {
    if (hasLeft) return;
    if (!list.press(key)) pressOrHold(key);
    refresh();
    screen.answerKey();
  }

  /** With another key than Enter, the person does not wait for the names: Tab then has no effect. */
  function pressOrHold(key: Key): void {
    const name = key.type === "key" ? formatKey(key) : "";
    const { draft, shown } = state;
    if (name === (held === null ? "tab" : "enter") && shown === null && completion.isReading(draft)) {
      if (held === null || held.keys.length < 2) held = { draft, keys: [...(held?.keys ?? []), key] };
      return;
    }
    if (name === "escape" || name === "ctrl-c") held = null;
    releaseKeys();
    apply(pressKey(state, key, lookAround()));
  }

  /** Presses the held keys, unless they would now mean something else: a question or a list has appeared, or the draft was replaced. */
  function releaseKeys(): void {
    const { draft, keys } = held ?? { draft: state.draft, keys: [] };
    held = null;
    if (state.shown !== null || list.current() !== null || state.draft !== draft) return;
    for (const key of keys) if (!list.press(key)) apply(pressKey(state, key, lookAround()));
  }

  function onNames(): void {
    if (!completion.isReading(state.draft)) releaseKeys();
    refresh();
  }

  function interrupt(): void {
    if (hasLeft) return;
    apply(pressInterrupt(state, lookAround()));
    refresh();
  }

  function apply(pressed: Pressed): void {
    state = pressed.state;
    for (const command of pressed.commands) perform(command);
  }

  function say(text: string): void {
    talk?.control.say(wrapNote(text, tty.columns, "dim"));
  }

  /** Writes a text over the draft. */
  function writeDraft(text: string): void {
    state = { ...state, draft: edit.write(state.draft, text) };
  }

  function perform(command: LiveCommand): void {
    switch (command.type) {
      case "say":
        say(command.text);
        break;
      case "send":
        lines.send(command.text);
        break;
      case "queue":
        talk?.control.queue(command.text);
        break;
      case "quit":
        talk?.quit(command.how);
        break;
      case "stop":
        if (talk?.stopOwn() === true) break;
        if (isAtWork()) talk?.control.stop();
        else if (command.otherwise !== null) perform(command.otherwise);
        break;
      case "skip_wait":
        startupWait.skip();
        break;
      case "redraw":
        screen.redraw();
        break;
      case "suspend":
        screen.close();
        tty.suspend(onResumed);
        break;
      case "take_back_queued":
        takeBackQueued();
        break;
      case "start_queued":
        talk?.control.startQueued();
        break;
      case "edit_draft":
        editInEditor(edit.expandPastes(state.draft), "message.md", writeDraft);
        break;
      case "choose_file":
        choose("@", command.choices, (path) => {
          state = { ...state, draft: command.draft(path) };
        });
        break;
      case "choose_message":
        choose("history", command.messages, writeDraft);
        break;
      default:
        performAnswer(command);
    }
  }

  function performAnswer(command: Extract<LiveCommand, { readonly question: unknown }>): void {
    const { question } = command;
    switch (command.type) {
      case "edit_call":
        editInEditor(command.call.text, command.call.name, (text) =>
          apply(finishEditing(state, question, command.call.read(text))),
        );
        break;
      case "answer":
        talk?.control.answer(question, command.decision);
        break;
      case "show_edited":
        talk?.control.say(renderEditedCall(question, command.input, talk.control.fileOf(question)));
        break;
      case "explain":
        talk?.rules.explain(question);
        break;
      case "offer_rules":
        talk?.rules.offer(question, (offers) => {
          state = chooseRule(state, question, offers);
          refresh();
        });
        break;
      case "keep_rule":
        talk?.rules.keep(question, command.offer, command.scope);
        break;
      default:
        command satisfies never;
    }
  }

  function takeBackQueued(): void {
    const text = talk?.control.takeBack() ?? null;
    if (text !== null) writeDraft(text);
  }

  function choose(title: string, choices: Parameters<Front["choose"]>[1], onChosen: (id: string) => void): void {
    void list.choose(title, choices).then((id) => {
      if (id !== null) onChosen(id);
      refresh();
    });
  }

  function onResumed(): void {
    state = hideQuestion(state);
    tty.enter();
    screen.open();
    refresh();
  }

  const lendToProgram = <T>(use: () => Promise<T>) => lendTerminal(prompt, interrupt, use, onResumed);

  const editInEditor = createEditorAction(lendToProgram, say);

  function switchTalk(next: Talk | null): void {
    if (talk !== null) screen.commit(talk.control.view.takeHistory());
    talk = next;
    notifications.use(next?.notifies === true);
    const { draft, escapedAt, interruptedAt } = state;
    state = { ...createLiveState(draft), escapedAt, interruptedAt };
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
      if (next.draft !== undefined) writeDraft(next.draft);
      switchTalk(next);
    },
    remember(message) {
      state = { ...state, draft: edit.remember(state.draft, message) };
    },
    wait(waitText, skip) {
      startupWait.begin(waitText, skip);
      switchTalk(null);
    },
    leave(waitText) {
      hasLeft = true;
      held = null;
      startupWait.begin(waitText);
      refresh();
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
