/**
 * The error of a tool step. A tool that runs again gets the same error in the same place.
 */
import type { Fault } from "../../core/data/message.js";

/** The code of a `StepError`. */
export type StepErrorCode =
  /** The function of the step threw. */
  | "step_failed"
  /** The step may run once only. It had begun in a process that died, and nobody knows whether it took effect. */
  | "step_in_doubt"
  /** The step took longer than its `timeoutMs`. It may still be running. */
  | "step_timeout"
  /** What the step gave is too large to be kept, or the call has too many steps. */
  | "step_too_large"
  /** The tool does not take its steps in the order of the log any more. */
  | "step_mismatch"
  /** Two steps ran side by side in this call, and a name came twice: nobody could tell which result belongs to which. */
  | "step_ambiguous"
  /** A step, or a question, was begun within a step. */
  | "step_nested"
  /** Only a tool with `durable: true` may ask. */
  | "not_durable";

/** Thrown by `ctx.step` and `ctx.ask`. */
export class StepError extends Error {
  /** Tells the error from others. */
  override readonly name = "StepError";
  /** What kind of error it is. It does not change between versions. */
  readonly code: StepErrorCode;
  /** The name of the step, with a count if the name came before: `fetch`, `fetch#2`. */
  readonly step: string;
  /** The `code` of the error that the step threw, if it was a text. */
  readonly reason?: string;

  constructor(code: StepErrorCode, step: string, message: string, reason?: string) {
    super(message);
    this.code = code;
    this.step = step;
    if (reason !== undefined) this.reason = reason;
  }
}

/** The error that the log holds, as the tool is given it: the same in the first run and in each run after it. */
export function toStepError(step: string, { code, message, cause }: Fault): StepError {
  const known = recordedCodes.find((one) => one === code) ?? "step_failed";
  return new StepError(known, step, `The tool step "${step}" failed: ${message}`, cause);
}

const recordedCodes = ["step_failed", "step_in_doubt", "step_timeout", "step_too_large"] as const;
