/**
 * Explains why a judge has no verdict on a trial to which it applies.
 *
 * 1. No verdict is not a score: a 0 would lower the mean of a judge that only reports. The report counts missing verdicts and gives
 *    the reason.
 * 2. A judge with a bound has not passed the trial, so no verdict fails the trial, and counts as 0 in comparisons.
 */
import { PawlError } from "../errors.js";
import { formatError } from "../runtime/lib/error-text.js";

/** Thrown if an agent that is asked gives no answer, or an answer that is not a verdict. */
export class NoVerdictError extends Error {
  override readonly name = "NoVerdictError";
}

/** Explains why a judge gave no verdict. @throws PawlError unchanged, because it means that the eval is misconfigured */
export function explainNoVerdict(error: unknown): string {
  if (error instanceof PawlError) throw error;
  return error instanceof NoVerdictError ? `no verdict: ${error.message}` : `the judge failed: ${formatError(error)}`;
}
