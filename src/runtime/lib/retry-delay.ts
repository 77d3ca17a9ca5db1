/**
 * How long a tool, or a step of a tool, waits before it is tried again.
 */
import type { ToolRetry } from "../../ports/tool.js";
import { sha256 } from "./hash.js";

/** What `retry` means if it does not say. */
export const retryDefaults = { attempts: 3, baseMs: 500, maxMs: 30_000 } as const;

/**
 * Each wait is twice as long as the one before. Up to half of it is cut, by the hash of `key`: so nothing here is random,
 * and not all that failed at once comes back at once.
 * @param failures how many attempts have failed before this one
 */
export function retryDelay(backoff: ToolRetry["backoff"], failures: number, key: string): number {
  const { baseMs = retryDefaults.baseMs, maxMs = retryDefaults.maxMs } = backoff ?? {};
  const delay = Math.min(maxMs, baseMs * 2 ** failures);
  return Math.round(delay * (0.5 + hashFraction(key) / 2));
}

/** A number from 0 up to, not including, 1. */
function hashFraction(key: string): number {
  return Number.parseInt(sha256(key).slice(0, 8), 16) / 2 ** 32;
}
