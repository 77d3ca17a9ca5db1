/**
 * The public events of a session: a pure view of the entries of its log (STRM-4, STRM-6).
 *
 * 1. The order within a step is: reasoning, text, message, then for each call `call_start`, `tool_call`, `tool_result` and `call_complete`.
 *    The events of parallel calls interleave.
 * 2. `final` comes once, as the last event of a run. `suspended` comes each time the run starts to wait for a person, and when another
 *    question is added while it waits.
 * 3. The text and the message of a step that may be the last one are held back until the run has ended. An answer that is refused at the
 *    end is therefore not in any event.
 */

import { defined } from "../data/defined.js";
import { guardTrippedCode, textOf } from "../data/message.js";
import { roundCost } from "../data/usage.js";
import type { Entry, EventOf, FinishedChild } from "../machine/event.js";
import type { ReservedEventType } from "../machine/reserved-events.js";
import type { SourceChange } from "../machine/sources.js";
import { isSuspended, isTerminal, type State } from "../machine/state.js";
import type { Transcript } from "../transcript/transcript.js";
import { createCallEvents, recoveryQuestionEvents } from "./call-events.js";
import { type ChildQuestions, noQuestions } from "./child-questions.js";
import { approvalsOf } from "./outcome.js";
import type { PublicEvent, PublicEventBody } from "./public-event.js";
import {
  abortEvents,
  hookFailedEvents,
  messageEvent,
  restartedEvent,
  runEndEvents,
  withdrawnEvents,
} from "./run-events.js";
import { listWaits } from "./run-wait.js";
import { toSessionEvent } from "./session-events.js";

/**
 * The public events of one entry.
 * @param transcript the transcript after the entry
 * @param before the state before the entry
 * @param after the state after it
 * @param questions returns the questions of child sessions: at least those of `questionPlaces`
 *
 * @example
 * ```ts
 * import { appendEntry, createTranscript, initialState, publicEvents, type State, transition } from "pawl/core";
 *
 * // Replays a log without a store or a model: the state, the conversation, and what happened.
 * let state: State = initialState;
 * const transcript = createTranscript();
 * const log = await store.read("march");
 * for (const entry of log) {
 *   const before = state;
 *   state = transition(before, entry.event);
 *   appendEntry(transcript, entry);
 *   for (const event of publicEvents("march", entry, transcript, before, state)) console.log(event.type);
 * }
 * console.log(state.status, transcript.messages.length);
 * ```
 */
export function publicEvents(
  sessionId: string,
  entry: Entry,
  transcript: Transcript,
  before: State,
  after: State,
  questions: ChildQuestions = noQuestions,
): readonly PublicEvent[] {
  const { seq, event } = entry;
  const events: PublicEvent[] = [];
  const add = (bodies: readonly PublicEventBody[]): void => {
    for (const body of bodies) events.push(addPosition(body, sessionId, seq, events.length + 1, event.at));
  };
  if (event.hooks !== undefined) add(hookFailedEvents(event, after));
  add(createBodies(sessionId, entry, transcript, before, after, questions));
  add(runEndEvents(sessionId, transcript, before, after));
  const isQuestion = event.type === "child_waiting" || event.type === "tool_asked";
  const hasNewQuestion = isQuestion && events.some(({ type }) => type === "approval_requested");
  // A sleeping run may also start to wait for a person, and continue to sleep after the last answer.
  const hasStartedWaiting = !isSuspended(before) || before.status !== after.status;
  if (isSuspended(after) && (hasStartedWaiting || hasNewQuestion)) {
    const approvals = after.status === "awaiting_human" ? approvalsOf(sessionId, after, transcript, questions) : [];
    const waits = listWaits(after);
    add([{ type: "suspended", runId: after.runId, approvals, ...(waits.length === 0 ? {} : { waits }) }]);
  }
  return events;
}

