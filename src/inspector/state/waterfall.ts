/**
 * The bars of a waterfall: for each step its attempts, its calls and its waits, on a time axis.
 */
import type { StepTrace } from "./session-state.js";
import { listStateSpans, toEdges } from "./state-strip.js";
import { isFailedCall, type StepRow } from "./step-rows.js";
import { createTimeAxis, type Span, type TimeAxis } from "./time-axis.js";

export type BarKind = "model" | "failed" | "tool" | "waiting";

export type Bar = Span & {
  readonly kind: BarKind;
  readonly label: string;
  /** The lane of the bar within its step: calls that run at the same time have different lanes. */
  readonly lane: number;
};

export type WaterfallRow = { readonly row: StepRow; readonly bars: readonly Bar[]; readonly lanes: number };

export type Waterfall = { readonly axis: TimeAxis; readonly rows: readonly WaterfallRow[] };

/** The maximum number of lanes of a step; further calls share the last one. */
const maxLanes = 4;

/** @param traces the loaded traces of steps. Without a trace, the bars of a step are derived from its row. */
export function createWaterfall(
  rows: readonly StepRow[],
  traces: ReadonlyMap<string, StepTrace>,
  now: number,
): Waterfall {
  const waterfallRows = rows.map((row): WaterfallRow => {
    const trace = traces.get(row.key);
    const bars = assignLanes(trace === undefined ? toRowBars(row, now) : toTraceBars(trace));
    return { row, bars, lanes: 1 + Math.max(0, ...bars.map(({ lane }) => lane)) };
  });
  const busy = waterfallRows.flatMap(({ bars }) =>
    bars.flatMap(({ kind, from, to }) => (kind === "waiting" ? toEdges(from, to) : [{ from, to }])),
  );
  return { axis: createTimeAxis(busy), rows: waterfallRows };
}

type UnplacedBar = Omit<Bar, "lane">;

function toRowBars(row: StepRow, now: number): readonly UnplacedBar[] {
  const tools = row.calls.map(({ name }) => name).join(", ");
  const isFailed = row.calls.some(isFailedCall);
  return listStateSpans(row, now).map(({ state, from, to }) => {
    if (state === "tools") return { kind: isFailed ? "failed" : "tool", label: tools, from, to };
    return state === "waiting"
      ? { kind: "waiting", label: "waits", from, to }
      : { kind: "model", label: "model", from, to };
  });
}

function toTraceBars({ attempts, calls }: StepTrace): readonly UnplacedBar[] {
  const models = attempts.map(({ attempt, model, failure, startedAt, durationMs }): UnplacedBar => {
    const label = attempts.length > 1 ? `${model}, attempt ${attempt}` : model;
    return { kind: failure === undefined ? "model" : "failed", label, ...toSpan({ startedAt, durationMs }) };
  });
  const tools = calls.flatMap(({ name, outcome, ran, waits, failed = [] }): readonly UnplacedBar[] => [
    ...waits.map((wait): UnplacedBar => ({ kind: "waiting", label: `${name} waits`, ...toSpan(wait) })),
    ...failed.map(
      (failedAttempt): UnplacedBar => ({
        kind: "failed",
        label: `${name}, attempt ${failedAttempt.attempt}`,
        ...toSpan(failedAttempt),
      }),
    ),
    ...(ran === undefined
      ? []
      : [
          { kind: outcome === "ok" || outcome === undefined ? "tool" : "failed", label: name, ...toSpan(ran) } as const,
        ]),
  ]);
  return [...models, ...tools];
}

function toSpan({ startedAt, durationMs }: { readonly startedAt: number; readonly durationMs: number }): Span {
  return { from: startedAt, to: startedAt + durationMs };
}

/** Assigns overlapping bars to different lanes. */
function assignLanes(bars: readonly UnplacedBar[]): readonly Bar[] {
  const laneEnds: number[] = [];
  return bars
    .toSorted((a, b) => a.from - b.from)
    .map((bar) => {
      const freeLane = laneEnds.findIndex((end) => end <= bar.from);
      const lane = freeLane === -1 ? Math.min(laneEnds.length, maxLanes - 1) : freeLane;
      laneEnds[lane] = Math.max(laneEnds[lane] ?? 0, bar.to);
      return { ...bar, lane };
    });
}

/** The maximum number of rows in a waterfall. */
export const maxRows = 120;

/** The steps that were in progress in a time range; if there are too many, the newest ones. */
export function selectRowsWithin(rows: readonly StepRow[], { from, to }: Span): readonly StepRow[] {
  return rows.filter(({ startedAt, ms }) => startedAt <= to && startedAt + ms >= from).slice(-maxRows);
}
