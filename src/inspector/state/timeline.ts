/**
 * The lines of a session's timeline: its steps, the marks between them, and a heading for each run.
 */
import { formatCursor } from "../../stream/cursor.js";
import { hasOwnLine, type Mark } from "./marks.js";
import type { RunHeading, SessionState } from "./session-state.js";
import { type CallRow, isFailedCall, matchesFilter, type StepFilter, type StepRow } from "./step-rows.js";

export type TimelineLine =
  | { readonly kind: "run"; readonly runId: string; readonly at: number; readonly heading: RunHeading | null }
  | { readonly kind: "mark"; readonly mark: Mark }
  | { readonly kind: "step"; readonly row: StepRow };

/**
 * Headings and marks are omitted if only some steps are shown.
 * @param tool only steps that call this tool; empty: all
 */
export function createTimeline(
  { rows, runs, marks }: Pick<SessionState, "rows" | "runs" | "marks">,
  filter: StepFilter,
  tool: string,
): readonly TimelineLine[] {
  if (filter !== "all" || tool !== "")
    return rows.flatMap((row): readonly TimelineLine[] =>
      matchesFilter(row, filter) && (tool === "" || row.calls.some(({ name }) => name === tool))
        ? [{ kind: "step", row }]
        : [],
    );
  const lines: TimelineLine[] = [];
  let next = 0;
  /** Adds the marks before an entry. Returns whether a heading was among them. */
  const addMarksBefore = (seq: number): boolean => {
    let hasHeading = false;
    for (let mark = marks[next]; mark !== undefined && mark.seq < seq; mark = marks[next]) {
      next += 1;
      if (hasOwnLine(mark)) lines.push({ kind: "mark", mark });
      if (mark.type !== "run_started") continue;
      lines.push({ kind: "run", runId: mark.runId, at: mark.at, heading: runs.get(mark.runId) ?? null });
      hasHeading = true;
    }
    return hasHeading;
  };
  let runId: string | null = null;
  for (const row of rows) {
    const hasHeading = addMarksBefore(row.seq);
    // The start of the run is not loaded yet.
    if (row.runId !== runId && !hasHeading)
      lines.push({ kind: "run", runId: row.runId, at: row.startedAt, heading: runs.get(row.runId) ?? null });
    runId = row.runId;
    lines.push({ kind: "step", row });
  }
  addMarksBefore(Number.POSITIVE_INFINITY);
  return lines;
}

/** The tools that the steps called, in alphabetical order. */
export function listTools(rows: readonly StepRow[]): readonly string[] {
  const names = new Set<string>();
  for (const { calls } of rows) for (const { name } of calls) if (name !== "") names.add(name);
  return [...names].sort();
}

export function toLineId(line: TimelineLine): string {
  switch (line.kind) {
    case "run":
      return `run-${line.runId}`;
    case "mark":
      return `mark-${formatCursor(line.mark)}`;
    case "step":
      return `step-${line.row.key}`;
  }
}

/** The next selectable line in this direction; the same index if there is none. */
export function findNextLine(lines: readonly TimelineLine[], from: number, direction: 1 | -1): number {
  for (let at = from + direction; at >= 0 && at < lines.length; at += direction)
    if (lines[at]?.kind !== "run") return at;
  return from;
}

/** The next step in this direction from a line; the same index if there is none. */
export function findNextStep(
  lines: readonly TimelineLine[],
  from: number,
  direction: 1 | -1,
  predicate: (row: StepRow) => boolean = () => true,
): number {
  for (let at = from + direction; at >= 0 && at < lines.length; at += direction) {
    const line = lines[at];
    if (line?.kind === "step" && predicate(line.row)) return at;
  }
  return from;
}

export type Counts = {
  readonly failed: number;
  readonly waiting: number;
  readonly retried: number;
  readonly slow: number;
};

export function countSteps(rows: readonly StepRow[]): Counts {
  const count = (filter: StepFilter) => rows.reduce((sum, row) => sum + (matchesFilter(row, filter) ? 1 : 0), 0);
  return { failed: count("failed"), waiting: count("waiting"), retried: count("retried"), slow: count("slow") };
}

/** read_file ×3, shell */
export function formatCalls(calls: readonly CallRow[]): string {
  const counts = new Map<string, number>();
  for (const { name } of calls) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => (count === 1 ? name : `${name} ×${count}`)).join(", ");
}

export type StepSign = "running" | "waiting" | "failed" | "retried" | "done";

export function getStepSign(row: StepRow): StepSign {
  if (row.flags.includes("waits")) return "waiting";
  if (row.flags.includes("failed") || row.calls.some(isFailedCall)) return "failed";
  if (row.flags.includes("under_way")) return "running";
  return row.flags.includes("retried") ? "retried" : "done";
}
