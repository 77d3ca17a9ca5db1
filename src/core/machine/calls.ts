/**
 * The tool calls of a step, from the model's message to one result each.
 *
 * 1. A call only moves forward: deciding, asking, ready, running, done. Only an edit of its input takes it back to deciding.
 * 2. A ready call becomes running when a slot is free, in the commit that frees the slot.
 * 3. Only running calls are in doubt after a crash. The decision to run a call recorded how it recovers.
 * 4. An answer counts once, and only for the input that the person was shown.
 */

import { callKeyOf } from "../data/call-key.js";
import { addUsageUnrounded } from "../data/usage.js";
import { addBackgroundChild, countChild, startsChild } from "./background-children.js";
import {
  applyToCall,
  awaitExternalResult,
  type CallEvent,
  pickFailures,
  pickIdentity,
  settleCall,
} from "./call-transition.js";
import type { EventOf } from "./event.js";
import { isHandoff, type SettledHandoffs, settleHandoffs } from "./handoff.js";
import {
  type AwaitingHuman,
  asksOutside,
  type Call,
  type CallOutcome,
  type Cut,
  formatVersion,
  isHeldOutside,
  isParked,
  type Preparing,
  type RunState,
  type ToolRunning,
} from "./state.js";
import { continueAfterCut, finishRun, nextStep, toAwaitingHuman, toPreparing, toToolRunning } from "./steps.js";

export type CallsState = ToolRunning | AwaitingHuman;

/**
 * Creates the calls of a message. They end at once if the message was cut or the run is stopping, and so do calls above the limit per step.
 */
export function startCalls(run: RunState, names: readonly string[], cut: Cut | null, paused: boolean): ToolRunning {
  const seq = run.seq + 1;
  const ending: CallOutcome | null = run.stopping !== null ? "aborted" : cut !== null ? "not_run" : null;
  const { maxToolCallsPerStep = names.length } = run.limits;
  const calls = names.map((name, index): Call => {
    const call = { callKey: callKeyOf(run.runId, run.modelCallIndex, index + 1), name, inputSeq: seq };
    const outcome = ending ?? (index < maxToolCallsPerStep ? null : "blocked");
    return outcome === null ? { status: "deciding", ...call } : { status: "settling", outcome, causeSeq: seq, ...call };
  });
  return toToolRunning(run, { calls, cut, doneSeq: null, paused });
}

/**
 * Ends the calls that are not under way; if `outcome` is `interrupted`, all open calls. A call that has started, or may have started,
 * always ends with `interrupted`, because its outcome is unknown. A call whose last attempt failed ends with that failure.
 */
export function abandonCalls(
  calls: readonly Call[],
  outcome: "aborted" | "skipped" | "interrupted",
  causeSeq: number,
): readonly Call[] {
  return calls.map((call) => {
    if (call.status === "done" || call.status === "settling") return call;
    if (call.status === "retrying" || (call.status === "ready" && call.lastFailed === true))
      return settleCall(call, "error", causeSeq);
    if (occupiesSlot(call) && outcome !== "interrupted") return call;
    if (mayHaveStarted(call)) return settleCall(call, "interrupted", causeSeq);
    return settleCall(call, outcome === "interrupted" ? "aborted" : outcome, causeSeq);
  });
}

/**
 * Ends the calls that have not started, because a person gave new instructions. Calls that have started, or may have started, continue, and
 * so do calls with an external result, because work on that result may be under way.
 */
export function skipUnstarted(calls: readonly Call[], causeSeq: number): readonly Call[] {
  return calls.map((call) => (isUnstarted(call) ? settleCall(call, "skipped", causeSeq) : call));
}

function isUnstarted(call: Call): boolean {
  const mayBegin = call.status === "deciding" || call.status === "asking" || call.status === "ready";
  return mayBegin && !mayHaveStarted(call);
}

