/**
 * Reads the entries of a log, a page at a time.
 */
import type { Entry } from "../../core/machine/event.js";
import { PawlError } from "../../errors.js";
import type { Store } from "../../ports/store.js";

/** The part of a store that reading a log needs. */
export type LogStore = Pick<Store, "read" | "load" | "loadAt" | "getBlob">;

/** In entries. Pages grow, because a reader without a known last entry may stop after a few. */
export const pageSizes = { first: 64, max: 1_000, growth: 2 } as const;

/** The entries after `after`, up to `last`, a page at a time. @throws PawlError `store_corrupt` if one is missing */
export async function* readEntries(
  store: Pick<Store, "read">,
  sessionId: string,
  after: number,
  last = Number.POSITIVE_INFINITY,
): AsyncGenerator<Entry, void, undefined> {
  let size: number = Number.isFinite(last) ? pageSizes.max : pageSizes.first;
  for (let from = after; from < last; size = nextPageSize(size)) {
    const limit = Math.min(size, last - from);
    const page = await store.read(sessionId, from, limit);
    for (const entry of page) {
      if (from >= last) return;
      from += 1;
      if (entry.seq !== from) throw gapError(sessionId, from);
      yield entry;
    }
    if (page.length < limit) return;
  }
}

/** The size of the next page. */
export function nextPageSize(size: number): number {
  return Math.min(pageSizes.max, size * pageSizes.growth);
}

function gapError(sessionId: string, seq: number): PawlError {
  return new PawlError(
    "store_corrupt",
    `Entry ${seq} of session ${sessionId} is missing from the store. Run store.verify() to find the damage, and restore the session from a backup.`,
  );
}
