/**
 * The error of a tool step. A tool that runs again gets the same error at the same step.
 */
import type { Fault } from "../../core/data/message.js";

/** The code of a `StepError`. */
export type StepErrorCode =
  /** The function of the step threw. */
  | "step_failed"
  /** The step may run only once. It had begun in a process that died, so it is unknown whether it took effect. */
  | "step_in_doubt"
  /** The step took longer than its `timeoutMs`. It may still be running. */
  | "step_timeout"
  /** The step's value is too large to be stored, or the call has too many steps. */
  | "step_too_large"
  /** The tool no longer takes its steps in the order of the log. */
  | "step_mismatch"
  /** Steps ran in parallel in this call with the same name twice, so their results could not be told apart. */
  | "step_ambiguous"
  /** A step or a question was started within a step. */
  | "step_nested"
  /** The tool asks, sleeps or waits, and does not have `durable: true`. */
  | "not_durable";

/** Thrown by `ctx.step` and `ctx.ask`. */
export class StepError extends Error {
  /** Distinguishes the error from others. */
  override readonly name = "StepError";
  /** The kind of error. It does not change between versions. */
  readonly code: StepErrorCode;
  /** The name of the step, with a number if the name was used before: `fetch`, `fetch#2`. */
  readonly step: string;
  /** The `code` of the error that the step threw, if it was a string. */
  readonly reason?: string;

  constructor(code: StepErrorCode, step: string, message: string, reason?: string) {
    super(message);
    this.code = code;
    this.step = step;
    if (reason !== undefined) this.reason = reason;
  }
}

/** Creates the tool's error from the recorded fault: the same in the first run and in each later run. */
export function toStepError(step: string, { code, message, cause }: Fault): StepError {
  const known = recordedCodes.find((one) => one === code) ?? "step_failed";
  return new StepError(known, step, `The tool step "${step}" failed: ${message}`, cause);
}

const recordedCodes = ["step_failed", "step_in_doubt", "step_timeout", "step_too_large"] as const;
