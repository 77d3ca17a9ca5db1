/**
 * Sorts long lists in pieces that leave the event loop free.
 */
import type { Pace } from "./pace.js";

const pieceLength = 2_000;

/** A stable merge sort: short pieces are sorted at once, and merged in pieces. */
export async function sortInPieces<Item>(
  items: readonly Item[],
  compare: (a: Item, b: Item) => number,
  pace: Pace,
): Promise<readonly Item[]> {
  let runs: (readonly Item[])[] = [];
  for (let from = 0; from < items.length; from += pieceLength) {
    runs.push(items.slice(from, from + pieceLength).sort(compare));
    await pace();
  }
  while (runs.length > 1) {
    const merged: (readonly Item[])[] = [];
    for (let at = 0; at < runs.length; at += 2)
      merged.push(await merge(runs[at] ?? [], runs[at + 1] ?? [], compare, pace));
    runs = merged;
  }
  return runs[0] ?? [];
}

async function merge<Item>(
  left: readonly Item[],
  right: readonly Item[],
  compare: (a: Item, b: Item) => number,
  pace: Pace,
): Promise<readonly Item[]> {
  const merged: Item[] = [];
  for (let [a, b] = [0, 0]; a < left.length || b < right.length; ) {
    const [first, second] = [left[a], right[b]];
    const takesFirst = b >= right.length || (a < left.length && compare(first as Item, second as Item) <= 0);
    merged.push((takesFirst ? first : second) as Item);
    if (takesFirst) a += 1;
    else b += 1;
    if (merged.length % pieceLength === 0) await pace();
  }
  return merged;
}
