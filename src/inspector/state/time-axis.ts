/**
 * A line of time on which long waits are folded, so that what happened between them can be seen.
 *
 * 1. Times keep their order: a later time is never left of an earlier one.
 * 2. What is not folded has one scale. A fold has a width of its own, however long it is.
 */

/** Epoch milliseconds. */
export type Span = { readonly from: number; readonly to: number };

/** A part of the line; `start` and `end` are fractions of its length. */
export type Stretch = Span & { readonly isFolded: boolean; readonly start: number; readonly end: number };

export type TimeAxis = {
  readonly stretches: readonly Stretch[];
  /** Where a time is, from 0 to 1. */
  readonly place: (at: number) => number;
  /** The time at a place. */
  readonly time: (place: number) => number;
};

/** Pauses of at least this part of the busy time are folded. */
const foldedPart = 0.1;
const leastFoldMs = 2_000;
/** The width of a fold, and the most that all folds take together. */
const foldWidth = 0.025;
const mostFolds = 0.3;

/** @param busy when something ran. Everything else is a pause. */
export function timeAxisOf(busy: readonly Span[]): TimeAxis {
  const parts = mergedSpans(busy);
  const first = parts[0];
  const last = parts.at(-1);
  if (first === undefined || last === undefined) return { stretches: [], place: () => 0, time: () => 0 };
  const total = parts.reduce((sum, { from, to }) => sum + to - from, 0);
  const fold = Math.max(leastFoldMs, total * foldedPart);
  const joined: { from: number; to: number; isFolded: boolean }[] = [];
  for (const { from, to } of parts) {
    const before = joined.at(-1);
    if (before !== undefined && from - before.to >= fold) joined.push({ from: before.to, to: from, isFolded: true });
    else if (before !== undefined) {
      before.to = to;
      continue;
    }
    joined.push({ from, to, isFolded: false });
  }
  const stretches = placed(joined);
  return { stretches, place: (at) => placeIn(stretches, at), time: (place) => timeIn(stretches, place) };
}

function placed(parts: readonly (Span & { readonly isFolded: boolean })[]): readonly Stretch[] {
  const folds = parts.filter(({ isFolded }) => isFolded).length;
  const each = folds === 0 ? 0 : Math.min(foldWidth, mostFolds / folds);
  const shown = parts.reduce((sum, { from, to, isFolded }) => sum + (isFolded ? 0 : to - from), 0);
  const left = 1 - each * folds;
  let at = 0;
  return parts.map((part) => {
    const start = at;
    at += part.isFolded ? each : shown === 0 ? left / (parts.length - folds) : ((part.to - part.from) / shown) * left;
    return { ...part, start, end: Math.min(1, at) };
  });
}

function mergedSpans(spans: readonly Span[]): readonly Span[] {
  const merged: { from: number; to: number }[] = [];
  for (const { from, to } of [...spans].sort((a, b) => a.from - b.from)) {
    const before = merged.at(-1);
    if (before !== undefined && from <= before.to) before.to = Math.max(before.to, to);
    else merged.push({ from, to: Math.max(from, to) });
  }
  return merged;
}

function placeIn(stretches: readonly Stretch[], at: number): number {
  const stretch = found(stretches, ({ to }) => to >= at);
  if (stretch === undefined) return stretches.length === 0 ? 0 : 1;
  const { from, to, start, end } = stretch;
  return to === from ? start : start + Math.max(0, (at - from) / (to - from)) * (end - start);
}

function timeIn(stretches: readonly Stretch[], place: number): number {
  const stretch = found(stretches, ({ end }) => end >= place) ?? stretches.at(-1);
  if (stretch === undefined) return 0;
  const { from, to, start, end } = stretch;
  return end === start ? from : from + Math.min(1, Math.max(0, (place - start) / (end - start))) * (to - from);
}

/** The first stretch for which the condition holds; it holds for all behind it, too. */
function found(stretches: readonly Stretch[], isIt: (stretch: Stretch) => boolean): Stretch | undefined {
  let low = 0;
  let high = stretches.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const stretch = stretches[middle];
    if (stretch !== undefined && isIt(stretch)) high = middle;
    else low = middle + 1;
  }
  return stretches[low];
}
