/**
 * Why a judge has no verdict on a trial to which it applies.
 *
 * 1. No verdict is not a score: it would lower the mean of a judge that only reports. The report counts it and says why.
 * 2. A judge with a bound has not passed the trial, so no verdict fails the trial, and counts as 0 in comparisons.
 */
import { PawlError } from "../errors.js";
import { formatError } from "../runtime/lib/error-text.js";

/** Thrown if an agent that is asked gives no answer, or one that is no verdict. */
export class NoVerdictError extends Error {
  override readonly name = "NoVerdictError";
}

/** Says why a judge gave no verdict. @throws PawlError as it is: the eval is set up wrong */
export function explainNoVerdict(error: unknown): string {
  if (error instanceof PawlError) throw error;
  return error instanceof NoVerdictError ? `no verdict: ${error.message}` : `the judge failed: ${formatError(error)}`;
}
