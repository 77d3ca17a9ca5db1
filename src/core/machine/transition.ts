/**
 * The loop as a pure function: a state and an event determine the next state. The same log always leads to the same state.
 *
 * 1. An event that does not apply changes nothing: the same object is returned, and `refusal` says why.
 * 2. An event that applies is one entry: `seq` goes up by one.
 * 3. Only `tool_finished` gives a call its result, once.
 * 4. Every step enters through `preparing`. The limits of the run are checked there, except before its first step.
 * 5. No work starts once `stopping` is set. The run waits for work in flight until the grace period is over.
 */

import { defined } from "../data/defined.js";
import { type Reason, statusOf } from "../data/reasons.js";
import { addUsageUnrounded } from "../data/usage.js";
import { removeFinishedChild } from "./background-children.js";
import { recoverCall } from "./call-transition.js";
import { applyToCalls, applyToolStep, type CallsState, settleCalls, skipUnstarted } from "./calls.js";
import { applyParentTold, markParentReportDue } from "./child-reports.js";
import type { Event, EventOf, PolicyDecision } from "./event.js";
import { applyHandedOff } from "./handoff.js";
import {
  applyCompacted,
  applyCompactionStarted,
  applyModelFailed,
  applyModelFinished,
  applyPrepared,
} from "./model-steps.js";
import { applyNoticeDelivered, applyRestartAtEnd, hasPendingNotice } from "./pending-notice.js";
import { findReachedLimit, isOutOfTime } from "./reached-limits.js";
import { applyCompactedAtRest, applyCompactionRequested, dropCompaction } from "./requested-compaction.js";
import type { ReservedEventType } from "./reserved-events.js";
import { pickSessionInfo, withTitle } from "./session-info.js";
import {
  type ActiveState,
  formatVersion,
  hasCalls,
  type Idle,
  isTerminal,
  isWaiting,
  maxRestarts,
  type Preparing,
  type State,
} from "./state.js";
import { isClockHeld, nextStep, pickRunState, toPreparing } from "./steps.js";
import { abandonLocalWork, abandonWork, markUsagePartial, stopRun } from "./stopping.js";
import { transitionTable } from "./transition-table.js";

/**
 * The state after an event; the same object if the event does not apply.
 * @example
 * ```ts
 * const log = await store.read("march");
 * const state = log.reduce<State>((before, { event }) => transition(before, event), initialState);
 * ```
 */
export function transition(state: State, event: Event): State {
  if (transitionTable[state.status][event.type] !== "applies") return state;
  const next = applyEvent(state, event);
  if (next === state) return state;
  if (event.type === "migrated") return { ...next, seq: state.seq + 1 };
  // Mutates the state that `applyEvent` has just created, because a copy is measurable on the hot path.
  (next as { seq: number }).seq = state.seq + 1;
  if (next.session?.parent !== undefined) markParentReportDue(state, next);
  return next;
}

/** Why an event does not apply: it arrived too late (`stale`), or the caller made a mistake (`misuse`). */
export type Refusal = {
  /** `stale`: the event arrived too late and is ignored. `misuse`: the event is never valid here. */
  readonly type: "stale" | "misuse";
  /** Why the event is refused. */
  readonly message: string;
};

/** Why an event does not apply in this state; undefined if it applies. */
export function refusal(state: State, event: Event): Refusal | undefined {
  const pair = transitionTable[state.status][event.type];
  if (pair === "misuse")
    return { type: "misuse", message: `'${event.type}' cannot happen while a session is '${state.status}'` };
  if ((event.type === "run_started" || event.type === "history_added") && state.session === null)
    return {
      type: "misuse",
      message: `'${event.type}' cannot happen while a session is 'idle' and has not been created`,
    };
  if (pair === "applies" && transition(state, event) !== state) return undefined;
  return {
    type: "stale",
    message: `'${event.type}' is late or repeated: the session is '${state.status}' and has moved on`,
  };
}

