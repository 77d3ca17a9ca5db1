/**
 * The fold of a session's stream: what each item changes, and the current state. Every front end maps these changes.
 *
 * 1. An event of the log counts once, by its cursor. `apply` returns [] exactly if an item is late: its event was applied, its
 *    attempt is over, or its deltas are included.
 * 2. One message is streamed at a time: see streamed-message.ts. A later attempt, its event or the end of its run ends it.
 * 3. A view that misses live items, or gets none, ends in the same state as one that got them all: the log has everything that stays.
 * 4. A step gives its parts and calls the same names, whether it is watched, joined in the middle, or read from the
 *    log. Only parts that a model starts and leaves empty count live and are not in the log.
 * 5. It keeps nothing of the past: only the message that is streamed, the open calls and questions of the current run, the last
 *    cursor. A run has as many calls and questions at once as the log's rules allow.
 * 6. It is pure, and what it hands out is frozen.
 */
import { questionKey } from "../core/data/call-key.js";
import { deepFreeze } from "../core/data/freeze.js";
import type { Json, MessageSnapshot, PublicEvent, RunResult, StreamItem } from "../index.js";
import { type Cursor, cursorAfter, isAfter, startCursor } from "../stream/cursor.js";
import {
  acceptDelta,
  createMessage,
  mergeMessage,
  mergeSnapshot,
  type StreamedMessage,
  settleMessage,
  toSnapshot,
} from "./streamed-message.js";
import { type Attempt, isEarlierAttempt, isSameAttempt, type Question, type ViewChange } from "./view-change.js";

export type SessionSnapshot = {
  /** The cursor after the last event; the initial cursor of the view if there is none. */
  readonly cursor: Cursor;
  /** The last run. `result` is null until it has ended. */
  readonly run: { readonly runId: string; readonly result: RunResult | null } | null;
  /** The message that is being streamed; null if there is none, or if deltas of it are missing. */
  readonly streamed: MessageSnapshot | null;
  /** The calls that have no result yet, in their order. `input` is present once the call is decided. */
  readonly calls: readonly { readonly callKey: string; readonly name: string; readonly input?: Json }[];
  /** The questions that wait for an answer. */
  readonly questions: readonly Question[];
};

export type SessionView = {
  /** Applies the next item. */
  readonly apply: (item: StreamItem) => readonly ViewChange[];
  /** The next items come from another stream, for example from another server: it says where it is. */
  readonly rejoin: () => void;
  readonly snapshot: () => SessionSnapshot;
};

type LiveItem = Exclude<StreamItem, PublicEvent>;

type RunBoundaryEvent = Extract<PublicEvent, { readonly type: "run_started" | "final" }>;

type OpenCalls = Map<string, { readonly name: string; readonly input?: Json }>;

