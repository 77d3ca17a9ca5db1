/**
 * The loop: what a session's state becomes when something happened. Pure; the same log always gives the same state.
 *
 * 1. An event that does not apply changes nothing: the very same object comes back, and `refusal` says why.
 * 2. An event that applies is one entry: `seq` goes up by one.
 * 3. A call gets its one result by `tool_finished`, and in no other way.
 * 4. Every step enters through `preparing`, where the limits of the run are looked at, but for a run's first.
 * 5. Nothing starts once `stopping` is set; what runs is waited for until the grace is over.
 */
import { applyToCalls, type Calling, enterCalls, recover, settleCalls } from "./calls.js";
import type { Event, EventOf } from "./event.js";
import { addUsage, toolCallsOf } from "./message.js";
import { pairs } from "./pairs.js";
import { type Reason, statusOf } from "./reasons.js";
import {
  type ActiveState,
  type Cut,
  hasCalls,
  isTerminal,
  type ModelRunning,
  type Preparing,
  type Run,
  type State,
} from "./state.js";
import { afterCut, finishRun, nextStep, runOf } from "./steps.js";
import { giveUp, stopRun } from "./stopping.js";

export function transition(state: State, event: Event): State {
  if (pairs[state.status][event.type] !== "applies") return state;
  const next = apply(state, event);
  return next === state ? state : { ...next, seq: state.seq + 1 };
}

/** Why an event does not apply in this state; undefined where it does. */
export type Refusal = { readonly type: "stale" | "misuse"; readonly message: string };

export function refusal(state: State, event: Event): Refusal | undefined {
  const pair = pairs[state.status][event.type];
  if (pair === "misuse")
    return { type: "misuse", message: `'${event.type}' cannot happen while a session is '${state.status}'` };
  if (event.type === "run_started" && state.session === null)
    return { type: "misuse", message: "a run cannot start before its session is created" };
  if (pair === "applies" && transition(state, event) !== state) return undefined;
  return {
    type: "stale",
    message: `'${event.type}' comes late, or twice: the session is '${state.status}' and past it`,
  };
}

function apply(state: State, event: Event): State {
  switch (event.type) {
    case "migrated":
      return event.state;
    case "late_result":
      return state.interrupted.includes(event.callKey)
        ? { ...state, interrupted: state.interrupted.filter((callKey) => callKey !== event.callKey) }
        : state;
    case "session_created":
      return state.session === null ? { ...state, session: sessionOf(event) } : state;
    case "run_started":
      return startRun(state, event);
    case "parent_notified":
      return notified(state, event);
    default:
      return state.status === "idle" || isTerminal(state) ? state : applyToRun(state, event);
  }
}

type RunEvent = Exclude<
  Event,
  EventOf<"migrated" | "late_result" | "session_created" | "run_started" | "parent_notified">
>;

function applyToRun(state: ActiveState, event: RunEvent): State {
  if (event.type === "run_queued") return queueRun(state, event);
  if (event.type === "steered") return steer(state, event);
  if (event.runId !== state.runId) return state;
  switch (event.type) {
    case "prepared":
      return state.status === "preparing" ? prepared(state, event) : state;
    case "compacted":
      return state.status === "preparing" ? compacted(state, event) : state;
    case "model_finished":
      return state.status === "model_running" ? modelFinished(state, event) : state;
    case "model_failed":
      return state.status === "model_running" ? modelFailed(state, event) : state;
    case "tool_decided":
      return hasCalls(state) ? decideCall(state, event) : state;
    case "tool_waiting":
    case "tool_finished":
    case "answered":
      return hasCalls(state) ? applyToCalls(state, event) : state;
    case "abort_requested":
      return state.stopping === null ? stopRun(state, "aborted", event.at) : state;
    case "woke":
      return woke(state, event);
    case "restarted":
      return restarted(state, event);
    case "run_finished":
      return state.status === "preparing" && (state.for === "finish" || state.stopping !== null)
        ? finished(state, event)
        : state;
  }
}

function sessionOf({ agent, model, root, title, parent, top }: EventOf<"session_created">): State["session"] {
  return {
    agent,
    model,
    ...(root === undefined ? {} : { root }),
    ...(title === undefined ? {} : { title }),
    ...(parent === undefined ? {} : { parent }),
    ...(top === undefined ? {} : { top }),
  };
}