function applyEvent(state: State, event: Event): State {
  switch (event.type) {
    case "migrated":
      return event.state;
    case "late_result":
      return state.interrupted.includes(event.callKey)
        ? { ...state, interrupted: state.interrupted.filter((callKey) => callKey !== event.callKey) }
        : state;
    case "session_created":
      return state.session === null ? createSession(state, event) : state;
    case "history_added":
    case "data_changed":
      return state.session === null ? state : { ...state };
    case "session_changed":
      return state.session === null ? state : { ...state, session: withTitle(state.session, event.title) };
    case "content_redacted":
      return state.session === null ? state : { ...state, redactedSeq: state.seq + 1 };
    case "run_started":
      return startRun(state, event);
    case "run_queued":
      return queueRun(state, event);
    case "abort_requested":
      return state.status === "idle" ? state : requestAbort(state, event);
    case "parent_notified":
    case "after_run_hooks_called":
      return applyNoticeDelivered(state, event);
    case "parent_told":
      return applyParentTold(state, event);
    case "restarted":
      return isTerminal(state) ? applyRestartAtEnd(state, event) : applyRestarted(state, event);
    case "compaction_requested":
      return applyCompactionRequested(state);
    default:
      if (isTerminal(state) && event.type === "compacted") return applyCompactedAtRest(state, event);
      return state.status === "idle" || isTerminal(state) ? state : applyToRun(state, event);
  }
}

type RunEvent = Exclude<
  Event,
  EventOf<
    | "migrated"
    | "late_result"
    | "session_created"
    | "history_added"
    | "data_changed"
    | "session_changed"
    | "content_redacted"
    | "run_started"
    | "run_queued"
    | "abort_requested"
    | "parent_notified"
    | "parent_told"
    | "after_run_hooks_called"
    | "restarted"
    | "compaction_requested"
  >
>;

function applyToRun(state: ActiveState, event: RunEvent): State {
  if (event.type === "steered") return steer(state, event);
  if (!("runId" in event) || event.runId !== state.runId) return state;
  switch (event.type) {
    case "prepared":
      return state.status === "preparing" ? applyPrepared(state, event) : state;
    case "compaction_started":
      return state.status === "preparing" ? applyCompactionStarted(state, event) : state;
    case "compacted":
      return state.status === "preparing" ? applyCompacted(state, event) : state;
    case "model_finished":
      return state.status === "model_running" ? applyModelFinished(state, event) : state;
    case "model_failed":
      return state.status === "model_running" ? applyModelFailed(state, event) : state;
    case "tool_decided":
      return hasCalls(state) ? applyToolDecided(state, event) : state;
    case "tool_waiting":
    case "child_waiting":
    case "tool_failed":
    case "tool_finished":
    case "answered":
    case "tool_asked":
      return hasCalls(state) ? applyToCalls(state, event) : state;
    case "tool_step_started":
    case "tool_step_finished":
      return hasCalls(state) ? applyToolStep(state, event) : state;
    case "timer_fired":
      return applyTimerFired(state, event);
    case "handed_off":
      return state.status === "preparing" ? applyHandedOff(state, event) : state;
    case "run_finished":
      return state.status === "preparing" ? applyRunFinished(state, event) : state;
    default:
      event satisfies EventOf<ReservedEventType>;
      return state;
  }
}

/** Starts a run once: the id of a known run starts nothing, and a queued run starts only from the queue. */
function startRun(state: State, event: EventOf<"run_started">): State {
  if (state.session === null || hasPendingNotice(state)) return state;
  if (isTerminal(state) && state.runId === event.runId) return state;
  const queuedRun = state.queue.find((queued) => queued.kind === "run" && queued.runId === event.runId);
  if (queuedRun?.seq !== event.queuedSeq) return state;
  const { v, seq, interrupted, context, compactionAsked, background } = removeFinishedChild(state, event);
  const childUsage = event.finishedChild?.usage ?? (queuedRun?.kind === "run" ? queuedRun.childUsage : undefined);
  // Otherwise children, and the runs that begin at their ends, could continue without a limit and without a request.
  const startedChildren = childUsage === undefined || !isTerminal(state) ? undefined : state.counters.children;
  const agent = event.options?.agent ?? (queuedRun?.kind === "run" ? queuedRun.agent : undefined);
  const session = agent === undefined ? state.session : { ...state.session, agent };
  const preparing: Preparing = {
    v: findFormat(v, event),
    seq,
    session,
    queue: state.queue.filter((queued) => queued.seq !== event.queuedSeq),
    interrupted,
    context,
    status: "preparing",
    for: "step",
    purpose: "step",
    runId: event.runId,
    startedAt: event.at,
    startSeq: seq + 1,
    limits: event.limits,
    modelCallIndex: 1,
    attempt: 0,
    counters: {
      totalSteps: 0,
      errorCount: 0,
      compactionAttempts: 0,
      continuations: 0,
      stopPreventions: 0,
      outputRetries: 0,
      ...(startedChildren === undefined ? {} : { children: startedChildren }),
    },
    usage: childUsage ?? {},
    restarts: 0,
    waitedMs: 0,
    fallback: 0,
    failing: null,
    compactionsInRow: 0,
    stopping: null,
  };
  if (compactionAsked === undefined && background === undefined) return preparing;
  return { ...preparing, ...defined({ compactionAsked, background }) };
}

