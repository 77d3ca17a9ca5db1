/**
 * When a worker tries again what failed.
 */
import { PawlError } from "../errors.js";

/** The store may have failed for a moment. A session that is about to begin may be empty for one. */
export function mayPass(error: unknown): boolean {
  return error instanceof PawlError && (error.code === "store_failed" || error.code === "no_session");
}

const firstRetryMs = 1_000;
const longestRetryMs = 30_000;

/** Milliseconds until the next attempt, after so many failures in a row. */
export function retryMs(failures: number): number {
  return Math.min(longestRetryMs, firstRetryMs * 2 ** (failures - 1));
}
