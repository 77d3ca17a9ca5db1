/**
 * The tool calls of a step, from the model's message to one result each.
 *
 * 1. A call moves only forward: deciding, asking, ready, running, done; an edited input alone goes back to deciding.
 * 2. A ready call becomes running when a slot is free, in the commit that frees the slot.
 * 3. Only running calls are in doubt after a crash; how they recover was written when they were decided.
 * 4. An answer counts for the input that was shown, once.
 */
import type { EventOf } from "./event.js";
import { addUsage } from "./message.js";
import {
  type AwaitingHuman,
  asksOutside,
  type Call,
  type CallOutcome,
  type Cut,
  callKeyOf,
  isHeldOutside,
  type Preparing,
  type Run,
  type ToolRunning,
} from "./state.js";
import { afterCut, finishRun, nextStep, runOf } from "./steps.js";

export type Calling = ToolRunning | AwaitingHuman;
type CallEvent = EventOf<"tool_decided" | "tool_waiting" | "tool_finished" | "answered"> | EventOf<"woke">;

/** Enters the calls of a message. With a message that was cut, or a run that stops, they end at once; so do surplus ones. */
export function enterCalls(run: Run, names: readonly string[], cut: Cut | null): ToolRunning {
  const seq = run.seq + 1;
  const ending: CallOutcome | null = run.stopping !== null ? "aborted" : cut !== null ? "not_run" : null;
  const { maxToolCallsPerStep = names.length } = run.limits;
  const calls = names.map((name, index): Call => {
    const call = { callKey: callKeyOf(run.runId, run.modelCallIndex, index + 1), name, inputSeq: seq };
    const outcome = ending ?? (index < maxToolCallsPerStep ? null : "blocked");
    return outcome === null ? { at: "deciding", ...call } : { at: "settling", outcome, because: seq, ...call };
  });
  return { status: "tool_running", calls, cut, doneSeq: null, ...run };
}

/**
 * Ends the calls that nobody works on, or with `interrupted` all that are open. One that has started, or may have, ends
 * with `interrupted` whatever is asked for: its outcome is unknown.
 */
export function abandonCalls(
  calls: readonly Call[],
  outcome: "aborted" | "skipped" | "interrupted",
  because: number,
): readonly Call[] {
  return calls.map((call) => {
    if (call.at === "done" || call.at === "settling") return call;
    if (isUnderWay(call) && outcome !== "interrupted") return call;
    if (mayHaveStarted(call)) return settling(call, "interrupted", because);
    return settling(call, outcome === "interrupted" ? "aborted" : outcome, because);
  });
}

/** It takes a slot: it runs here, or in a session that it started. */
function isUnderWay(call: Call): boolean {
  return call.at === "running" || (call.at === "waiting" && call.on === "child");
}

