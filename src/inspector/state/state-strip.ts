/**
 * The states of a session over time: when its model ran, when its tools ran, when it waited, when a request was queued.
 *
 * 1. Within a step, the model comes first, then waits, then tools: a list of steps has no more detail.
 * 2. The strip has a bounded number of pieces, regardless of the number of steps. A piece shows the state that took most of its time.
 */
import type { SessionState } from "./session-state.js";
import { matchesFilter, type StepRow } from "./step-rows.js";
import { createTimeAxis, type Span, type TimeAxis } from "./time-axis.js";

export type StripState = "queued" | "model" | "tools" | "waiting";

export type StripPiece = {
  readonly state: StripState;
  /** Fractions of the strip's length. */
  readonly start: number;
  readonly end: number;
};

export type Strip = {
  readonly axis: TimeAxis;
  readonly pieces: readonly StripPiece[];
  /** The positions of failed steps. */
  readonly failures: readonly number[];
};

type StateSpan = Span & { readonly state: StripState };

const maxPieces = 800;

/** @param now the end of whatever is in progress */
export function createStrip({ rows, runs }: Pick<SessionState, "rows" | "runs">, now: number): Strip {
  const stateSpans = rows.flatMap((row) => listStateSpans(row, now));
  for (const { queuedAt, at } of runs.values())
    if (queuedAt !== null) stateSpans.push({ from: queuedAt, to: Math.max(queuedAt, at), state: "queued" });
  const axis = createTimeAxis(
    stateSpans.flatMap(({ state, from, to }) => (isBusy(state) ? [{ from, to }] : toEdges(from, to))),
  );
  const failures = rows.flatMap((row) => (matchesFilter(row, "failed") ? [row.startedAt + row.ms] : []));
  return { axis, pieces: toPieces(stateSpans, axis), failures: toPositions(failures, axis) };
}

function isBusy(state: StripState): boolean {
  return state === "model" || state === "tools";
}

/** The edges of a pause: it is folded, but the axis extends to its end. */
export function toEdges(from: number, to: number): readonly Span[] {
  return [
    { from, to: from },
    { from: to, to },
  ];
}

/** The states of a step over time. */
export function listStateSpans(
  { startedAt, ms, modelMs, waitedMs, waitsSince, flags, calls }: StepRow,
  now: number,
): StateSpan[] {
  const isOpen = flags.includes("under_way");
  const end = isOpen ? Math.max(now, startedAt + ms) : startedAt + ms;
  // While the model writes, its calls are not in the log yet.
  const hasModelEnded = !isOpen || (modelMs > 0 && calls.length > 0);
  const modelEnd = hasModelEnded ? Math.min(end, startedAt + modelMs) : end;
  const waitMs = waitsSince === null ? waitedMs : waitedMs + Math.max(0, end - waitsSince);
  const waitEnd = Math.min(end, modelEnd + waitMs);
  const stateSpans: readonly StateSpan[] = [
    { state: "model", from: startedAt, to: modelEnd },
    { state: "waiting", from: modelEnd, to: waitEnd },
    { state: "tools", from: waitEnd, to: end },
  ];
  return stateSpans.filter(({ from, to }) => to > from);
}

const states = ["queued", "model", "tools", "waiting"] as const;

/** Divides the strip into slots of equal width, and joins adjacent slots of the same state. */
function toPieces(stateSpans: readonly StateSpan[], { position }: TimeAxis): readonly StripPiece[] {
  const slots = states.map(() => new Float64Array(maxPieces));
  for (const { state, from, to } of stateSpans) {
    const durations = slots[states.indexOf(state)];
    const [start, end] = [position(from) * maxPieces, position(to) * maxPieces];
    for (let at = Math.floor(start); durations !== undefined && at < Math.min(maxPieces, end); at += 1)
      durations[at] = (durations[at] ?? 0) + Math.min(at + 1, end) - Math.max(at, start);
  }
  const pieces: { state: StripState; start: number; end: number }[] = [];
  for (let at = 0; at < maxPieces; at += 1) {
    const state = findLongestState(slots, at);
    if (state === null) continue;
    const previous = pieces.at(-1);
    const [start, end] = [at / maxPieces, (at + 1) / maxPieces];
    if (previous?.state === state && previous.end === start) previous.end = end;
    else pieces.push({ state, start, end });
  }
  return pieces;
}

function findLongestState(slots: readonly Float64Array[], at: number): StripState | null {
  let longest = 0;
  let longestState: StripState | null = null;
  for (const [index, state] of states.entries()) {
    const slotMs = slots[index]?.[at] ?? 0;
    if (slotMs <= longest) continue;
    longest = slotMs;
    longestState = state;
  }
  return longestState;
}

function toPositions(times: readonly number[], { position }: TimeAxis): readonly number[] {
  return [...new Set(times.map((at) => Math.round(position(at) * maxPieces) / maxPieces))];
}
