/**
 * The effect of each key in the live front, as pure functions: a key leads from one state to the next, and to commands that the front carries
 * out (live-front.ts).
 *
 * 1. No key answers a question by accident: never Enter, never a paste, never before the question is drawn nor just after it, and
 *    never while there is a draft, unless the person has then moved to the question with Tab.
 */
import type { ApprovalDecision, Json } from "../../../index.js";
import type { RuleOffer } from "../../permissions/rule-offers.js";
import type { StorageScope } from "../../permissions/save-rule.js";
import * as edit from "../../screen/draft.js";
import { applyKey, continueLine, formatKey } from "../../screen/draft-keys.js";
import type { Key } from "../../screen/keys.js";
import { commandKeys } from "../commands/key-help.js";
import type { OpenQuestion } from "../view/questions.js";
import {
  type AnswerResult,
  type AnswerState,
  formatAnswerPrompt,
  initialAnswerState,
  pressAnswer,
  submitAnswer,
} from "./answering.js";
import type { CompletionResult } from "./completion.js";
import { type EditableCall, toEditableCall } from "./edit-in-editor.js";
import { answerDelayMs, doublePressMs, type LeaveMode } from "./front.js";

/** Times are milliseconds of a monotonic clock. */
export type LiveState = {
  readonly draft: edit.Draft;
  readonly answering: AnswerState;
  /** The first open question, and since when it is in view: null while it is not on the screen. Null if there is no question. */
  readonly shown: { readonly question: OpenQuestion; readonly since: number | null } | null;
  /** Whether the person has moved from the draft to the question. */
  readonly isOnQuestion: boolean;
  /** Whether the person is asked how to leave a run that is at work. */
  readonly isLeaving: boolean;
  /** When Esc and Ctrl-C were last pressed. */
  readonly escapedAt: number;
  readonly interruptedAt: number;
};

/** The state of the front when a key is pressed. */
export type Surroundings = {
  readonly now: number;
  readonly columns: number;
  /** Whether a session is open. */
  readonly hasTalk: boolean;
  /** Whether a run is in progress, and whether it waits for a person. */
  readonly isAtWork: boolean;
  readonly isWaiting: boolean;
  readonly queuedCount: number;
  /** Whether the person waits for a session to open, and can skip the wait. */
  readonly canSkipWait: boolean;
  /** Whether the system can suspend a program. */
  readonly canSuspend: boolean;
  readonly complete: (draft: edit.Draft) => CompletionResult | null;
};

export type LiveCommand =
  | { readonly type: "say" | "send" | "queue"; readonly text: string }
  | { readonly type: "quit"; readonly how: LeaveMode }
  /** Stops the person's own command line or the run. If neither is at work: `otherwise`. */
  | { readonly type: "stop"; readonly otherwise: LiveCommand | null }
  | { readonly type: "skip_wait" | "redraw" | "suspend" | "take_back_queued" | "start_queued" | "edit_draft" }
  /** Lets the person choose a file for the draft, or an earlier message. */
  | ({ readonly type: "choose_file" } & Pick<Extract<CompletionResult, { type: "choose" }>, "choices" | "draft">)
  | { readonly type: "choose_message"; readonly messages: ReturnType<typeof edit.listEarlierMessages> }
  | { readonly type: "edit_call"; readonly question: OpenQuestion; readonly call: EditableCall }
  | { readonly type: "answer"; readonly question: OpenQuestion; readonly decision: ApprovalDecision }
  | { readonly type: "show_edited"; readonly question: OpenQuestion; readonly input: Json }
  | { readonly type: "explain" | "offer_rules"; readonly question: OpenQuestion }
  | {
      readonly type: "keep_rule";
      readonly question: OpenQuestion;
      readonly offer: RuleOffer;
      readonly scope: StorageScope;
    };

export type Pressed = { readonly state: LiveState; readonly commands: readonly LiveCommand[] };

export function createLiveState(draft: edit.Draft): LiveState {
  const never = Number.NEGATIVE_INFINITY;
  return { ...closedQuestion, draft, shown: null, isLeaving: false, escapedAt: never, interruptedAt: never };
}

const closedQuestion = { answering: initialAnswerState, isOnQuestion: false } as const;

/** @param question the first open question */
export function showQuestion(state: LiveState, question: OpenQuestion | undefined): LiveState {
  if (question === state.shown?.question) return state;
  const isWriting = state.shown !== null && state.answering.mode !== "choose";
  return {
    ...state,
    ...closedQuestion,
    draft: isWriting ? edit.clear(state.draft) : state.draft,
    shown: question === undefined ? null : { question, since: null },
  };
}

/** Called when a frame with the question is on the screen, unless the question has changed since the frame was drawn. */
export function viewQuestion(state: LiveState, drawn: NonNullable<LiveState["shown"]>, now: number): LiveState {
  return state.shown === drawn ? { ...state, shown: { ...drawn, since: now } } : state;
}