function startRun(state: State, event: EventOf<"run_started">): State {
  if (state.session === null) return state;
  if (isTerminal(state) && state.runId === event.runId) return state;
  if (event.queuedSeq !== undefined && !state.queue.some((queued) => queued.seq === event.queuedSeq)) return state;
  const { v, seq, session, interrupted, context } = state;
  const preparing: Preparing = {
    v,
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
    counters: { totalSteps: 0, errorCount: 0, compactionAttempts: 0, continuations: 0, stopPreventions: 0 },
    usage: {},
    lives: 0,
    waitedMs: 0,
    fallback: 0,
    stopping: null,
  };
  return preparing;
}

function queueRun(state: ActiveState, event: EventOf<"run_queued">): State {
  const known =
    event.runId === state.runId || state.queue.some((one) => one.kind === "run" && one.runId === event.runId);
  if (known) return state;
  const queued = { kind: "run", seq: state.seq + 1, runId: event.runId, limits: event.limits } as const;
  return { ...state, queue: [...state.queue, queued] };
}

/** A steer goes in before the next model call; one that comes while a run is about to end keeps it going. */
function steer(state: ActiveState, event: EventOf<"steered">): State {
  const finishing = state.status === "preparing" && state.for === "finish";
  const byLoop = event.by !== "user";
  if (state.stopping !== null || (byLoop && !finishing)) return state;
  const steered = { ...state, queue: [...state.queue, { kind: "steer", seq: state.seq + 1 } as const] };
  if (!finishing || steered.status !== "preparing") return steered;
  const { counters } = state;
  const counted = byLoop ? { ...counters, stopPreventions: counters.stopPreventions + 1 } : counters;
  return nextStep({ ...runOf(steered), counters: counted }, "step", event.at);
}

function prepared(state: Preparing, event: EventOf<"prepared">): State {
  if (state.for !== "step" || state.stopping !== null || event.modelCallIndex !== state.modelCallIndex) return state;
  const running: ModelRunning = {
    ...runOf(state),
    status: "model_running",
    purpose: state.purpose,
    upTo: event.upTo,
    attempt: state.attempt + 1,
    backoff: null,
  };
  return state.queue.length === 0
    ? running
    : { ...running, queue: state.queue.filter((queued) => queued.kind === "run" || queued.seq > event.upTo) };
}

function compacted(state: Preparing, event: EventOf<"compacted">): State {
  if (state.for === "finish" || state.stopping !== null) return state;
  const shrank = event.from !== undefined;
  const attempts = state.counters.compactionAttempts + (shrank ? 1 : 2);
  const counted: Preparing = {
    ...state,
    counters: { ...state.counters, compactionAttempts: attempts },
    usage: event.usage === undefined ? state.usage : addUsage(state.usage, event.usage),
    context: event.from === undefined ? state.context : { from: event.from, compactedAt: state.seq + 1 },
    lives: shrank ? 0 : state.lives,
  };
  if (state.for === "step") return counted;
  if (!shrank) return stopRun(counted, "context_limit", event.at, event.fault);
  return { ...runOf(counted), status: "preparing", for: "step", purpose: state.purpose };
}

function modelFinished(state: ModelRunning, event: EventOf<"model_finished">): State {
  if (!isPresentAttempt(state, event)) return state;
  const run: Run = {
    ...runOf(state),
    usage: addUsage(state.usage, event.usage),
    counters: { ...state.counters, totalSteps: state.counters.totalSteps + 1 },
    lives: 0,
  };
  if (state.purpose === "summary") return finishRun(run, "max_steps");
  const calls = toolCallsOf(event.message);
  const cut = cutOf(event.finishReason.unified);
  if (calls.length > 0)
    return enterCalls(
      run,
      calls.map((call) => call.name),
      cut,
    );
  if (state.stopping !== null) return finishRun(run, state.stopping.reason);
  if (state.queue.some((queued) => queued.kind === "steer")) return nextStep(run, "step", event.at);
  if (cut !== null) return afterCut(run, cut, event.at);
  if (event.finishReason.unified === "other") return finishRun(run, "other");
  return state.limits.requireDoneTool === true ? nextStep(run, "remind", event.at) : finishRun(run, "stop");
}

function cutOf(unified: EventOf<"model_finished">["finishReason"]["unified"]): Cut | null {
  return unified === "length" || unified === "content-filter" || unified === "error" ? unified : null;
}

