/**
 * The delay before a tool, or a step of a tool, is retried.
 */
import type { ToolRetry } from "../../ports/tool.js";
import { sha256 } from "./hash.js";

/** The defaults of `retry`. */
export const retryDefaults = { attempts: 3, baseMs: 500, maxMs: 30_000 } as const;

/**
 * Exponential backoff, shortened by up to half as jitter, so that failed calls do not all retry at the same time. The jitter is derived
 * from `key`, so the delay is deterministic.
 * @param failures how many attempts have failed before this one
 */
export function retryDelay(backoff: ToolRetry["backoff"], failures: number, key: string): number {
  const { baseMs = retryDefaults.baseMs, maxMs = retryDefaults.maxMs } = backoff ?? {};
  const delay = Math.min(maxMs, baseMs * 2 ** failures);
  return Math.round(delay * (0.5 + hashFraction(key) / 2));
}

/** A number from 0 (inclusive) to 1 (exclusive). */
function hashFraction(key: string): number {
  return Number.parseInt(sha256(key).slice(0, 8), 16) / 2 ** 32;
}
