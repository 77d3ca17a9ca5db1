/**
 * Renders a trace as a waterfall: a line for each activity, with a bar that shows when it ran.
 *
 * A wait for a person may take days. It gets a fixed width, so that the other bars stay readable.
 */
import type {
  LoopTrace,
  TracedAttempt,
  TracedCall,
  TracedHook,
  TracedToolStep,
  TraceRecord,
  TraceSpan,
} from "../../inspect.js";
import { formatCount, formatDuration, sanitize, toOneLine, truncate, widthOf } from "../terminal/text.js";
import type { StyleText, TextStyle } from "../terminal/text-style.js";

type StepRecord = Extract<TraceRecord, { readonly type: "step" }>;
type Kind = "model" | "tool" | "step" | "hook" | "wait";
type Row = TraceSpan & {
  readonly kind: Kind;
  readonly label: string;
  readonly note: string;
  /** The activity failed. */
  readonly failed?: boolean;
  /** The call never ran, so the row has no bar. */
  readonly notRun?: true;
};
type Section = { readonly title: string; readonly rows: readonly Row[] };
type Layout = { readonly label: number; readonly bar: number; readonly figure: number; readonly note: number };

const kindStyles: {
  readonly [kind in Kind]: { readonly mark: string; readonly color: TextStyle; readonly noun: string };
} = {
  model: { mark: "█", color: "cyan", noun: "model" },
  tool: { mark: "▓", color: "green", noun: "tools" },
  step: { mark: "▒", color: "green", noun: "tool steps" },
  hook: { mark: "░", color: "yellow", noun: "hooks" },
  wait: { mark: "·", color: "dim", noun: "waiting" },
};
const waitWidth = 6;
/** Columns. */
const minBar = 12;

/** The lines of a run, on one time scale, and the total time of each kind of activity. */
export function renderWaterfall(run: LoopTrace, columns: number, style: StyleText): readonly string[] {
  const sections = run.flatMap(toSections);
  const rows = sections.flatMap((part) => part.rows);
  const layout = computeLayout(columns, rows);
  const toCell = createScale(rows, layout.bar);
  return [
    ...sections.flatMap(({ title, rows: sectionRows }) => [
      truncate(title, columns),
      ...sectionRows.map((row) => renderRow(row, toCell, layout, style)),
    ]),
    ...(rows.length === 0 ? [] : [formatTotals(rows, style)]),
  ];
}

function toSections(record: TraceRecord): readonly Section[] {
  switch (record.type) {
    case "run_started":
      return [];
    case "step": {
      const purpose = record.purpose === "step" ? "" : ` (${record.purpose})`;
      const open = record.underWay === true ? " · under way" : "";
      const title = `step ${record.modelCallIndex}${purpose} · ${formatCount(record.messages, "message")}${open}`;
      return [{ title, rows: toRows(record) }];
    }
    case "compaction": {
      const { tokensBefore = "?", tokensAfter = "?", fault } = record;
      const what = fault === undefined ? `${tokensBefore} to ${tokensAfter} tokens` : `failed: ${sanitize(fault)}`;
      return [{ title: `compaction · ${what}`, rows: record.hooks.map(toHookRow) }];
    }
    case "handoff": {
      const { from, to, messages } = record;
      const shown = messages === undefined ? "" : ` · ${formatCount(messages, "message")} left`;
      return [{ title: `handoff · ${sanitize(from)} to ${sanitize(to)}${shown}`, rows: [] }];
    }
    case "run_finished":
      return record.hooks.length === 0 ? [] : [{ title: "end", rows: record.hooks.map(toHookRow) }];
  }
}

/** The rows in time order. The steps of a call's attempt stay below the attempt. */
function toRows(record: StepRecord): readonly Row[] {
  const { attempts, calls, hooks, startedAt, durationMs, underWay } = record;
  const decidedAt = Math.max(startedAt, ...attempts.map(endOf));
  const openUntil = underWay === true ? startedAt + durationMs : null;
  const groups = [
    ...hooks.filter(hasTakenTime).map((hook) => [toHookRow(hook)]),
    ...attempts.flatMap(toAttemptRows).map((row) => [row]),
    ...calls.flatMap((call) => toCallGroups(call, decidedAt, openUntil)),
  ];
  const startOf = ([first]: readonly Row[]) => first?.startedAt ?? 0;
  return groups.sort((one, other) => startOf(one) - startOf(other)).flat();
}

/** A hook that had nothing to do, such as one whose matcher does not fit the call, takes no time and is not shown. */
function hasTakenTime({ outcome, durationMs }: TracedHook): boolean {
  return outcome !== "ok" || durationMs >= 1;
}