/** A child session that its parent does not wait for begins in the format that knows such children. */
function createSession(state: State, event: EventOf<"session_created">): State {
  const created = { ...state, session: pickSessionInfo(event) };
  return event.parent?.background === true ? { ...created, v: formatVersion } : created;
}

/** Queues a run. A session at rest starts the run instead, unless the end of its last run is not delivered yet. */
function queueRun(state: State, event: EventOf<"run_queued">): State {
  if (state.status === "idle" || (isTerminal(state) && !hasPendingNotice(state))) return state;
  const isKnown =
    event.runId === state.runId || state.queue.some((one) => one.kind === "run" && one.runId === event.runId);
  if (isKnown) return state;
  const agent = event.options?.agent;
  const interrupts = event.interrupts === true ? ({ interrupts: true } as const) : {};
  const childUsage = event.finishedChild === undefined ? {} : { childUsage: event.finishedChild.usage };
  const queued = {
    kind: "run",
    seq: state.seq + 1,
    runId: event.runId,
    limits: event.limits,
    ...interrupts,
    ...childUsage,
  } as const;
  const queue = [...state.queue, agent === undefined ? queued : { ...queued, agent }];
  const { v, ...rest } = removeFinishedChild(state, event);
  return { ...rest, v: findFormat(v, event), queue };
}

/** A reader of format 2 would repeat a call of this run with another idempotency key. */
function findFormat(v: State["v"], { sessionInKeys }: Pick<EventOf<"run_started">, "sessionInKeys">): State["v"] {
  return sessionInKeys === true ? formatVersion : v;
}

/**
 * Adds a message to the run, shown before the next model call. If the run is about to end, the message continues it. It may skip the calls
 * that have not started. A message from the loop itself (a `beforeStop` hook, the output check) continues the run only a limited number of
 * times, and never past a limit (FIN-8). After that the run ends: with `invalid_output` for the output check, and otherwise with the reason
 * that it was about to end with.
 */
function steer(before: ActiveState, event: EventOf<"steered">): State {
  const state = takeFinishedChild(before, event);
  const isFinishing = state.status === "preparing" && state.for === "finish";
  const isFromLoop = event.source !== "user";
  if (state.stopping !== null || (isFromLoop && !isFinishing)) return before;
  const queue = [...state.queue, { kind: "steer", seq: state.seq + 1 } as const];
  if (!isFinishing) return skipCalls({ ...state, queue }, event);
  if (!isFromLoop) return nextStep({ ...pickRunState(state), queue }, "step", event.at);
  const { counters, limits, reason } = state;
  const forOutput = event.source === "output";
  const isExhausted = forOutput
    ? counters.outputRetries >= maxOutputRetries
    : counters.stopPreventions >= limits.maxStopPreventions;
  if (isExhausted || findReachedLimit(state, event.at) !== undefined)
    return stopRun({ ...state, queue }, forOutput ? "invalid_output" : reason, event.at);
  const counted = forOutput
    ? { ...counters, outputRetries: counters.outputRetries + 1 }
    : { ...counters, stopPreventions: counters.stopPreventions + 1 };
  return nextStep({ ...pickRunState(state), queue, counters: counted }, "step", event.at);
}

function takeFinishedChild<Run extends ActiveState>(state: Run, event: EventOf<"steered">): Run {
  const { finishedChild } = event;
  if (finishedChild === undefined) return state;
  return { ...removeFinishedChild(state, event), usage: addUsageUnrounded(state.usage, finishedChild.usage) };
}

function skipCalls(state: ActiveState, { skip, at }: EventOf<"steered">): State {
  if (skip === undefined || !hasCalls(state)) return state;
  return settleCalls({ ...state, calls: skipUnstarted(state.calls, state.seq + 1) }, at);
}

