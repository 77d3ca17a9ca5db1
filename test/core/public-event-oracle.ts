/**
 * What must hold of the events that the world sees (STRM-4).
 */
import { hasCalls, isTerminal, type PublicEvent, type State } from "../../src/core/index.js";
import { check } from "./check.js";

const callEventOrder = ["call_start", "tool_call", "tool_result", "call_complete"] as const;

export function createEventWatch() {
  const calls = new Map<string, number>();
  /** The steps whose message was told, and those whose answer was taken back. */
  const reportedSteps = new Set<string>();
  const withdrawnSteps = new Set<string>();
  const openCalls = new Set<string>();
  const queuedRuns = new Set<string>();
  const steps: string[] = [];
  let seq = 0;
  let currentRunId: string | null = null;
  let suspended = false;
  let hasBegun = false;
  let hasQuestions = false;

  function observeOne(event: PublicEvent): void {
    check(event.seq >= seq, "public events go back");
    seq = event.seq;
    switch (event.type) {
      case "run_started":
        check(currentRunId === null, "a run starts within another");
        hasBegun = true;
        currentRunId = event.runId;
        queuedRuns.delete(currentRunId);
        break;
      case "history_added":
        check(!hasBegun, "a history is added after the first run");
        break;
      case "run_queued":
        queuedRuns.add(event.runId);
        break;
      case "final":
        check(event.result.runId === event.runId, "a result of another run");
        if (queuedRuns.delete(event.runId)) break;
        check(currentRunId === event.runId, "a run ends that is not under way");
        check(openCalls.size === 0, `the run ends with open calls: ${[...openCalls].join(" ")}`);
        for (const step of steps.splice(0))
          check(reportedSteps.has(step) || withdrawnSteps.has(step), `the message of ${step} is never told`);
        currentRunId = null;
        break;
      case "suspended":
        check(currentRunId === event.runId, "a run waits that is not under way");
        hasQuestions = event.approvals.length > 0 || (event.waits ?? []).length > 0;
        suspended = true;
        break;
      case "call_start":
      case "tool_call":
      case "tool_result":
      case "call_complete": {
        const seenCount = calls.get(event.callKey) ?? 0;
        check(
          callEventOrder[seenCount] === event.type,
          `the call ${event.callKey} has ${event.type} after ${seenCount} of its events`,
        );
        calls.set(event.callKey, seenCount + 1);
        if (event.type === "call_start") openCalls.add(event.callKey);
        if (event.type === "call_complete") openCalls.delete(event.callKey);
        break;
      }
      case "tool_step":
        check(openCalls.has(event.callKey) && event.runId === currentRunId, "a tool step of a call that is over");
        break;
      case "data_changed":
        check(
          event.keys.length > 0 && new Set(event.keys).size === event.keys.length,
          "a change of no key, or twice of one",
        );
        break;
      case "tool_failed":
        check(
          calls.get(event.callKey) === 2,
          `an attempt of ${event.callKey} fails before its call, or after its result`,
        );
        break;
      case "message": {
        const step = `${event.runId}/${event.modelCallIndex}`;
        check(event.runId === currentRunId, "a message of no run");
        check(!reportedSteps.has(step), `the message of ${step} is told twice`);
        check(!withdrawnSteps.has(step), `a message of ${step} is told after it was withdrawn`);
        reportedSteps.add(step);
        break;
      }
      case "attempt_withdrawn":
        check(event.runId === currentRunId, "an answer of no run is withdrawn");
        withdrawnSteps.add(`${event.runId}/${event.modelCallIndex}`);
        break;
      case "step_finished":
        steps.push(`${event.runId}/${event.modelCallIndex}`);
        break;
      case "text":
      case "reasoning":
        check(openCalls.size === 0 && event.runId === currentRunId, "words within the calls of a step");
        break;
      default:
        break;
    }
  }

  return {
    observe(events: readonly PublicEvent[], before: State, after: State): void {
      suspended = false;
      for (const event of events) observeOne(event);
      const isRunOver = after.status === "idle" || (isTerminal(after) && after.afterRunHooksPending !== true);
      check((currentRunId === null) === isRunOver, "the end of a run is not told, or too soon");
      const isAwaitingHuman = after.status === "awaiting_human";
      check(isAwaitingHuman || sleepsLong(after) || !suspended, "told to wait for nobody");
      check(!sleepsLong(after) || suspended || sleepsLong(before), "nobody is told that the run sleeps");
      // The questions of children are in their own logs, which are not there.
      const waitsForChild =
        hasCalls(after) && after.calls.some((call) => call.status === "waiting" && call.on === "child");
      check(!suspended || hasQuestions || waitsForChild, "a run waits for nobody");
      check(!isAwaitingHuman || suspended || before.status === "awaiting_human", "nobody is told that the run waits");
    },
  };
}

/** The run sleeps for more than five seconds from when its last call went to sleep. */
function sleepsLong(state: State): boolean {
  if (state.status !== "tool_running" || state.parkedSince === undefined) return false;
  const since = state.parkedSince;
  const ends = state.calls.flatMap((call) => {
    if (call.status === "asking") return (call.open ?? []).map((one) => one.expiresAt ?? Infinity);
    return call.status === "waiting" && call.on === "child" ? [call.asleep?.until ?? Infinity] : [];
  });
  return ends.every((end) => end > since + 5_000);
}