function toHookRow({ name, hook, outcome, message, startedAt, durationMs }: TracedHook): Row {
  const note = message === undefined ? outcome : `${outcome}: ${message}`;
  const failed = outcome !== "ok" && outcome !== "changed";
  return { kind: "hook", label: `${name} ${hook}`, note, failed, startedAt, durationMs };
}

function toAttemptRows(attempt: TracedAttempt): readonly Row[] {
  const { firstDeltaMs, failure, finishReason, usage = {}, startedAt, durationMs, retryInMs, resends } = attempt;
  const { inputTokens = "?", outputTokens } = usage;
  const facts = [
    ...(resends === undefined ? [] : [`sent again ${formatCount(resends, "time")}`]),
    ...(failure === undefined ? [finishReason?.unified ?? ""] : [`${failure.kind}: ${failure.message}`]),
    // A note that is too long is cut at its end.
    ...(outputTokens === undefined ? [] : [`${inputTokens} in ${outputTokens} out`]),
    ...(firstDeltaMs === undefined ? [] : [`first ${formatDuration(firstDeltaMs)}`]),
  ];
  const label = attempt.attempt > 1 ? `${attempt.model} (${attempt.attempt})` : attempt.model;
  const row: Row = {
    kind: "model",
    label,
    note: facts.join(", "),
    failed: failure !== undefined,
    startedAt,
    durationMs,
  };
  if (retryInMs === undefined) return [row];
  return [row, { kind: "wait", label, note: "before the next attempt", startedAt: endOf(row), durationMs: retryInMs }];
}

const waitReasons = {
  person: "for a person",
  external: "for its result",
  child: "for another agent",
  time: "asleep",
  signal: "for a signal",
} as const;

/** @param openUntil when the trace was made, if the step has not ended; otherwise null */
function toCallGroups(call: TracedCall, decidedAt: number, openUntil: number | null): readonly (readonly Row[])[] {
  const { name, outcome, ran, waits, steps = [], repair } = call;
  const failed = outcome !== undefined && outcome !== "ok";
  const repaired = repair === undefined ? "" : ", repaired";
  const waited = waits.map((wait): readonly Row[] => {
    const named = wait.by ?? wait.step;
    const by = named === undefined ? "" : ` (${named})`;
    const after = ran === undefined && wait === waits.at(-1) && outcome !== undefined ? `, then ${outcome}` : "";
    const { startedAt, durationMs } = wait;
    const note = `${waitReasons[wait.for]}${by}${after}`;
    return [{ kind: "wait", label: name, note, failed, startedAt, durationMs }];
  });
  const stepRows = steps.map(toStepRow);
  if (ran === undefined && waited.length === 0 && outcome !== undefined)
    return [
      [{ kind: "tool", label: name, note: `${outcome}${repaired}`, notRun: true, startedAt: decidedAt, durationMs: 0 }],
    ];
  if (ran === undefined) return [...waited, [...toOpenRows(call, decidedAt, openUntil), ...stepRows]];
  const again = ran.attempt > 1 ? ` (attempt ${ran.attempt})` : "";
  const { startedAt, durationMs } = ran;
  const isEarlier = (row: Row) => row.startedAt < startedAt;
  return [
    ...waited,
    ...toEarlierAttempts(call, stepRows.filter(isEarlier)),
    [
      { kind: "tool", label: name, note: `${outcome ?? "unknown"}${again}${repaired}`, failed, startedAt, durationMs },
      ...stepRows.filter((row) => !isEarlier(row)),
    ],
  ];
}

/** The row of a call without a result, from the time at which it could run. Empty if the call waits, or if the run ended first. */
function toOpenRows({ name, outcome, waits }: TracedCall, decidedAt: number, openUntil: number | null): readonly Row[] {
  const startedAt = Math.max(decidedAt, ...waits.map(endOf));
  if (outcome !== undefined || openUntil === null || (waits.length > 0 && startedAt >= openUntil)) return [];
  const durationMs = Math.max(0, openUntil - startedAt);
  return [{ kind: "tool", label: name, note: "no result yet", startedAt, durationMs }];
}

/**
 * The attempts before the last one. The log has no times for them, so they are taken from their steps. An attempt that slept, asked or
 * waited for a signal has ended with that wait; one without a wait after it was cut off.
 */