/** How often an answer that does not fit the requested schema is sent back (OUT-2). */
export const maxOutputRetries = 1;

/** Aborts a run. A run that is aborted while queued never starts. */
function requestAbort(state: Exclude<State, Idle>, { runId, at }: EventOf<"abort_requested">): State {
  if (runId === state.runId) {
    if (isTerminal(state)) return dropCompaction(state, "aborted");
    return state.stopping !== null ? state : stopRun(dropCompaction(state, "aborted"), "aborted", at);
  }
  const queue = state.queue.filter((queued) => queued.kind !== "run" || queued.runId !== runId);
  return queue.length === state.queue.length ? state : { ...state, queue };
}

/** Applies a decision. A denied or blocked call may stop the whole run. */
function applyToolDecided(state: CallsState, event: EventOf<"tool_decided">): State {
  const next = applyToCalls(state, event);
  const { decision } = event;
  if (next === state || next.status === "preparing" || next.stopping !== null) return next;
  if (!("stopRun" in decision) || decision.stopRun !== true) return next;
  return stopRun(next, toStopReason(decision), event.at);
}

function toStopReason(decision: Extract<PolicyDecision, { readonly stopRun?: boolean }>): Reason {
  if (decision.verdict === "deny") return "denied_stop";
  return decision.repeated === true ? "repeated_call" : "hook_stopped";
}

function applyTimerFired(state: ActiveState, event: EventOf<"timer_fired">): State {
  switch (event.timer) {
    case "backoff":
      return state.status === "model_running" && state.backoff !== null && event.attempt === state.attempt
        ? { ...state, attempt: state.attempt + 1, backoff: null }
        : state;
    case "wall_clock":
      return state.limits.maxWallClockMs === undefined || state.stopping !== null || isClockHeld(state)
        ? state
        : stopRun(state, "max_wall_clock", event.at);
    case "grace":
      return state.stopping === null ? state : abandonWork(state, event.at);
    case "approval":
    case "tool_retry":
    case "wait":
      return hasCalls(state) ? applyToCalls(state, event) : state;
  }
}

/** A run that waits for an answer has no work in flight, so opening its session does not count as a restart. */
function applyRestarted(before: Idle | ActiveState, event: EventOf<"restarted">): State {
  if (before.status === "idle" || event.runId !== before.runId || isWaiting(before)) return before;
  const state: ActiveState = { ...before, restarts: before.restarts + 1 };
  if (state.stopping !== null)
    return state.restarts < maxRestarts ? abandonLocalWork(state, event.at) : abandonWork(state, event.at);
  if (state.restarts >= maxRestarts) return abandonWork(stopRun(state, "crash_loop", event.at), event.at);
  if (isOutOfTime(state, event.at)) return abandonLocalWork(stopRun(state, "max_wall_clock", event.at), event.at);
  switch (state.status) {
    case "preparing":
      return state.for === "compaction" ? markUsagePartial(state) : state;
    case "model_running":
      return state.backoff !== null
        ? state
        : toPreparing(markUsagePartial(state), { for: "step", purpose: state.purpose });
    case "tool_running":
    case "awaiting_human":
      return settleCalls(
        { ...state, calls: state.calls.map((call) => recoverCall(call, state.seq + 1, event.at)) },
        event.at,
      );
  }
}

/** Ends a run, with the end that it reached or with one that was found while the named model call was prepared. */
function applyRunFinished(state: Preparing, event: EventOf<"run_finished">): State {
  if (state.for !== "finish" && state.stopping === null && event.modelCallIndex !== state.modelCallIndex) return state;
  const { parentUntold: _, handoff: __, ...ended } = pickRunState(state);
  const run = {
    ...ended,
    stopping: null,
    ...(state.session?.parent === undefined ? {} : { parentNotificationPending: true }),
    ...(event.afterRunHooksPending === true ? { afterRunHooksPending: true, restarts: 0 } : {}),
  };
  const { reason } = event;
  switch (statusOf(reason)) {
    case "completed":
      return { ...run, status: "completed", reason };
    case "aborted":
      return { ...run, status: "aborted", reason };
    case "failed":
      return { ...run, status: "failed", reason, ...(event.fault === undefined ? {} : { fault: event.fault }) };
  }
}