/** A refusal may stop the whole run. */
function decideCall(state: Calling, event: EventOf<"tool_decided">): State {
  const next = applyToCalls(state, event);
  const { decision } = event;
  if (next === state || next.status === "preparing" || next.stopping !== null) return next;
  if (!("stopRun" in decision) || decision.stopRun !== true) return next;
  return stopRun(next, decision.verdict === "deny" ? "denied_stop" : "hook_stopped", event.at);
}

function modelFailed(state: ModelRunning, event: EventOf<"model_failed">): State {
  if (!isPresentAttempt(state, event)) return state;
  const { next, failure } = event;
  const errorCount = state.counters.errorCount + (failure.kind === "cancelled" ? 0 : 1);
  const failed: ModelRunning = {
    ...state,
    usage: event.usage === undefined ? state.usage : addUsage(state.usage, event.usage),
    counters: { ...state.counters, errorCount },
  };
  const fault = { code: failure.kind, message: failure.message, retryable: next.type === "retry" };
  if (state.stopping !== null)
    return { ...runOf(failed), status: "preparing", for: "finish", reason: state.stopping.reason };
  if (errorCount >= state.limits.maxErrors && next.type !== "give_up")
    return endOrSum(failed, "max_errors", event.at, fault);
  switch (next.type) {
    case "retry":
      return next.inMs > 0
        ? { ...failed, backoff: { until: event.at + next.inMs, ms: next.inMs } }
        : { ...failed, attempt: state.attempt + 1 };
    case "fallback":
      return { ...failed, fallback: next.index, attempt: state.attempt + 1 };
    case "compact":
      return state.counters.compactionAttempts >= state.limits.maxCompactions
        ? endOrSum(failed, "context_limit", event.at, fault)
        : { ...runOf(failed), status: "preparing", for: "compaction", purpose: state.purpose };
    case "give_up":
      return endOrSum(failed, next.reason, event.at, fault);
  }
}

/** A summary that fails ends the run as the limit that it was asked for would have. */
function endOrSum(
  state: ModelRunning,
  reason: Reason,
  at: number,
  fault: NonNullable<Run["stopping"]>["fault"],
): State {
  if (state.purpose === "summary") return finishRun(runOf(state), "max_steps");
  return stopRun({ ...runOf(state), status: "preparing", for: "finish", reason }, reason, at, fault);
}

function isPresentAttempt(
  state: ModelRunning,
  event: { readonly modelCallIndex: number; readonly attempt: number },
): boolean {
  return event.modelCallIndex === state.modelCallIndex && event.attempt === state.attempt && state.backoff === null;
}

function woke(state: ActiveState, event: EventOf<"woke">): State {
  switch (event.timer) {
    case "backoff":
      return state.status === "model_running" && state.backoff !== null && event.attempt === state.attempt
        ? { ...state, attempt: state.attempt + 1, backoff: null }
        : state;
    case "wall_clock":
      return state.limits.maxWallClockMs === undefined || state.stopping !== null
        ? state
        : stopRun(state, "max_wall_clock", event.at);
    case "grace":
      return state.stopping === null ? state : giveUp(state, event.at);
    case "approval":
      return hasCalls(state) ? applyToCalls(state, event) : state;
  }
}

function restarted(before: ActiveState, event: EventOf<"restarted">): State {
  const state: ActiveState = { ...before, lives: before.lives + 1 };
  if (state.stopping !== null) return giveUp(state, event.at);
  if (state.lives >= maxLives) return giveUp(stopRun(state, "crash_loop", event.at), event.at);
  switch (state.status) {
    case "preparing":
      return state;
    case "model_running":
      return state.backoff !== null
        ? state
        : { ...runOf(state), status: "preparing", for: "step", purpose: state.purpose };
    case "tool_running":
    case "awaiting_human":
      return settleCalls({ ...state, calls: state.calls.map((call) => recover(call, state.seq + 1)) }, event.at);
  }
}

/** Restarts without progress that a run survives (rule 16). */
export const maxLives = 5;

function finished(state: Preparing, event: EventOf<"run_finished">): State {
  const run = {
    ...runOf(state),
    stopping: null,
    ...(state.session?.parent === undefined ? {} : { notifyParent: true }),
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

function notified(state: State, event: EventOf<"parent_notified">): State {
  if (!isTerminal(state) || state.notifyParent !== true || state.runId !== event.runId) return state;
  const { notifyParent: _, ...rest } = state;
  return rest;
}
