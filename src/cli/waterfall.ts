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
} from "../index.js";
import { counted, cut, duration, oneLine, visible, widthOf } from "./text.js";
import type { StyleText, TextStyle } from "./text-style.js";

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
type Part = { readonly title: string; readonly rows: readonly Row[] };
type Layout = { readonly label: number; readonly bar: number; readonly figure: number; readonly note: number };

const kinds: { readonly [kind in Kind]: { readonly mark: string; readonly colour: TextStyle; readonly noun: string } } =
  {
    model: { mark: "█", colour: "cyan", noun: "model" },
    tool: { mark: "▓", colour: "green", noun: "tools" },
    step: { mark: "▒", colour: "green", noun: "tool steps" },
    hook: { mark: "░", colour: "yellow", noun: "hooks" },
    wait: { mark: "·", colour: "dim", noun: "waiting" },
  };
const waitWidth = 6;

/** The lines of a run, on one time scale, and the total time of each kind of activity. */
export function waterfall(run: LoopTrace, columns: number, style: StyleText): readonly string[] {
  const parts = run.flatMap(partsOf);
  const rows = parts.flatMap((part) => part.rows);
  const layout = layoutOf(columns, rows);
  const place = createScale(rows, layout.bar);
  return [
    ...parts.flatMap(({ title, rows: own }) => [
      cut(title, columns),
      ...own.map((row) => line(row, place, layout, style)),
    ]),
    ...(rows.length === 0 ? [] : [totals(rows, style)]),
  ];
}

function partsOf(record: TraceRecord): readonly Part[] {
  switch (record.type) {
    case "run_started":
      return [];
    case "step": {
      const purpose = record.purpose === "step" ? "" : ` (${record.purpose})`;
      const open = record.underWay === true ? " · under way" : "";
      const title = `step ${record.modelCallIndex}${purpose} · ${counted(record.messages, "message")}${open}`;
      return [{ title, rows: rowsOf(record) }];
    }
    case "compaction": {
      const { tokensBefore = "?", tokensAfter = "?", fault } = record;
      const what = fault === undefined ? `${tokensBefore} to ${tokensAfter} tokens` : `failed: ${visible(fault)}`;
      return [{ title: `compaction · ${what}`, rows: record.hooks.map(hookRow) }];
    }
    case "handoff": {
      const { from, to, messages } = record;
      const shown = messages === undefined ? "" : ` · ${counted(messages, "message")} left`;
      return [{ title: `handoff · ${visible(from)} to ${visible(to)}${shown}`, rows: [] }];
    }
    case "run_finished":
      return record.hooks.length === 0 ? [] : [{ title: "end", rows: record.hooks.map(hookRow) }];
  }
}

function rowsOf({ attempts, calls, hooks, startedAt }: StepRecord): readonly Row[] {
  const decidedAt = Math.max(startedAt, ...attempts.map(endOf));
  const rows = [
    ...hooks.map(hookRow),
    ...attempts.flatMap(attemptRows),
    ...calls.flatMap((call) => callRows(call, decidedAt)),
  ];
  return rows.sort((a, b) => a.startedAt - b.startedAt);
}

function hookRow({ name, hook, outcome, message, startedAt, durationMs }: TracedHook): Row {
  const note = message === undefined ? outcome : `${outcome}: ${message}`;
  const failed = outcome !== "ok" && outcome !== "changed";
  return { kind: "hook", label: `${name} ${hook}`, note, failed, startedAt, durationMs };
}