/** Adds the position. Mutates its argument, which was created for this event, because a copy is measurable on the hot path. */
function addPosition(body: PublicEventBody, sessionId: string, seq: number, index: number, at: number): PublicEvent {
  const event = body as { -readonly [Key in "sessionId" | "seq" | "index" | "at"]?: PublicEvent[Key] };
  event.sessionId = sessionId;
  event.seq = seq;
  event.index = index;
  event.at = at;
  return event as PublicEvent;
}

function createBodies(
  sessionId: string,
  { event }: Entry,
  transcript: Transcript,
  before: State,
  after: State,
  questions: ChildQuestions,
): readonly PublicEventBody[] {
  switch (event.type) {
    case "session_created":
      return [sessionCreatedEvent(event)];
    case "run_started":
      return [runStartedEvent(event, transcript)];
    case "history_added":
      return [{ type: "history_added", source: event.source, messages: event.messages }];
    case "run_queued":
      return [
        {
          type: "run_queued",
          runId: event.runId,
          input: event.input,
          ...defined({ by: event.by, interrupts: event.interrupts }),
          ...toChildFields(event.finishedChild),
        },
      ];
    case "steered":
      return steeredEvents(event, transcript, before, after);
    case "model_finished":
      return messageEvents(event, transcript, after);
    case "model_failed":
      return attemptFailedEvents(event, after);
    case "compacted":
      return [compactedEvent(event)];
    case "tool_decided":
    case "answered":
    case "tool_waiting":
    case "child_waiting":
    case "tool_failed":
    case "tool_finished":
    case "tool_step_finished":
    case "tool_asked":
    case "late_result":
    case "timer_fired":
      return createCallEvents(event, transcript, before, after, questions);
    case "data_changed":
    case "session_changed":
    case "content_redacted":
    case "handed_off":
      return [toSessionEvent(event)];
    case "abort_requested":
      return abortEvents(sessionId, event, before);
    case "restarted":
      return isTerminal(after) ? [] : [restartedEvent(event), ...recoveryQuestionEvents(transcript, before, after)];
    case "run_finished":
      return withdrawnEvents(event, transcript);
    case "prepared":
      return event.changedSources === undefined ? [] : [sourcesChangedEvent(event, event.changedSources)];
    case "after_run_hooks_called":
    case "compaction_started":
    case "tool_step_started":
    case "parent_notified":
    case "parent_told":
    case "migrated":
      return [];
    default:
      event satisfies EventOf<ReservedEventType | "compaction_requested">;
      return [];
  }
}

function sessionCreatedEvent({ v: _, at: __, ...body }: EventOf<"session_created">): PublicEventBody {
  return body;
}

function toChildFields(finishedChild: FinishedChild | undefined) {
  return defined({ finishedChild: finishedChild?.childId, childReason: finishedChild?.reason });
}

function runStartedEvent({ runId, by, finishedChild }: EventOf<"run_started">, { run }: Transcript): PublicEventBody {
  return {
    type: "run_started",
    runId,
    input: run?.input ?? [],
    ...defined({ by }),
    ...toChildFields(finishedChild),
  };
}

function sourcesChangedEvent(
  { runId, modelCallIndex }: EventOf<"prepared">,
  changes: readonly SourceChange[],
): PublicEventBody {
  return { type: "sources_changed", runId, modelCallIndex, changes };
}

/**
 * The events of an answer. If the answer ends the run, its text comes only with `final`, so that readers do not get it twice, and its
 * message comes right before `final`.
 */
