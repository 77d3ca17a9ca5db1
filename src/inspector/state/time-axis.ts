/**
 * A time axis on which long pauses are folded, so that the activity between them is visible.
 *
 * 1. Times keep their order: a later time is never left of an earlier one.
 * 2. Everything that is not folded has the same scale. A fold has a fixed width, regardless of its duration.
 */

/** In epoch milliseconds. */
export type Span = { readonly from: number; readonly to: number };

/** A part of the axis; `start` and `end` are fractions of its length. */
export type Stretch = Span & { readonly isFolded: boolean; readonly start: number; readonly end: number };

export type TimeAxis = {
  readonly stretches: readonly Stretch[];
  /** The position of a time, from 0 to 1. */
  readonly position: (at: number) => number;
  /** The time at a position. */
  readonly time: (position: number) => number;
};

/** Pauses of at least this fraction of the busy time are folded. */
const minFoldShare = 0.1;
const minFoldMs = 2_000;
/** The width of a fold, and the maximum width of all folds together. */
const foldWidth = 0.025;
const maxFolds = 0.3;

/** @param busy the times of activity. Everything else is a pause. */
export function createTimeAxis(busy: readonly Span[]): TimeAxis {
  const parts = mergeSpans(busy);
  const first = parts[0];
  const last = parts.at(-1);
  if (first === undefined || last === undefined) return { stretches: [], position: () => 0, time: () => 0 };
  const total = parts.reduce((sum, { from, to }) => sum + to - from, 0);
  const foldFromMs = Math.max(minFoldMs, total * minFoldShare);
  const segments: { from: number; to: number; isFolded: boolean }[] = [];
  for (const { from, to } of parts) {
    const previous = segments.at(-1);
    if (previous !== undefined && from - previous.to >= foldFromMs)
      segments.push({ from: previous.to, to: from, isFolded: true });
    else if (previous !== undefined) {
      previous.to = to;
      continue;
    }
    segments.push({ from, to, isFolded: false });
  }
  const stretches = layOut(segments);
  return { stretches, position: (at) => positionAt(stretches, at), time: (position) => timeAt(stretches, position) };
}

function layOut(parts: readonly (Span & { readonly isFolded: boolean })[]): readonly Stretch[] {
  const folds = parts.filter(({ isFolded }) => isFolded).length;
  const foldShare = folds === 0 ? 0 : Math.min(foldWidth, maxFolds / folds);
  const busyMs = parts.reduce((sum, { from, to, isFolded }) => sum + (isFolded ? 0 : to - from), 0);
  const remaining = 1 - foldShare * folds;
  let at = 0;
  return parts.map((part) => {
    const start = at;
    at += part.isFolded
      ? foldShare
      : busyMs === 0
        ? remaining / (parts.length - folds)
        : ((part.to - part.from) / busyMs) * remaining;
    return { ...part, start, end: Math.min(1, at) };
  });
}

function mergeSpans(spans: readonly Span[]): readonly Span[] {
  const merged: { from: number; to: number }[] = [];
  for (const { from, to } of [...spans].sort((a, b) => a.from - b.from)) {
    const previous = merged.at(-1);
    if (previous !== undefined && from <= previous.to) previous.to = Math.max(previous.to, to);
    else merged.push({ from, to: Math.max(from, to) });
  }
  return merged;
}

function positionAt(stretches: readonly Stretch[], at: number): number {
  const stretch = findStretch(stretches, ({ to }) => to >= at);
  if (stretch === undefined) return stretches.length === 0 ? 0 : 1;
  const { from, to, start, end } = stretch;
  return to === from ? start : start + Math.max(0, (at - from) / (to - from)) * (end - start);
}

function timeAt(stretches: readonly Stretch[], position: number): number {
  const stretch = findStretch(stretches, ({ end }) => end >= position) ?? stretches.at(-1);
  if (stretch === undefined) return 0;
  const { from, to, start, end } = stretch;
  return end === start ? from : from + Math.min(1, Math.max(0, (position - start) / (end - start))) * (to - from);
}

/** The first stretch for which the condition holds; it must also hold for all stretches after it. */
function findStretch(stretches: readonly Stretch[], predicate: (stretch: Stretch) => boolean): Stretch | undefined {
  let low = 0;
  let high = stretches.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const stretch = stretches[middle];
    if (stretch !== undefined && predicate(stretch)) high = middle;
    else low = middle + 1;
  }
  return stretches[low];
}
