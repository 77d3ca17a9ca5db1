/**
 * One attempt of a tool with steps, as a state machine. The host (step-host.ts) reports events and performs the actions.
 *
 * 1. A tool is suspended when its call continues later or elsewhere: its questions are in the log, the lease is lost, or the process shuts
 *    down. A suspended tool never ends here.
 * 2. A tool that has ended begins nothing and asks nothing. While its questions are being committed, they count, and its end does not.
 * 3. A shutdown detaches the attempt only when none of its steps is in progress.
 */

/** Returned instead of a result that the tool must not get, because it does not continue here. */
export const detached = Symbol("detached");

/** Why the tool's code does not decide how the call ends. */
export type Failure = { readonly type: "error" | "interrupted"; readonly message: string };

/** `steps`: how many are in progress. `isCancelled`: the run is stopping, so only cleanup steps may begin. */
export type ToolAttempt = { readonly steps: number; readonly isCancelled: boolean } & (
  | { readonly status: "running" }
  /** The questions of the tool are being committed. */
  | { readonly status: "asking" }
  | { readonly status: "suspended"; readonly why: "asked" | "lease_lost" | "drained" }
  | { readonly status: "ended"; readonly why: "returned" | "timeout" | Failure }
);

export type ToolAttemptEvent =
  | { readonly type: "step_began" | "step_ended" }
  /** `asking`: questions are waiting. `asked`: they are in the log. `refused`: the call ended before. */
  | { readonly type: "asking" | "asked" | "refused" }
  | { readonly type: "timeout" | "cancelled" | "lease_lost" | "drained" | "tool_returned" }
  | { readonly type: "failed"; readonly why: Failure };

/**
 * `commit_questions`: commit the tool's questions. `try_asking`: no step is in progress. `stop_order`: stop returning recorded
 * results. `detach`: the shutdown need not wait for the attempt. `stop_waiting`: the call ends without the tool.
 */
export type ToolAttemptAct = "commit_questions" | "try_asking" | "stop_order" | "detach" | "stop_waiting";

export type Advanced = { readonly attempt: ToolAttempt; readonly acts: readonly ToolAttemptAct[] };

export const initialAttempt: ToolAttempt = { status: "running", steps: 0, isCancelled: false };

export function advanceAttempt(attempt: ToolAttempt, event: ToolAttemptEvent): Advanced {
  const { steps, isCancelled, status } = attempt;
  const isOpen = status === "running" || status === "asking";
  const stay: Advanced = { attempt, acts: [] };
  const suspend = (why: "asked" | "lease_lost" | "drained"): Advanced => ({
    attempt: { status: "suspended", why, steps, isCancelled },
    acts: why === "drained" && steps === 0 ? ["stop_order", "detach"] : ["stop_order"],
  });
  switch (event.type) {
    case "step_began":
      return { attempt: { ...attempt, steps: steps + 1 }, acts: [] };
    case "step_ended":
      return endStep({ ...attempt, steps: steps - 1 });
    case "asking":
      if (status !== "running" || steps > 0) return stay;
      return { attempt: { status: "asking", steps, isCancelled }, acts: ["commit_questions"] };
    case "asked":
      return status === "asking" || findFailure(attempt) !== undefined ? suspend("asked") : stay;
    case "refused":
      return status === "asking" ? { attempt: { status: "running", steps, isCancelled }, acts: [] } : stay;
    case "cancelled":
      return { attempt: { ...attempt, isCancelled: true }, acts: [] };
    case "lease_lost":
      return isOpen ? suspend("lease_lost") : stay;
    case "drained":
      return status === "running" ? suspend("drained") : stay;
    case "timeout":
    case "tool_returned": {
      const why = event.type === "timeout" ? "timeout" : "returned";
      if (status !== "running") return stay;
      return { attempt: { status: "ended", why, steps, isCancelled }, acts: ["stop_order"] };
    }
    case "failed":
      if (!isOpen) return stay;
      return {
        attempt: { status: "ended", why: event.why, steps, isCancelled },
        acts: ["stop_order", "stop_waiting"],
      };
  }
}

/** If an attempt has ended, questions that wait for its steps are refused. */
function endStep(attempt: ToolAttempt): Advanced {
  if (attempt.steps > 0) return { attempt, acts: [] };
  if (attempt.status !== "suspended") return { attempt, acts: ["try_asking"] };
  return { attempt, acts: attempt.why === "drained" ? ["detach"] : [] };
}

/** Whether a step may begin. A cleanup step may begin after an abort, during the grace period. */
export function mayBeginStep({ status, isCancelled }: ToolAttempt, isCleanup: boolean, isInGrace: boolean): boolean {
  return status !== "ended" && (!isCancelled || (isCleanup && isInGrace));
}

/** Whether the tool gets nothing more: its call continues later or elsewhere, or has failed without it. */
export function isDetached(attempt: ToolAttempt): boolean {
  return attempt.status === "suspended" || findFailure(attempt) !== undefined;
}

export function findFailure(attempt: ToolAttempt): Failure | undefined {
  return attempt.status === "ended" && typeof attempt.why === "object" ? attempt.why : undefined;
}