/** @param after the cursor that the items come after */
export function createSessionView(after: Cursor = startCursor): SessionView {
  let cursor = after;
  let run: SessionSnapshot["run"] = null;
  let message: StreamedMessage | null = null;
  /** The last attempt whose message has ended. */
  let lastEnded: Attempt | null = null;
  const calls: OpenCalls = new Map();
  const questions = new Map<string, Question>();

  function endStep(changes: ViewChange[]): void {
    if (message === null) return;
    settleMessage(message, changes);
    const { runId, modelCallIndex, attempt } = message;
    if (message.isStarted) changes.push({ type: "step_ended", runId, modelCallIndex, attempt });
    message = null;
  }

  function ensureMessage(attempt: Attempt, changes: ViewChange[]): StreamedMessage {
    if (message !== null && isSameAttempt(message, attempt)) return message;
    endStep(changes);
    message = createMessage(attempt);
    return message;
  }

  function isOutdated(attempt: Attempt): boolean {
    if (lastEnded !== null && (isSameAttempt(attempt, lastEnded) || isEarlierAttempt(attempt, lastEnded))) return true;
    return message !== null && isEarlierAttempt(attempt, message);
  }

  function applyLive(item: LiveItem, changes: ViewChange[]): void {
    switch (item.type) {
      case "delta": {
        const { delta, n = 1 } = item;
        if (isOutdated(delta)) return;
        const outcome = acceptDelta(ensureMessage(delta, changes), delta, n, changes);
        if (outcome === "gap") changes.push({ type: "gap" });
        if (outcome === "applied" && changes.length === 0) changes.push({ type: "note", item });
        return;
      }
      case "snapshot":
        if (isOutdated(item)) return;
        if (mergeSnapshot(ensureMessage(item, changes), item, changes) && changes.length === 0)
          changes.push({ type: "note", item });
        return;
      case "lagged":
        // A snapshot follows, if a message is still being streamed by then.
        if (message?.state === "growing") message.state = "broken";
        changes.push({ type: "note", item });
        return;
      case "partial_output":
        if (!isOutdated(item)) changes.push({ type: "note", item });
        return;
      case "progress":
      case "preliminary":
        changes.push({ type: "call_changed", callKey: item.callKey, by: item });
    }
  }

  function closeQuestions(changes: ViewChange[], isClosed: (question: Question, key: string) => boolean): void {
    for (const [key, question] of questions) {
      if (!isClosed(question, key)) continue;
      questions.delete(key);
      const { callKey, questionId } = question;
      changes.push({ type: "question_closed", callKey, questionId, by: null });
    }
  }

  /** The run that is in progress, as far as the view knows: it may have joined in the middle. */
  function findCurrentRun(): string | null {
    if (message !== null) return message.runId;
    if (run === null) return lastEnded?.runId ?? null;
    return run.result === null ? run.runId : null;
  }

  function applyRun(event: RunBoundaryEvent, changes: ViewChange[]): void {
    const current = findCurrentRun();
    if (event.type === "final" && current !== null && current !== event.runId) {
      // A queued run that was aborted ends without having started: the current run continues.
      changes.push({ type: "run_ended", by: event });
      return;
    }
    if (event.type === "final" && message !== null) lastEnded = message;
    endStep(changes);
    closeQuestions(changes, () => true);
    calls.clear();
    run = { runId: event.runId, result: event.type === "final" ? event.result : null };
    changes.push(event.type === "final" ? { type: "run_ended", by: event } : { type: "run_started", by: event });
  }

  /** Applies an event to the message that is streamed. */
  function applyMessage(event: PublicEvent, changes: ViewChange[]): void {
    switch (event.type) {
      case "message":
        mergeMessage(ensureMessage(event, changes), event.message, changes);
        lastEnded = event;
        return;
      case "attempt_withdrawn":
        if (message !== null && isSameAttempt(message, event)) settleMessage(message, changes);
        lastEnded = event;
        return;
      case "attempt_failed":
        // The text of an attempt that an abort or a limit has cut off stays: its message follows, or the end of the run.
        if (event.next === "give_up") return;
        endStep(changes);
        lastEnded = event;
        return;
      case "restarted":
      case "suspended":
        endStep(changes);
        return;
      default:
        return;
    }
  }

  function applyEvent(event: PublicEvent, changes: ViewChange[]): void {
    if (!isAfter(event, cursor)) return;
    cursor = cursorAfter(event);
    switch (event.type) {
      case "run_started":
      case "final":
        applyRun(event, changes);
        return;
      case "call_start": {
        const { callKey, name } = event;
        if (calls.has(callKey)) changes.push({ type: "call_changed", callKey, by: event });
        else changes.push({ type: "call_opened", callKey, name, by: event });
        return;
      }
      case "tool_call":
        calls.set(event.callKey, { name: event.name, input: event.input });
        changes.push({ type: "call_changed", callKey: event.callKey, by: event });
        return;
      case "child_started":
      case "tool_step":
      case "tool_failed":
        changes.push({ type: "call_changed", callKey: event.callKey, by: event });
        return;
      case "tool_result":
        closeQuestions(changes, ({ callKey }) => callKey === event.callKey);
        changes.push({ type: "call_ended", callKey: event.callKey, name: event.name, by: event });
        return;
      case "approval_requested":
        questions.set(questionKey(event), event);
        changes.push({ type: "question_opened", question: event });
        return;
      case "approval_answered": {
        const { callKey, questionId } = event;
        questions.delete(questionKey(event));
        changes.push({ type: "question_closed", callKey, questionId, by: event });
        return;
      }
      case "suspended": {
        const waitingKeys = new Set(event.approvals.map(questionKey));
        closeQuestions(changes, (_, key) => !waitingKeys.has(key));
        break;
      }
      default:
        break;
    }
    applyMessage(event, changes);
    changes.push({ type: "note", item: event });
  }

  /** Calls open and end in events and in the message that is streamed. */
  function trackCalls(change: ViewChange): void {
    if (change.type === "call_opened") calls.set(change.callKey, { name: change.name });
    else if (change.type === "call_ended") calls.delete(change.callKey);
  }

  return {
    apply(item) {
      const changes: ViewChange[] = [];
      if ("seq" in item) applyEvent(item, changes);
      else applyLive(item, changes);
      for (const change of changes) trackCalls(Object.freeze(change));
      return Object.freeze(changes);
    },
    rejoin() {
      if (message !== null) message.isRejoined = true;
    },
    snapshot() {
      const openCalls = [...calls].map(([callKey, call]) => ({ callKey, ...call }));
      const streamed = message === null ? null : toSnapshot(message);
      return deepFreeze({ cursor, run, streamed, calls: openCalls, questions: [...questions.values()] });
    },
  };
}
