/**
 * The bars of a waterfall: for each step its attempts, its calls and its waits, at their places in time.
 */
import type { StepTrace } from "./session-state.js";
import { edgesOf, staysOf } from "./state-strip.js";
import { isFailedCall, type StepRow } from "./steps.js";
import { type Span, type TimeAxis, timeAxisOf } from "./time-axis.js";

export type BarKind = "model" | "failed" | "tool" | "waiting";

export type Bar = Span & {
  readonly kind: BarKind;
  readonly label: string;
  /** Which of the step's lines the bar is on: calls that ran at the same time have one each. */
  readonly lane: number;
};

export type WaterfallRow = { readonly row: StepRow; readonly bars: readonly Bar[]; readonly lanes: number };

export type Waterfall = { readonly axis: TimeAxis; readonly rows: readonly WaterfallRow[] };

/** Lines of a step at most; calls beyond share the last one. */
const mostLanes = 4;

/** @param traces of the steps, as far as they are loaded. Without one, a step has the bars that its row tells of */
export function waterfallOf(rows: readonly StepRow[], traces: ReadonlyMap<string, StepTrace>, now: number): Waterfall {
  const all = rows.map((row): WaterfallRow => {
    const trace = traces.get(row.key);
    const bars = inLanes(trace === undefined ? barsOfRow(row, now) : barsOfTrace(trace));
    return { row, bars, lanes: 1 + Math.max(0, ...bars.map(({ lane }) => lane)) };
  });
  const busy = all.flatMap(({ bars }) =>
    bars.flatMap(({ kind, from, to }) => (kind === "waiting" ? edgesOf(from, to) : [{ from, to }])),
  );
  return { axis: timeAxisOf(busy), rows: all };
}

type FreeBar = Omit<Bar, "lane">;

function barsOfRow(row: StepRow, now: number): readonly FreeBar[] {
  const tools = row.calls.map(({ name }) => name).join(", ");
  const isFailed = row.calls.some(isFailedCall);
  return staysOf(row, now).map(({ state, from, to }) => {
    if (state === "tools") return { kind: isFailed ? "failed" : "tool", label: tools, from, to };
    return state === "waiting"
      ? { kind: "waiting", label: "waits", from, to }
      : { kind: "model", label: "model", from, to };
  });
}

function barsOfTrace({ attempts, calls }: StepTrace): readonly FreeBar[] {
  const models = attempts.map(({ attempt, model, failure, startedAt, durationMs }): FreeBar => {
    const label = attempts.length > 1 ? `${model}, attempt ${attempt}` : model;
    return { kind: failure === undefined ? "model" : "failed", label, ...spanOf({ startedAt, durationMs }) };
  });
  const tools = calls.flatMap(({ name, outcome, ran, waits, failed = [] }): readonly FreeBar[] => [
    ...waits.map((wait): FreeBar => ({ kind: "waiting", label: `${name} waits`, ...spanOf(wait) })),
    ...failed.map((one): FreeBar => ({ kind: "failed", label: `${name}, attempt ${one.attempt}`, ...spanOf(one) })),
    ...(ran === undefined
      ? []
      : [
          { kind: outcome === "ok" || outcome === undefined ? "tool" : "failed", label: name, ...spanOf(ran) } as const,
        ]),
  ]);
  return [...models, ...tools];
}

function spanOf({ startedAt, durationMs }: { readonly startedAt: number; readonly durationMs: number }): Span {
  return { from: startedAt, to: startedAt + durationMs };
}

/** Bars that overlap are on different lines. */
function inLanes(bars: readonly FreeBar[]): readonly Bar[] {
  const ends: number[] = [];
  return bars
    .toSorted((a, b) => a.from - b.from)
    .map((bar) => {
      const free = ends.findIndex((end) => end <= bar.from);
      const lane = free === -1 ? Math.min(ends.length, mostLanes - 1) : free;
      ends[lane] = Math.max(ends[lane] ?? 0, bar.to);
      return { ...bar, lane };
    });
}

/** Rows that a waterfall shows at once. */
export const mostRows = 120;

/** The steps that were under way in a range of time, the newest ones if there are too many. */
export function rowsWithin(rows: readonly StepRow[], { from, to }: Span): readonly StepRow[] {
  return rows.filter(({ startedAt, ms }) => startedAt <= to && startedAt + ms >= from).slice(-mostRows);
}