/** Called when something else is drawn in place of the question. */
export function hideQuestion(state: LiveState): LiveState {
  return state.shown === null ? state : { ...state, shown: { ...state.shown, since: null } };
}

export function pressKey(state: LiveState, key: Key, around: Surroundings): Pressed {
  if (state.isLeaving) return pressLeaving(state, key);
  if (key.type === "paste") {
    const pasted = { ...state, draft: edit.paste(state.draft, key.text) };
    return key.isCut ? say(pasted, "The paste was too long: its end is missing.") : stay(pasted);
  }
  return (
    (key.type === "key" ? pressCommon(state, key, around) : null) ??
    pressQuestion(state, key, around) ??
    pressDraft(state, key, around)
  );
}

function stay(state: LiveState, ...commands: readonly LiveCommand[]): Pressed {
  return { state, commands };
}

function say(state: LiveState, text: string): Pressed {
  return stay(state, { type: "say", text });
}

function pressLeaving(state: LiveState, key: Key): Pressed {
  const text = key.type === "text" ? key.text : "";
  const stayed = { ...state, isLeaving: false };
  if (text === "s") return stay(stayed, { type: "quit", how: "stop" });
  if (text === "l") return stay(stayed, { type: "quit", how: "leave" });
  return stay(key.type === "key" && key.name === "escape" ? stayed : state);
}

/** Handles the keys that mean the same everywhere. @returns null for any other key */
function pressCommon(state: LiveState, key: Extract<Key, { type: "key" }>, around: Surroundings): Pressed | null {
  const { draft } = state;
  switch (formatKey(key)) {
    case "ctrl-c":
      return pressInterrupt(state, around);
    case "ctrl-d":
      if (edit.isEmpty(draft)) return requestLeave(state, around);
      return stay({ ...state, draft: edit.remove(draft, "on", "character") });
    case "ctrl-l":
      return stay(state, { type: "redraw" });
    case "ctrl-z":
      return pressSuspend(state, around);
    case "ctrl-g":
      return pressEditor(state, around);
    case "ctrl-r":
      if (state.answering.mode !== "choose") return stay(state);
      return stay(state, { type: "choose_message", messages: edit.listEarlierMessages(draft) });
    case "escape":
      return pressEscape({ ...state, escapedAt: around.now }, around, around.now - state.escapedAt < doublePressMs);
    case "tab":
      return pressTab(state, around);
    case "alt-up":
      return stay(state, { type: "take_back_queued" });
  }
  const text = commandKeys[formatKey(key)];
  if (text === undefined) return null;
  return around.hasTalk ? stay(state, { type: "send", text }) : stay(state);
}

/** Ctrl-C, as a key or as a signal from another process. */
export function pressInterrupt(state: LiveState, around: Surroundings): Pressed {
  if (!edit.isEmpty(state.draft) || state.answering.mode !== "choose") return stay(clearText(state));
  const isDoublePress = around.now - state.interruptedAt < doublePressMs;
  const next = { ...state, interruptedAt: around.now };
  if (around.canSkipWait) return stay(next, { type: "skip_wait" });
  if (isDoublePress) return requestLeave(next, around);
  return stay(next, { type: "stop", otherwise: { type: "say", text: "Press Ctrl-C again to leave." } });
}

function clearText(state: LiveState): LiveState {
  return { ...state, draft: edit.clear(state.draft), answering: initialAnswerState };
}

function requestLeave(state: LiveState, { hasTalk, isAtWork, isWaiting }: Surroundings): Pressed {
  if (!hasTalk) return stay(state);
  if (!isAtWork) return stay(state, { type: "quit", how: "rest" });
  return isWaiting ? stay(state, { type: "quit", how: "leave" }) : stay({ ...state, isLeaving: true });
}

function pressEscape(state: LiveState, around: Surroundings, isDoublePress: boolean): Pressed {
  const { answering, shown, draft, isOnQuestion } = state;
  if (around.canSkipWait) return stay(state, { type: "skip_wait" });
  if (answering.mode !== "choose") return stay(clearText(state));
  if (isReadable(state, around.now) && !edit.isEmpty(draft) && !isOnQuestion)
    return stay({ ...state, isOnQuestion: true });
  if (shown !== null && !isDoublePress) return say(state, "Press Esc again to deny this and stop the run.");
  const forks = isDoublePress && edit.isEmpty(draft) && around.hasTalk;
  return stay(state, { type: "stop", otherwise: forks ? { type: "send", text: "/fork" } : null });
}

function pressTab(state: LiveState, around: Surroundings): Pressed {
  const { shown, answering, draft } = state;
  if (shown !== null && answering.mode === "choose")
    return stay(isReadable(state, around.now) ? { ...state, isOnQuestion: !state.isOnQuestion } : state);
  const found = shown === null ? around.complete(draft) : null;
  if (found?.type === "draft") return stay({ ...state, draft: found.draft });
  if (found?.type === "choose") return stay(state, { ...found, type: "choose_file" });
  if (!around.isAtWork || draft.text.trim() === "") return stay(state);
  const { text, draft: rest } = edit.submit(draft);
  return stay({ ...state, draft: rest }, { type: "queue", text });
}

