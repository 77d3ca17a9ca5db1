/**
 * Handles work that one commit both starts and stops: an approval and an abort may be committed together.
 *
 * Effects start after the commit, and a stopping run starts none. So nothing would ever settle this work: the run would wait until its
 * grace period is over, and then report calls in doubt that were never started.
 */
import type { EventBody } from "../../core/machine/event.js";
import { callOf, hasCalls, type State } from "../../core/machine/state.js";

/** Ends the work that `drafted` starts in a stopping run. */
export function endUnstarted(committed: State, drafted: State): readonly EventBody[] {
  if (!("stopping" in drafted) || drafted.stopping === null) return none;
  const { runId } = drafted;
  if (drafted.status === "model_running" && !isSameModelCall(committed, drafted))
    return [{ type: "timer_fired", runId, timer: "grace" }];
  if (!hasCalls(drafted)) return none;
  return drafted.calls.flatMap((call): readonly EventBody[] => {
    if (call.status !== "running") return none;
    const { callKey, attempt } = call;
    const before = callOf(committed, callKey);
    if (before?.status === "running" && before.attempt === attempt) return none;
    // An earlier attempt may have had an effect.
    return [{ type: "tool_finished", runId, callKey, outcome: attempt === 1 ? "aborted" : "interrupted" }];
  });
}

type ModelRunning = Extract<State, { readonly status: "model_running" }>;

function isSameModelCall(before: State, { runId, modelCallIndex, attempt }: ModelRunning): boolean {
  return (
    before.status === "model_running" &&
    before.runId === runId &&
    before.modelCallIndex === modelCallIndex &&
    before.attempt === attempt
  );
}

const none: readonly never[] = [];