/** Whether the call takes a slot: it runs in this process, or in a child session that it started. */
function occupiesSlot(call: Call): boolean {
  return call.status === "running" || (call.status === "waiting" && call.on === "child");
}

function mayHaveStarted(call: Call): boolean {
  switch (call.status) {
    case "running":
    case "retrying":
    case "reconciling":
    case "waiting":
      return true;
    case "asking":
    case "ready":
      return call.attempt > 0;
    case "deciding":
    case "settling":
    case "done":
      return false;
  }
}

/** Applies an event to the call that it names. Returns the same object if the event does not apply. */
export function applyToCalls(state: CallsState, event: CallEvent): CallsState | Preparing {
  const index = state.calls.findIndex((call) => call.callKey === event.callKey);
  const call = state.calls[index];
  if (call === undefined) return state;
  // A stopping run gets no more answers: the question would keep it open until the grace period is over.
  if (event.type === "tool_asked" && state.stopping !== null) return state;
  const next = applyToCall(call, event, state.seq + 1);
  if (next === call) return state;
  const calls = state.calls.with(index, next);
  const after: CallsState = { ...state, calls };
  return settleCalls(recordProgress(after, call, event), event.at);
}

/** Records progress. A failed attempt also counts, because the number of attempts is limited. A run that is about to end does not retry. */
function recordProgress(before: CallsState, call: Call, event: CallEvent): CallsState {
  const state = startsChild(event, call.status === "running") ? countChild(before) : before;
  if (event.type === "tool_finished") return addBackgroundChild(recordResult(state, call, event), call.name, event);
  if (event.type === "child_waiting" && event.asleep !== undefined) return { ...state, v: formatVersion };
  // A question is progress, because the tool got that far.
  if (event.type === "tool_asked")
    return { ...state, restarts: 0, ...(event.for === undefined ? {} : { v: formatVersion }) };
  if (event.type !== "tool_failed") return state;
  const isEnding = state.stopping !== null || state.doneSeq !== null;
  const calls = isEnding ? abandonRetries(state.calls, state.seq + 1) : state.calls;
  return { ...state, restarts: 0, calls };
}

function abandonRetries(calls: readonly Call[], causeSeq: number): readonly Call[] {
  return calls.map((call) => (call.status === "retrying" ? settleCall(call, "error", causeSeq) : call));
}

/** Records a tool step of a running call. It counts as progress; only the log keeps the step itself. */
export function applyToolStep(
  state: CallsState,
  event: EventOf<"tool_step_started" | "tool_step_finished">,
): CallsState {
  const call = state.calls.find(({ callKey }) => callKey === event.callKey);
  if (call?.status !== "running" || call.attempt !== event.attempt) return state;
  return event.type === "tool_step_started" ? { ...state } : { ...state, restarts: 0 };
}

/** The effects of a result on the run: progress, usage, the end of the run (a done tool), and a late result to expect. */
function recordResult(state: CallsState, call: Call, event: EventOf<"tool_finished">): CallsState {
  const { outcome, usage, done } = event;
  const seq = state.seq + 1;
  return {
    ...state,
    // A result that the machine created itself (`settling`) is not progress and used nothing. Any other result is progress.
    restarts: call.status === "settling" ? state.restarts : 0,
    usage: usage === undefined || call.status === "settling" ? state.usage : addUsageUnrounded(state.usage, usage),
    interrupted:
      outcome === "interrupted" ? [...state.interrupted, event.callKey].slice(-maxInterrupted) : state.interrupted,
    ...(done === undefined || outcome === "interrupted"
      ? {}
      : { calls: abandonCalls(state.calls, "skipped", seq), doneSeq: state.doneSeq ?? seq }),
  };
}

/** The number of interrupted calls that are remembered. A late result of an older call is ignored. */
const maxInterrupted = 64;