function pressSuspend(state: LiveState, { isAtWork, canSuspend }: Surroundings): Pressed {
  if (!canSuspend) return stay(state);
  if (!isAtWork || state.shown !== null) return stay(state, { type: "suspend" });
  return say(state, "pawl cannot be suspended during a run: it would lose its session. Esc stops the run.");
}

function pressEditor(state: LiveState, { now }: Surroundings): Pressed {
  const { shown, answering } = state;
  const call = shown !== null && acceptsAnswer(state, now) ? toEditableCall(answering, shown.question) : null;
  if (shown === null || call === null) return stay(state, { type: "edit_draft" });
  return stay(state, { type: "edit_call", question: shown.question, call });
}

/** Takes what the person has made of a call in the editor. */
export function finishEditing(state: LiveState, question: OpenQuestion, edited: AnswerResult): Pressed {
  if (state.shown?.question === question && state.answering.mode === "choose")
    return applyAnswer(state, edited, question) ?? stay(state);
  return say(state, `${question.name} was answered in the meantime, so your changes were discarded.`);
}

/** Lets the person choose among the rules that would allow such calls, unless another question is shown by now. */
export function chooseRule(state: LiveState, question: OpenQuestion, offers: readonly RuleOffer[]): LiveState {
  if (state.shown?.question !== question || state.answering.mode !== "choose") return state;
  return { ...state, answering: { mode: "always", offers, picked: 0 } };
}

/** Whether there is a question that has been on the screen for a moment. */
function isReadable({ shown }: LiveState, now: number): boolean {
  return shown !== null && shown.since !== null && now - shown.since >= answerDelayMs;
}

/** Whether a key can answer the question now. */
function acceptsAnswer(state: LiveState, now: number): boolean {
  return isReadable(state, now) && (state.isOnQuestion || edit.isEmpty(state.draft));
}

/** Handles a key for the open question. @returns null for any other key */
function pressQuestion(state: LiveState, key: Exclude<Key, { type: "paste" }>, { now }: Surroundings): Pressed | null {
  const { shown, answering } = state;
  if (shown === null || (answering.mode !== "choose" && answering.mode !== "always")) return null;
  if (!acceptsAnswer(state, now) || (key.type === "key" && answering.mode !== "always")) return null;
  const pressedKey = key.type === "key" ? formatKey(key) : key.text;
  return applyAnswer(state, pressAnswer(pressedKey, answering, shown.question), shown.question);
}

/** @returns null if the answer has no effect */
function applyAnswer(state: LiveState, answered: AnswerResult, question: OpenQuestion): Pressed | null {
  if (answered === null) return null;
  const cleared = { ...state, draft: edit.clear(state.draft) };
  switch (answered.type) {
    case "decision":
      return stay({ ...cleared, ...closedQuestion }, { type: "answer", question, decision: answered.decision });
    case "go":
      return stay({ ...state, answering: answered.to, draft: edit.write(cleared.draft, answered.text) });
    case "edited": {
      const { input } = answered;
      const asked = { answering: { mode: "choose", edited: input }, shown: { question, since: null } } as const;
      return stay({ ...cleared, ...asked }, { type: "show_edited", question, input });
    }
    case "why":
      return stay(state, { type: "explain", question });
    case "always":
      return stay(state, { type: "offer_rules", question });
    case "keep":
      return stay({ ...state, ...closedQuestion }, { ...answered, type: "keep_rule", question });
    case "problem":
      return say(state, answered.message);
  }
}

function pressDraft(state: LiveState, key: Exclude<Key, { type: "paste" }>, around: Surroundings): Pressed {
  const { draft, shown, answering } = state;
  if (key.type !== "key" || formatKey(key) !== "enter") {
    const prompt = shown === null ? "> " : formatAnswerPrompt(answering);
    return stay({ ...state, draft: applyKey(draft, key, { prompt, columns: around.columns }) ?? draft });
  }
  const continued = continueLine(draft);
  if (continued !== null) return stay({ ...state, draft: continued });
  if (shown !== null && answering.mode !== "choose") {
    const answered = submitAnswer(edit.expandPastes(draft), answering, shown.question);
    return applyAnswer(state, answered, shown.question) ?? stay(state);
  }
  if (draft.text.trim() === "") {
    const startsQueued = around.hasTalk && !around.isAtWork && around.queuedCount > 0;
    return startsQueued ? stay(state, { type: "start_queued" }) : stay(state);
  }
  const { text, draft: rest } = edit.submit(draft);
  return stay({ ...state, draft: rest }, { type: "send", text });
}
