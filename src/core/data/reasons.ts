/**
 * Why a run ended. docs/guide/outcomes.md shows this table; a test compares the two.
 */
import { deepFreeze } from "./freeze.js";

/**
 * The closed set of reasons for which a run ends. Each has the status of the run, the exit code of the command line, and the result text to
 * use if the model gave none.
 */
export const reasons = deepFreeze({
  stop: { status: "completed", exitCode: 0, text: "" },
  done: { status: "completed", exitCode: 0, text: "" },
  other: { status: "completed", exitCode: 0, text: "The model stopped without giving an answer." },
  stop_condition: { status: "completed", exitCode: 0, text: "The run stopped: a stop condition held." },
  aborted: { status: "aborted", exitCode: 130, text: "Request aborted." },
  refused: { status: "failed", exitCode: 5, text: "The request was refused." },
  max_steps: { status: "failed", exitCode: 4, text: "The run reached its limit of steps." },
  max_errors: { status: "failed", exitCode: 4, text: "The run reached its limit of failed model calls." },
  max_tokens: { status: "failed", exitCode: 4, text: "The run reached its limit of tokens." },
  max_cost: { status: "failed", exitCode: 4, text: "The run reached its limit of cost." },
  max_wall_clock: { status: "failed", exitCode: 4, text: "The run reached its limit of time." },
  context_limit: { status: "failed", exitCode: 4, text: "The conversation no longer fits the model's context window." },
  output_limit: { status: "failed", exitCode: 4, text: "The model's answer was cut at its output limit." },
  content_filter: { status: "failed", exitCode: 5, text: "The provider's content filter stopped the answer." },
  empty_response: { status: "failed", exitCode: 5, text: "The model gave an empty answer twice." },
  invalid_output: {
    status: "failed",
    exitCode: 4,
    text: "The model's answer did not have the shape that was asked for.",
  },
  output_refused: { status: "failed", exitCode: 5, text: "The answer was refused." },
  model_error: { status: "failed", exitCode: 5, text: "The model could not be reached or failed." },
  hook_failed: { status: "failed", exitCode: 5, text: "A hook failed." },
  hook_stopped: { status: "aborted", exitCode: 5, text: "A hook stopped the run." },
  denied_stop: { status: "aborted", exitCode: 5, text: "A tool call was denied and the run was stopped." },
  repeated_call: { status: "failed", exitCode: 4, text: "The model kept repeating the same tool call." },
  crash_loop: { status: "failed", exitCode: 5, text: "The run was restarted too often without progress." },
} as const satisfies Record<string, { status: "completed" | "failed" | "aborted"; exitCode: number; text: string }>);

/** Why a run ended. */
export type Reason = keyof typeof reasons;

/**
 * Why a run stopped in this process without ending. `store_failed`: the store failed. `shutdown`: the process is shutting down. `left`: this
 * process handed the session over. `lease_lost`: another process took over. `held_back`: the previous run in the queue was aborted.
 */
export type InterruptedReason = "store_failed" | "shutdown" | "left" | "lease_lost" | "held_back";

/** Whether the reason is a limit: the run could have continued, and its results so far may be useful. */
export function isLimitReason(reason: Reason): boolean {
  return limitReasons.has(reason);
}

const limitReasons: ReadonlySet<Reason> = new Set([
  "max_steps",
  "max_errors",
  "max_tokens",
  "max_cost",
  "max_wall_clock",
  "context_limit",
  "output_limit",
  "repeated_call",
]);

/** The status of a run that ended for this reason. */
export function statusOf(reason: Reason): "completed" | "failed" | "aborted" {
  return reasons[reason].status;
}
