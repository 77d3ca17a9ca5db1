/**
 * Reads how long a provider asks clients to wait: `retry-after-ms`, `Retry-After` in seconds or as an HTTP date, or Google's
 * `RetryInfo` in the body. A value that is negative, in the past or not a number is ignored.
 */
import type { JsonObject } from "./error-body.js";

/** Milliseconds from `now`; undefined if the provider gives no time. */
export function readRetryAfter(headers: unknown, details: readonly JsonObject[], now: number): number | undefined {
  return (
    parseMilliseconds(readHeader(headers, "retry-after-ms"), 1) ??
    parseMilliseconds(readHeader(headers, "retry-after"), 1_000) ??
    parseDateDelay(readHeader(headers, "retry-after"), now) ??
    readRetryDelay(details)
  );
}

function readHeader(headers: unknown, name: string): string | undefined {
  if (typeof headers !== "object" || headers === null) return undefined;
  for (const [key, value] of Object.entries(headers)) {
    if (key.toLowerCase() === name && typeof value === "string") return value.trim();
  }
  return undefined;
}

function parseMilliseconds(text: string | undefined, unit: number): number | undefined {
  if (text === undefined || !/^\d{1,12}(\.\d{1,9})?$/.test(text)) return undefined;
  return Math.ceil(Number(text) * unit);
}

function parseDateDelay(text: string | undefined, now: number): number | undefined {
  // An HTTP date contains the name of a month. Without this test, Date.parse would read a bare number as a year.
  if (text === undefined || !/[a-z]{3}/i.test(text)) return undefined;
  const delayMs = Date.parse(text) - now;
  return Number.isFinite(delayMs) && delayMs >= 0 ? delayMs : undefined;
}

function readRetryDelay(details: readonly JsonObject[]): number | undefined {
  for (const { retryDelay } of details) {
    if (typeof retryDelay !== "string" || !retryDelay.endsWith("s")) continue;
    const delayMs = parseMilliseconds(retryDelay.slice(0, -1), 1_000);
    if (delayMs !== undefined) return delayMs;
  }
  return undefined;
}
