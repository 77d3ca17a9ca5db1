/**
 * What must hold of the events that the world sees (STRM-4).
 */
import { hasCalls, isTerminal, type PublicEvent, type State } from "../../src/core/index.js";
import { check } from "./check.js";

const order = ["call_start", "tool_call", "tool_result", "call_complete"] as const;

export function watchEvents() {
  const calls = new Map<string, number>();
  /** The steps whose message was told, and those whose answer was taken back. */
  const told = new Set<string>();
  const withdrawn = new Set<string>();
  const open = new Set<string>();
  const queued = new Set<string>();
  const steps: string[] = [];
  let seq = 0;
  let run: string | null = null;
  let suspended = false;
  let hasBegun = false;
  let asks = false;

  function observeOne(event: PublicEvent): void {
    check(event.seq >= seq, "public events go back");
    seq = event.seq;
    switch (event.type) {
      case "run_started":
        check(run === null, "a run starts within another");
        hasBegun = true;
        run = event.runId;
        queued.delete(run);
        break;
      case "history_added":
        check(!hasBegun, "a history is added after the first run");
        break;
      case "run_queued":
        queued.add(event.runId);
        break;
      case "final":
        check(event.result.runId === event.runId, "a result of another run");
        if (queued.delete(event.runId)) break;
        check(run === event.runId, "a run ends that is not under way");
        check(open.size === 0, `the run ends with open calls: ${[...open].join(" ")}`);
        for (const step of steps.splice(0))
          check(told.has(step) || withdrawn.has(step), `the message of ${step} is never told`);
        run = null;
        break;
      case "suspended":
        check(run === event.runId, "a run waits that is not under way");
        asks = event.approvals.length > 0;
        suspended = true;
        break;
      case "call_start":
      case "tool_call":
      case "tool_result":
      case "call_complete": {
        const passed = calls.get(event.callKey) ?? 0;
        check(
          order[passed] === event.type,
          `the call ${event.callKey} has ${event.type} after ${passed} of its events`,
        );
        calls.set(event.callKey, passed + 1);
        if (event.type === "call_start") open.add(event.callKey);
        if (event.type === "call_complete") open.delete(event.callKey);
        break;
      }
      case "tool_step":
        check(open.has(event.callKey) && event.runId === run, "a tool step of a call that is over");
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
        check(event.runId === run, "a message of no run");
        check(!told.has(step), `the message of ${step} is told twice`);
        check(!withdrawn.has(step), `a message of ${step} is told after it was withdrawn`);
        told.add(step);
        break;
      }
      case "attempt_withdrawn":
        check(event.runId === run, "an answer of no run is withdrawn");
        withdrawn.add(`${event.runId}/${event.modelCallIndex}`);
        break;
      case "step_finished":
        steps.push(`${event.runId}/${event.modelCallIndex}`);
        break;
      case "text":
      case "reasoning":
        check(open.size === 0 && event.runId === run, "words within the calls of a step");
        break;
      default:
        break;
    }
  }

  return {
    observe(events: readonly PublicEvent[], before: State, after: State): void {
      suspended = false;
      for (const event of events) observeOne(event);
      const over = after.status === "idle" || (isTerminal(after) && after.afterRunHooksPending !== true);
      check((run === null) === over, "the end of a run is not told, or too soon");
      const waits = after.status === "awaiting_human";
      check(waits || !suspended, "told to wait for nobody");
      // The questions of children are in their own logs, which are not there.
      const children = hasCalls(after) && after.calls.some((call) => call.status === "waiting" && call.on === "child");
      check(!suspended || asks || children, "a run waits for nobody");
      check(!waits || suspended || before.status === "awaiting_human", "nobody is told that the run waits");
    },
  };
}
