/**
 * The early end of a run. Calls that have not started end at once; work in flight is signalled and waited for.
 */

import type { Fault } from "../data/message.js";
import type { Reason } from "../data/reasons.js";
import { abandonCalls, settleCalls } from "./calls.js";
import { type ActiveState, type Call, hasCalls, type Stopping } from "./state.js";
import { finishRun } from "./steps.js";

/** Stops the run: from now on no work starts. The run ends when no work is in flight, or when the grace period is over. */
export function stopRun(state: ActiveState, reason: Reason, at: number, fault?: Fault): ActiveState {
  const graceMs = computeGraceMs(state);
  const stopping: Stopping = { reason, until: at + graceMs, graceMs, ...(fault === undefined ? {} : { fault }) };
  const stopped: ActiveState = { ...state, stopping };
  switch (stopped.status) {
    case "preparing":
      return finishRun(stopped.for === "compaction" ? markUsagePartial(stopped) : stopped, reason);
    case "model_running":
      return stopped.backoff === null ? stopped : finishRun(stopped, reason);
    case "tool_running":
    case "awaiting_human":
      return settleCalls({ ...stopped, calls: abandonCalls(stopped.calls, "aborted", state.seq + 1) }, at);
  }
}

/** Abandons the work that is still in flight: the grace period is over, or the process that did the work is gone. */
export function abandonWork(state: ActiveState, at: number): ActiveState {
  if (state.stopping === null) return state;
  if (hasCalls(state)) {
    const counted = state.calls.some(waitsForChild) ? markUsagePartial(state) : state;
    return settleCalls({ ...counted, calls: abandonCalls(state.calls, "interrupted", state.seq + 1) }, at);
  }
  return state.status === "model_running" ? finishRun(markUsagePartial(state), state.stopping.reason) : state;
}

/**
 * Abandons the work of a process that is gone. Child sessions survive: they are notified, and the run waits for them until the grace period
 * is over.
 */
export function abandonLocalWork(state: ActiveState, at: number): ActiveState {
  if (state.stopping === null || !hasCalls(state) || !state.calls.some(waitsForChild)) return abandonWork(state, at);
  const abandoned = abandonCalls(
    state.calls.filter((call) => !waitsForChild(call)),
    "interrupted",
    state.seq + 1,
  );
  let next = 0;
  const calls = state.calls.map((call) => (waitsForChild(call) ? call : (abandoned[next++] ?? call)));
  return settleCalls({ ...state, calls }, at);
}

/** The usage of the lost work stays unknown, so the known usage becomes a lower bound. */
export function markUsagePartial<Active extends ActiveState>(state: Active): Active {
  return { ...state, usage: { ...state.usage, partial: true } };
}

function waitsForChild(call: Call): boolean {
  return call.status === "waiting" && call.on === "child";
}

function computeGraceMs(state: ActiveState): number {
  if (!hasCalls(state)) return state.limits.abortGraceMs;
  const runningGraces = state.calls.flatMap((call) =>
    call.status === "running" ? [call.policy.graceMs ?? state.limits.abortGraceMs] : [],
  );
  return runningGraces.length === 0 ? state.limits.abortGraceMs : Math.max(...runningGraces);
}
