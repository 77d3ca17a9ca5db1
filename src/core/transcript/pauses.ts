/**
 * Pauses between the model calls of a session. The lifetime of a provider's prompt cache starts with a request, so a pause lasts from the
 * beginning of one call to the beginning of the next.
 */
import type { CallPauses, Transcript } from "./transcript-record.js";

export const noPauses: CallPauses = { lastCallAt: null, count: 0 };

/** Whether a call that begins now would still find a one-hour cache, but not a five-minute one. */
export function isPause({ lastCallAt }: CallPauses, now: number): boolean {
  if (lastCallAt === null) return false;
  const pauseMs = now - lastCallAt;
  return pauseMs > 5 * 60_000 && pauseMs < 60 * 60_000;
}

/** Whether a provider is likely to still have the last call in its cache. After a compaction, the cache is of no use. */
export function isCached(
  { pauses: { lastCallAt }, promptCache }: Pick<Transcript, "pauses" | "promptCache">,
  now: number,
): boolean {
  return lastCallAt !== null && now - lastCallAt < (promptCache === "1h" ? 60 : 5) * 60_000;
}

/** Counts a pause once, even if a restart prepares the same call again. */
export function countPause(pauses: CallPauses, now: number): CallPauses {
  return isPause(pauses, now) ? { lastCallAt: null, count: pauses.count + 1 } : pauses;
}