function messageEvents(
  event: EventOf<"model_finished">,
  transcript: Transcript,
  after: State,
): readonly PublicEventBody[] {
  const { runId, modelCallIndex, attempt, model, finishReason, timing, providerMetadata, warnings } = event;
  const usage = roundCost(transcript.run?.stepUsage.usage ?? event.usage);
  const { parts } = event.message;
  const bodies: PublicEventBody[] = [];
  const addTexts = (type: "reasoning" | "text"): void => {
    for (const part of parts)
      if (part.type === type && part.text !== "") bodies.push({ type, runId, modelCallIndex, text: part.text });
  };
  addTexts("reasoning");
  if (!isEndingNormally(after)) addTexts("text");
  const last = transcript.run?.last ?? null;
  if (!isFinishing(after) && last !== null) bodies.push(messageEvent(runId, last));
  for (const { callKey, part } of transcript.calls.values())
    bodies.push({ type: "call_start", runId, callKey, toolCallId: part.toolCallId, name: part.name });
  const { durationMs } = timing;
  const cache = transcript.cache.usage ?? undefined;
  const step = {
    type: "step_finished",
    runId,
    modelCallIndex,
    attempt,
    agent: after.session?.agent ?? "",
    model,
    finishReason,
    usage,
    durationMs,
  } as const;
  bodies.push(
    providerMetadata === undefined && warnings === undefined && cache === undefined
      ? step
      : { ...step, ...defined({ providerMetadata, warnings, cache }) },
  );
  return bodies;
}

function isFinishing(state: State): boolean {
  return state.status === "preparing" && state.for === "finish";
}

function isEndingNormally(state: State): boolean {
  return isFinishing(state) && "stopping" in state && state.stopping === null;
}

/** A steering message may keep an answer from ending the run. The answer's text and message were held back, so they come first. */
function steeredEvents(
  { input, source, skip, by, finishedChild }: EventOf<"steered">,
  { run, calls }: Transcript,
  before: State,
  after: State,
): readonly PublicEventBody[] {
  const skipping = skip === undefined ? {} : { skip };
  const steeredEvent: PublicEventBody = {
    type: "steered",
    input,
    source,
    ...skipping,
    ...defined({ by }),
    ...toChildFields(finishedChild),
  };
  const answer = run?.last ?? null;
  const continues = after.status === "preparing" && after.for === "step";
  if (before.status !== "preparing" || !isEndingNormally(before) || !continues || calls.size > 0 || answer === null)
    return [steeredEvent];
  const { runId, modelCallIndex } = before;
  const text = textOf(answer.message);
  const answerEvent = messageEvent(runId, answer);
  return text === ""
    ? [answerEvent, steeredEvent]
    : [{ type: "text", runId, modelCallIndex, text }, answerEvent, steeredEvent];
}

/** If a guard ended the attempt, a front end must remove the deltas that it has shown; `attempt_withdrawn` tells it to. */
function attemptFailedEvents(event: EventOf<"model_failed">, after: State): readonly PublicEventBody[] {
  const failed = attemptFailedEvent(event, after);
  const { runId, modelCallIndex, attempt } = event;
  if (event.failure.code !== guardTrippedCode) return [failed];
  return [failed, { type: "attempt_withdrawn", runId, modelCallIndex, attempt }];
}

/** A failed attempt. A limit or the end of the run may prevent the planned next attempt; `next` is then `give_up`. */
function attemptFailedEvent(event: EventOf<"model_failed">, after: State): PublicEventBody {
  const { runId, modelCallIndex, attempt, model, failure, next, usage } = event;
  const used = usage === undefined ? {} : { usage: roundCost(usage) };
  const body = { type: "attempt_failed", runId, modelCallIndex, attempt, model, failure, ...used } as const;
  if (after.status !== "model_running" && !(after.status === "preparing" && after.for === "compaction"))
    return { ...body, next: "give_up" };
  return next.type === "retry" ? { ...body, next: next.type, retryInMs: next.inMs } : { ...body, next: next.type };
}

function compactedEvent(event: EventOf<"compacted">): PublicEventBody {
  const {
    at: _at,
    hooks: _hooks,
    keptFrom: _from,
    readFrom: _readFrom,
    runStartSeq: _run,
    timing: _timing,
    dataBlob: _dataBlob,
    requests: _requests,
    usage,
    ...publicFields
  } = event;
  return usage === undefined ? publicFields : { ...publicFields, usage: roundCost(usage) };
}
