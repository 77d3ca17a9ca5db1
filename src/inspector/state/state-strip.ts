/**
 * The states of a session over time: when its model ran, when its tools did, when it waited, when a request was queued.
 *
 * 1. Within a step, the model comes first, then waits, then tools: a list of steps does not say more.
 * 2. However many steps there are, the strip has a bounded number of pieces. A piece shows what took most of its time.
 */
import type { SessionState } from "./session-state.js";
import { isIn, type StepRow } from "./steps.js";
import { type Span, type TimeAxis, timeAxisOf } from "./time-axis.js";

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
  /** Where steps failed. */
  readonly failures: readonly number[];
};

type Stay = Span & { readonly state: StripState };

const mostPieces = 800;

/** @param now the end of what is under way */
export function stripOf({ rows, runs }: Pick<SessionState, "rows" | "runs">, now: number): Strip {
  const stays = rows.flatMap((row) => staysOf(row, now));
  for (const { queuedAt, at } of runs.values())
    if (queuedAt !== null) stays.push({ from: queuedAt, to: Math.max(queuedAt, at), state: "queued" });
  const axis = timeAxisOf(stays.flatMap(({ state, from, to }) => (isBusy(state) ? [{ from, to }] : edgesOf(from, to))));
  const failures = rows.flatMap((row) => (isIn(row, "failed") ? [row.startedAt + row.ms] : []));
  return { axis, pieces: piecesOf(stays, axis), failures: placesOf(failures, axis) };
}

function isBusy(state: StripState): boolean {
  return state === "model" || state === "tools";
}

/** A pause is folded, but the line of time goes on to its end. */
export function edgesOf(from: number, to: number): readonly Span[] {
  return [
    { from, to: from },
    { from: to, to },
  ];
}

/** When a step was in which state. */
export function staysOf({ startedAt, ms, modelMs, waitedMs, waitsSince, flags, calls }: StepRow, now: number): Stay[] {
  const isOpen = flags.includes("under_way");
  const end = isOpen ? Math.max(now, startedAt + ms) : startedAt + ms;
  // While the model writes, it has asked for nothing that is in the log.
  const hasModelEnded = !isOpen || (modelMs > 0 && calls.length > 0);
  const model = hasModelEnded ? Math.min(end, startedAt + modelMs) : end;
  const wait = waitsSince === null ? waitedMs : waitedMs + Math.max(0, end - waitsSince);
  const waited = Math.min(end, model + wait);
  const stays: readonly Stay[] = [
    { state: "model", from: startedAt, to: model },
    { state: "waiting", from: model, to: waited },
    { state: "tools", from: waited, to: end },
  ];
  return stays.filter(({ from, to }) => to > from);
}

const states = ["queued", "model", "tools", "waiting"] as const;

/** The strip in slots of one width, and slots of one state side by side as one piece. */
function piecesOf(stays: readonly Stay[], { place }: TimeAxis): readonly StripPiece[] {
  const slots = states.map(() => new Float64Array(mostPieces));
  for (const { state, from, to } of stays) {
    const parts = slots[states.indexOf(state)];
    const [start, end] = [place(from) * mostPieces, place(to) * mostPieces];
    for (let at = Math.floor(start); parts !== undefined && at < Math.min(mostPieces, end); at += 1)
      parts[at] = (parts[at] ?? 0) + Math.min(at + 1, end) - Math.max(at, start);
  }
  const pieces: { state: StripState; start: number; end: number }[] = [];
  for (let at = 0; at < mostPieces; at += 1) {
    const state = mostAt(slots, at);
    if (state === null) continue;
    const before = pieces.at(-1);
    const [start, end] = [at / mostPieces, (at + 1) / mostPieces];
    if (before?.state === state && before.end === start) before.end = end;
    else pieces.push({ state, start, end });
  }
  return pieces;
}

function mostAt(slots: readonly Float64Array[], at: number): StripState | null {
  let most = 0;
  let found: StripState | null = null;
  for (const [index, state] of states.entries()) {
    const part = slots[index]?.[at] ?? 0;
    if (part <= most) continue;
    most = part;
    found = state;
  }
  return found;
}

function placesOf(times: readonly number[], { place }: TimeAxis): readonly number[] {
  return [...new Set(times.map((at) => Math.round(place(at) * mostPieces) / mostPieces))];
}