function attemptRows(attempt: TracedAttempt): readonly Row[] {
  const { firstDeltaMs, failure, finishReason, usage = {}, startedAt, durationMs, retryInMs, resends } = attempt;
  const { inputTokens = "?", outputTokens } = usage;
  const facts = [
    ...(resends === undefined ? [] : [`sent again ${counted(resends, "time")}`]),
    ...(failure === undefined ? [finishReason?.unified ?? ""] : [`${failure.kind}: ${failure.message}`]),
    ...(firstDeltaMs === undefined ? [] : [`first ${duration(firstDeltaMs)}`]),
    ...(outputTokens === undefined ? [] : [`${inputTokens} in ${outputTokens} out`]),
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

const waitedFor = { person: "for a person", external: "for its result", child: "for another agent" } as const;

function callRows({ name, outcome, ran, waits, steps = [], repair }: TracedCall, decidedAt: number): readonly Row[] {
  const failed = outcome !== undefined && outcome !== "ok";
  const repaired = repair === undefined ? "" : ", repaired";
  const waited = waits.map((wait): Row => {
    const by = wait.by === undefined ? "" : ` (${wait.by})`;
    const after = ran === undefined && wait === waits.at(-1) && outcome !== undefined ? `, then ${outcome}` : "";
    const { startedAt, durationMs } = wait;
    return { kind: "wait", label: name, note: `${waitedFor[wait.for]}${by}${after}`, failed, startedAt, durationMs };
  });
  if (ran === undefined && waited.length === 0 && outcome !== undefined)
    return [
      { kind: "tool", label: name, note: `${outcome}${repaired}`, notRun: true, startedAt: decidedAt, durationMs: 0 },
    ];
  if (ran === undefined) return [...waited, ...steps.map(stepRow)];
  const again = ran.attempt > 1 ? ` (attempt ${ran.attempt})` : "";
  const { startedAt, durationMs } = ran;
  return [
    ...waited,
    { kind: "tool", label: name, note: `${outcome ?? "unknown"}${again}${repaired}`, failed, startedAt, durationMs },
    ...steps.map(stepRow),
  ];
}

function stepRow({ step, outcome, tries, message, startedAt, durationMs }: TracedToolStep): Row {
  const times = tries === undefined ? "" : ` (tried ${counted(tries, "time")})`;
  const note = `${message === undefined ? outcome : `${outcome}: ${message}`}${times}`;
  return { kind: "step", label: ` ${step}`, note, failed: outcome === "error", startedAt, durationMs };
}

function endOf({ startedAt, durationMs }: TraceSpan): number {
  return startedAt + durationMs;
}

function layoutOf(columns: number, rows: readonly Row[]): Layout {
  const figure = Math.max(0, ...rows.map((row) => duration(row.durationMs).length));
  const room = Math.max(60, columns) - figure - 6;
  const label = Math.min(26, Math.floor(room * 0.22));
  const note = Math.min(44, Math.floor(room * 0.48));
  return { label, bar: room - label - note, figure, note };
}

/** Maps a time to cells from the left. */
function createScale(rows: readonly Row[], width: number): (time: number) => number {
  const from = Math.min(...rows.map((row) => row.startedAt));
  const to = Math.max(...rows.map(endOf), from + 1);
  const waits = merged(rows.filter((row) => row.kind === "wait"));
  const waited = waits.reduce((sum, wait) => sum + wait.durationMs, 0);
  const cellsOfWait = waits.length === 0 ? 0 : Math.min(waitWidth, width / 2 / waits.length);
  const perCell = Math.max(1, to - from - waited) / (width - waits.length * cellsOfWait);
  return (time) => {
    let cells = (time - from) / perCell;
    for (const wait of waits) {
      const within = Math.min(Math.max(0, time - wait.startedAt), wait.durationMs);
      cells += (within / Math.max(1, wait.durationMs)) * cellsOfWait - within / perCell;
    }
    return Math.min(width, Math.max(0, cells));
  };
}

/** Joins intervals that overlap. */
function merged(intervals: readonly TraceSpan[]): readonly TraceSpan[] {
  const all: TraceSpan[] = [];
  for (const interval of [...intervals].sort((a, b) => a.startedAt - b.startedAt)) {
    const last = all.at(-1);
    if (last === undefined || interval.startedAt > endOf(last)) all.push(interval);
    else all[all.length - 1] = { ...last, durationMs: Math.max(endOf(last), endOf(interval)) - last.startedAt };
  }
  return all;
}

function line(row: Row, place: (time: number) => number, layout: Layout, style: StyleText): string {
  const { mark, colour } = kinds[row.kind];
  const start = Math.min(layout.bar - 1, Math.floor(place(row.startedAt)));
  const length = Math.max(1, Math.round(place(endOf(row)) - place(row.startedAt)));
  const bar = row.notRun === true ? "" : mark.repeat(Math.min(length, layout.bar - start));
  const after = " ".repeat(layout.bar - start - bar.length);
  const shown = `${" ".repeat(start)}${bar === "" ? "" : style(row.failed === true ? "red" : colour, bar)}${after}`;
  const figure = row.notRun === true ? "" : duration(row.durationMs);
  const label = padded(cut(visible(row.label), layout.label), layout.label);
  return `  ${label} ${shown} ${figure.padStart(layout.figure)}  ${cut(oneLine(row.note), layout.note)}`.trimEnd();
}

function padded(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}

/** The total time of each kind of activity. Activities that ran in parallel count in full. */
function totals(rows: readonly Row[], style: StyleText): string {
  const all = Object.entries(kinds).flatMap(([kind, { mark, colour, noun }]) => {
    const own = rows.filter((row) => row.kind === kind && row.notRun !== true);
    const total = own.reduce((sum, row) => sum + row.durationMs, 0);
    return own.length === 0 ? [] : [`${style(colour, mark)} ${noun} ${duration(total)}`];
  });
  return all.join("   ");
}