/** Starts the calls that are ready, and leaves the step when every call has its result. */
export function settleCalls(state: CallsState, at: number): CallsState | Preparing {
  const calls = scheduleCalls(state.calls, state.limits.toolConcurrency, at);
  const settled = settleHandoffs(state, calls);
  if (settled !== undefined) return startHandover(state, settled, at);
  if (calls.every((call) => call.status === "done")) return endStep(state, at);
  const isHeld = state.stopping === null && calls.every(isHeldOutside);
  const asks = isHeld && calls.some(asksOutside);
  const sleeps = isHeld && !asks && calls.some(isParked) && !calls.some(isChildWorking);
  if (classifyWait(state) === (asks ? "human" : sleeps ? "parked" : undefined))
    return calls === state.calls ? state : { ...state, calls };
  const run = addWaitingTime(state, at);
  if (asks) return toAwaitingHuman(run, { ...pickStepFields(state), calls, since: at });
  return toToolRunning(run, { ...pickStepFields(state), calls, ...(sleeps ? { parkedSince: at } : {}) });
}

/** What the run as a whole waits for in this state. Its clock stops during the wait. */
function classifyWait(state: CallsState): "human" | "parked" | undefined {
  if (state.status === "awaiting_human") return "human";
  return state.parkedSince === undefined ? undefined : "parked";
}

/** Whether a child session is working for the call. */
function isChildWorking(call: Call): boolean {
  return call.status === "waiting" && call.on === "child" && !isParked(call);
}

/** The results of handoffs follow in the same commit and end the step. */
function startHandover(state: CallsState, { calls, handoff }: SettledHandoffs, at: number): CallsState {
  const run = addWaitingTime(state, at);
  return toToolRunning(handoff === undefined ? run : { ...run, handoff }, { ...pickStepFields(state), calls });
}

function pickStepFields({ cut, doneSeq, paused = false }: CallsState) {
  return { cut, doneSeq, paused };
}

/** Adds the time that the run spent waiting, now that the wait is over. */
function addWaitingTime(state: CallsState, at: number): RunState {
  const since = state.status === "awaiting_human" ? state.since : state.parkedSince;
  return since === undefined ? state : { ...state, waitedMs: state.waitedMs + Math.max(0, at - since) };
}

function endStep(state: CallsState, at: number): Preparing {
  const run = addWaitingTime(state, at);
  if (state.stopping !== null) return finishRun(run, state.stopping.reason);
  if (state.doneSeq !== null) return finishRun(run, "done");
  if (state.cut !== null) return continueAfterCut(run, state.cut, at);
  const purpose = state.paused === true ? "unpause" : "step";
  return run.handoff === undefined ? nextStep(run, purpose, at) : toPreparing(run, { for: "handoff", purpose });
}

/** Gives free slots to ready calls in call order. A sequential call runs alone. With a single slot, the order of the calls is kept. */
function scheduleCalls(calls: readonly Call[], concurrency: number, at: number): readonly Call[] {
  if (!calls.some((call) => call.status === "ready")) return calls;
  const underWay = calls.filter(occupiesSlot);
  let running = underWay.length;
  let runsAlone = underWay.some((call) => "policy" in call && call.policy.sequential === true);
  let isBlocked = false;
  return calls.map((call) => {
    if (concurrency === 1 && isUndecided(call)) isBlocked = true;
    if (call.status !== "ready" || isHandoff(call)) return call;
    if (call.policy.external === true) return awaitExternalResult(call, call.policy, at);
    if (isBlocked || runsAlone || running >= concurrency || (call.policy.sequential === true && running > 0)) {
      isBlocked = isBlocked || call.policy.sequential === true || concurrency === 1;
      return call;
    }
    running += 1;
    runsAlone = call.policy.sequential === true;
    const attempt = call.attempt + 1;
    return { status: "running", policy: call.policy, attempt, ...pickFailures(call), ...pickIdentity(call) };
  });
}

/** Whether the call may still run. With a single slot, no later call runs before it. */
function isUndecided({ status }: Call): boolean {
  return status === "deciding" || status === "reconciling" || status === "retrying";
}
