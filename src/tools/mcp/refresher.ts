/**
 * Refreshes a list when its server announces a change: at once, but one reading at a time. An untrusted server may announce changes without
 * end, or whenever its list is read.
 */
import { setTimeout as sleep } from "node:timers/promises";

/** The minimum time between two readings, in milliseconds. */
const minRefreshMs = 1_000;

/** @param refresh never rejects */
export function createRefresher(refresh: () => Promise<void>): () => Promise<void> {
  let isRefreshing = false;
  let hasChanged = false;
  return async () => {
    hasChanged = true;
    if (isRefreshing) return;
    isRefreshing = true;
    while (hasChanged) {
      hasChanged = false;
      await refresh();
      await sleep(minRefreshMs, undefined, { ref: false });
    }
    isRefreshing = false;
  };
}