function mayHaveStarted(call: Call): boolean {
  switch (call.at) {
    case "running":
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

/** What a restart makes of a call: only one that was running is in doubt. */
export function recover(call: Call, because: number): Call {
  if (call.at !== "running") return call;
  const { policy, attempt } = call;
  switch (policy.recover) {
    case "rerun":
      return { at: "running", policy, attempt: attempt + 1, ...identity(call) };
    case "fail":
      return settling(call, "interrupted", because);
    case "ask":
      return { at: "asking", why: "recovery", policy, attempt, ...identity(call) };
    case "reconcile":
      return { at: "reconciling", policy, attempt, ...identity(call) };
  }
}

/** Applies an event to the call that it names; the very same state where it does not apply. */
export function applyToCalls(state: Calling, event: CallEvent): Calling | Preparing {
  const index = state.calls.findIndex((call) => call.callKey === event.callKey);
  const call = state.calls[index];
  if (call === undefined) return state;
  const next = applyToCall(call, event, state.seq + 1);
  if (next === call) return state;
  const calls = state.calls.with(index, next);
  return settleCalls({ ...state, ...progress(state, call, event), ...signals(state, calls, event) }, event.at);
}

/** A result that somebody gave sets the count of lives back; a child's counts for the run that started it. */
function progress(state: Calling, call: Call, event: CallEvent): Partial<Pick<Calling, "lives" | "usage">> {
  if (event.type !== "tool_finished" || call.at === "settling") return {};
  return event.usage === undefined ? { lives: 0 } : { lives: 0, usage: addUsage(state.usage, event.usage) };
}

/** What an event says of more than its own call: a signal that the run is done, an outcome that was given up. */
function signals(
  state: Calling,
  calls: readonly Call[],
  event: CallEvent,
): Pick<Calling, "calls" | "doneSeq" | "interrupted"> {
  const { doneSeq, interrupted } = state;
  if (event.type !== "tool_finished") return { calls, doneSeq, interrupted };
  if (event.outcome === "interrupted")
    return { calls, doneSeq, interrupted: [...interrupted, event.callKey].slice(-maxInterrupted) };
  if (event.done === undefined) return { calls, doneSeq, interrupted };
  const seq = state.seq + 1;
  return { calls: abandonCalls(calls, "skipped", seq), doneSeq: doneSeq ?? seq, interrupted };
}

/** Calls whose late result is still taken; older ones are forgotten. */
const maxInterrupted = 64;

function applyToCall(call: Call, event: CallEvent, seq: number): Call {
  switch (event.type) {
    case "tool_decided":
      return decided(call, event, seq);
    case "tool_waiting":
      return call.at === "running"
        ? {
            ...identity(call),
            at: "waiting",
            on: event.on,
            policy: call.policy,
            ...(event.childId === undefined ? {} : { childId: event.childId }),
            ...(event.reservedTokens === undefined ? {} : { reservedTokens: event.reservedTokens }),
            ...(event.reservedCostUsd === undefined ? {} : { reservedCostUsd: event.reservedCostUsd }),
          }
        : call;
    case "tool_finished":
      return finished(call, event);
    case "answered":
      return call.at === "asking" ? answered(call, event, seq) : call;
    case "woke":
      return call.at === "asking" && call.expiresAt !== undefined && event.at >= call.expiresAt
        ? settling(call, "denied", seq)
        : call;
  }
}

function decided(call: Call, { decision }: EventOf<"tool_decided">, seq: number): Call {
  if (call.at !== "deciding" && call.at !== "reconciling") return call;
  const attempt = call.at === "reconciling" ? call.attempt : 0;
  const refused = (outcome: CallOutcome) => settling(call, attempt === 0 ? outcome : "interrupted", seq);
  switch (decision.verdict) {
    case "allow":
      return { at: "ready", policy: decision.policy, attempt, ...decidedIdentity(call, decision, seq) };
    case "ask":
      return {
        ...decidedIdentity(call, decision, seq),
        at: "asking",
        why: call.at === "reconciling" ? "recovery" : "policy",
        policy: decision.policy,
        attempt,
        ...(decision.expiresAt === undefined ? {} : { expiresAt: decision.expiresAt }),
      };
    case "deny":
      return refused("denied");
    case "block":
      return refused("blocked");
    case "reject":
      return refused("error");
  }
}

function decidedIdentity(
  call: Call,
  decision: { readonly input?: unknown; readonly inputHash?: string },
  seq: number,
): Pick<Call, "callKey" | "name" | "inputSeq" | "inputHash"> {
  const inputHash = decision.inputHash ?? call.inputHash;
  return {
    callKey: call.callKey,
    name: call.name,
    inputSeq: decision.input === undefined ? call.inputSeq : seq,
    ...(inputHash === undefined ? {} : { inputHash }),
  };
}

function finished(call: Call, event: EventOf<"tool_finished">): Call {
  switch (call.at) {
    case "settling":
      return event.outcome === call.outcome && event.because === call.because ? done(call, event.outcome) : call;
    case "running":
      return event.attempt === undefined || event.attempt === call.attempt ? done(call, event.outcome) : call;
    case "reconciling":
    case "waiting":
      return done(call, event.outcome);
    case "deciding":
    case "asking":
    case "ready":
    case "done":
      return call;
  }
}

function answered(call: Extract<Call, { at: "asking" }>, event: EventOf<"answered">, seq: number): Call {
  if (event.inputHash !== undefined && event.inputHash !== call.inputHash) return call;
  const { answer } = event;
  const { policy, attempt } = call;
  if (answer.type === "approve") return { at: "ready", policy, attempt, ...identity(call) };
  if (answer.type === "deny") return settling(call, call.why === "recovery" ? "interrupted" : "denied", seq);
  if (call.why === "policy")
    return answer.type === "modify"
      ? { ...identity(call), inputSeq: seq, inputHash: answer.inputHash, at: "deciding", edited: { policy } }
      : call;
  switch (answer.type) {
    case "rerun":
      return { at: "ready", policy, attempt, ...identity(call) };
    case "result":
      return settling(call, answer.isError === true ? "error" : "ok", seq);
    case "fail":
      return settling(call, "interrupted", seq);
    case "modify":
      return call;
  }
}

/** Starts what is ready, and leaves the step when every call has its result. */
export function settleCalls(state: Calling, at: number): Calling | Preparing {
  const calls = schedule(state.calls, state.limits.toolConcurrency);
  if (calls.every((call) => call.at === "done")) return leaveStep(state, at);
  const waits = calls.some(asksOutside) && state.stopping === null && calls.every(isHeldOutside);
  if (waits) {
    if (state.status === "awaiting_human") return calls === state.calls ? state : { ...state, calls };
    return { ...runOf(state), status: "awaiting_human", calls, cut: state.cut, doneSeq: state.doneSeq, since: at };
  }
  if (state.status === "tool_running") return calls === state.calls ? state : { ...state, calls };
  const waitedMs = state.waitedMs + Math.max(0, at - state.since);
  return { ...runOf(state), waitedMs, status: "tool_running", calls, cut: state.cut, doneSeq: state.doneSeq };
}

function leaveStep(state: Calling, at: number): Preparing {
  const waitedMs = state.waitedMs + (state.status === "awaiting_human" ? Math.max(0, at - state.since) : 0);
  const run = { ...runOf(state), waitedMs };
  if (state.stopping !== null) return finishRun(run, state.stopping.reason);
  if (state.doneSeq !== null) return finishRun(run, "done");
  return state.cut === null ? nextStep(run, "step", at) : afterCut(run, state.cut, at);
}

/** Gives free slots to ready calls in call order; a sequential call runs alone, and a single slot keeps the order of the calls. */
function schedule(calls: readonly Call[], concurrency: number): readonly Call[] {
  if (!calls.some((call) => call.at === "ready")) return calls;
  const underWay = calls.filter(isUnderWay);
  let running = underWay.length;
  let alone = underWay.some((call) => "policy" in call && call.policy.sequential === true);
  let held = false;
  return calls.map((call) => {
    if (concurrency === 1 && (call.at === "deciding" || call.at === "reconciling")) held = true;
    if (call.at !== "ready") return call;
    if (call.policy.external === true) return { at: "waiting", on: "external", policy: call.policy, ...identity(call) };
    if (held || alone || running >= concurrency || (call.policy.sequential === true && running > 0)) {
      held = held || call.policy.sequential === true || concurrency === 1;
      return call;
    }
    running += 1;
    alone = call.policy.sequential === true;
    return { at: "running", policy: call.policy, attempt: call.attempt + 1, ...identity(call) };
  });
}

function identity({
  callKey,
  name,
  inputSeq,
  inputHash,
}: Call): Pick<Call, "callKey" | "name" | "inputSeq" | "inputHash"> {
  return inputHash === undefined ? { callKey, name, inputSeq } : { callKey, name, inputSeq, inputHash };
}

function settling(call: Call, outcome: CallOutcome, because: number): Call {
  return { at: "settling", outcome, because, ...identity(call) };
}

function done(call: Call, outcome: CallOutcome): Call {
  return { at: "done", outcome, ...identity(call) };
}