function toEarlierAttempts({ name, waits }: TracedCall, steps: readonly Row[]): readonly (readonly Row[])[] {
  const attempts = new Map<number, Row[]>();
  for (const step of steps) {
    const endedWaits = waits.filter((wait) => endOf(wait) <= step.startedAt).length;
    const own = attempts.get(endedWaits) ?? [];
    own.push(step);
    attempts.set(endedWaits, own);
  }
  return [...attempts].map(([endedWaits, own]) => {
    const startedAt = Math.min(...own.map((step) => step.startedAt));
    const durationMs = Math.max(...own.map(endOf)) - startedAt;
    const end = endedWaits < waits.length ? { note: "until it waited" } : { note: "cut off", failed: true };
    return [{ kind: "tool", label: name, ...end, startedAt, durationMs }, ...own];
  });
}

function toStepRow({ step, outcome, tries, message, startedAt, durationMs }: TracedToolStep): Row {
  const times = tries === undefined ? "" : ` (tried ${formatCount(tries, "time")})`;
  const note = `${message === undefined ? outcome : `${outcome}: ${message}`}${times}`;
  return { kind: "step", label: ` ${step}`, note, failed: outcome === "error", startedAt, durationMs };
}

function endOf({ startedAt, durationMs }: TraceSpan): number {
  return startedAt + durationMs;
}

function computeLayout(columns: number, rows: readonly Row[]): Layout {
  const figure = Math.max(0, ...rows.map((row) => formatDuration(row.durationMs).length));
  const room = Math.max(60, columns) - figure - 6;
  const label = Math.min(26, Math.floor(room * 0.22), Math.max(0, ...rows.map((row) => widthOf(sanitize(row.label)))));
  // The notes have the figures, so the bars get what the notes leave.
  const note = Math.min(44, room - label - minBar, Math.max(0, ...rows.map((row) => widthOf(toOneLine(row.note)))));
  return { label, bar: room - label - note, figure, note };
}

/** Maps a time to cells from the left. */
function createScale(rows: readonly Row[], width: number): (time: number) => number {
  const from = Math.min(...rows.map((row) => row.startedAt));
  const to = Math.max(...rows.map(endOf), from + 1);
  const waits = mergeIntervals(rows.filter((row) => row.kind === "wait"));
  const waited = waits.reduce((sum, wait) => sum + wait.durationMs, 0);
  const cellsPerWait = waits.length === 0 ? 0 : Math.min(waitWidth, width / 2 / waits.length);
  const perCell = Math.max(1, to - from - waited) / (width - waits.length * cellsPerWait);
  return (time) => {
    let cells = (time - from) / perCell;
    for (const wait of waits) {
      const elapsedInWait = Math.min(Math.max(0, time - wait.startedAt), wait.durationMs);
      cells += (elapsedInWait / Math.max(1, wait.durationMs)) * cellsPerWait - elapsedInWait / perCell;
    }
    return Math.min(width, Math.max(0, cells));
  };
}

/** Joins intervals that overlap. */
function mergeIntervals(intervals: readonly TraceSpan[]): readonly TraceSpan[] {
  const all: TraceSpan[] = [];
  for (const interval of [...intervals].sort((a, b) => a.startedAt - b.startedAt)) {
    const last = all.at(-1);
    if (last === undefined || interval.startedAt > endOf(last)) all.push(interval);
    else all[all.length - 1] = { ...last, durationMs: Math.max(endOf(last), endOf(interval)) - last.startedAt };
  }
  return all;
}

function renderRow(row: Row, toCell: (time: number) => number, layout: Layout, style: StyleText): string {
  const { mark, color } = kindStyles[row.kind];
  const start = Math.min(layout.bar - 1, Math.floor(toCell(row.startedAt)));
  const length = Math.max(1, Math.round(toCell(endOf(row)) - toCell(row.startedAt)));
  const bar = row.notRun === true ? "" : mark.repeat(Math.min(length, layout.bar - start));
  const after = " ".repeat(layout.bar - start - bar.length);
  const shown = `${" ".repeat(start)}${bar === "" ? "" : style(row.failed === true ? "red" : color, bar)}${after}`;
  const figure = row.notRun === true ? "" : formatDuration(row.durationMs);
  const label = padText(truncate(sanitize(row.label), layout.label), layout.label);
  return `  ${label} ${shown} ${figure.padStart(layout.figure)}  ${truncate(toOneLine(row.note), layout.note)}`.trimEnd();
}

function padText(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}

/** The total time of each kind of activity. Activities that ran in parallel count in full. */
function formatTotals(rows: readonly Row[], style: StyleText): string {
  const all = Object.entries(kindStyles).flatMap(([kind, { mark, color, noun }]) => {
    const ownRows = rows.filter((row) => row.kind === kind && row.notRun !== true);
    const total = ownRows.reduce((sum, row) => sum + row.durationMs, 0);
    return ownRows.length === 0 ? [] : [`${style(color, mark)} ${noun} ${formatDuration(total)}`];
  });
  return all.join("   ");
}
