/**
 * The live list of a session's steps, one line each: the calls, the duration, and the model's input tokens.
 */
import { useMemo } from "preact/hooks";
import { formatCount, formatDuration, formatShortCount, toOneLine } from "../state/format.js";
import { formatMark, type Mark } from "../state/marks.js";
import type { SessionState } from "../state/session-state.js";
import type { StepFilter } from "../state/step-rows.js";
import {
  type Counts,
  countSteps,
  formatCalls,
  getStepSign,
  listTools,
  type TimelineLine,
  toLineId,
} from "../state/timeline.js";
import { Clock } from "./common.js";
import { useInspector } from "./hooks.js";
import { Icon, signOfStatus } from "./icons.js";
import { type RowGroup, WindowedList } from "./windowed-list.js";

/** The same value as in the style sheet. */
const rowHeight = 28;

export type StepListProps = {
  readonly session: SessionState;
  readonly lines: readonly TimelineLine[];
  readonly selected: number;
  /** Only steps that call this tool are shown; empty: all. */
  readonly tool: string;
  readonly onTool: (name: string) => void;
  readonly onSelect: (line: TimelineLine) => void;
};

export function StepList({ session, lines, selected, tool, onTool, onSelect }: StepListProps) {
  const counts = useMemo(() => countSteps(session.rows), [session.rows]);
  const tools = useMemo(() => listTools(session.rows), [session.rows]);
  const runs = useMemo(() => lines.flatMap(toRowGroup), [lines]);
  const positions = useMemo(() => listPositions(lines), [lines]);
  const isWriting = session.partial !== null;
  return (
    <section class="step-list" aria-label="Steps">
      <StepFilters session={session} counts={counts} tools={tools} tool={tool} onTool={onTool} />
      <WindowedList items={lines} groups={runs} rowHeight={rowHeight} label="Steps" selected={selected} toId={toLineId}>
        {(line, index) =>
          line.kind === "run" ? (
            <RunLine key={toLineId(line)} line={line} />
          ) : (
            <div
              key={toLineId(line)}
              id={toLineId(line)}
              role="option"
              tabIndex={-1}
              aria-selected={index === selected}
              aria-setsize={lines.length - runs.length}
              aria-posinset={positions[index]}
              class={`line ${line.kind}${index === selected ? " selected" : ""}`}
              onClick={() => onSelect(line)}
            >
              {line.kind === "mark" ? (
                <MarkLine mark={line.mark} />
              ) : (
                <StepLine line={line} isWriting={isWriting && index === lines.length - 1} />
              )}
            </div>
          )
        }
      </WindowedList>
      {!session.isIndexed && <p class="loading">Loading steps…</p>}
    </section>
  );
}

/** The position of each line among the selectable ones, from 1. Headings are not selectable. */
function listPositions(lines: readonly TimelineLine[]): readonly number[] {
  let position = 0;
  return lines.map(({ kind }) => (kind === "run" ? position : ++position));
}

type RunTimelineLine = Extract<TimelineLine, { readonly kind: "run" }>;

/** A run is a group of steps, named after its heading. */
function toRowGroup(line: TimelineLine, at: number): readonly RowGroup[] {
  if (line.kind !== "run") return [];
  const status = line.heading?.result?.status ?? "completed";
  return [{ at, label: status === "completed" ? formatRunTitle(line) : `${formatRunTitle(line)}, ${status}` }];
}

function formatRunTitle({ heading, runId }: RunTimelineLine): string {
  return heading === null ? `Run ${runId.slice(0, 8)}` : toOneLine(heading.text) || "Run";
}

/** The heading of a run. For assistive technology, its text is the name of the group. */
function RunLine({ line }: { readonly line: RunTimelineLine }) {
  const { heading, at } = line;
  const result = heading?.result ?? null;
  const queuedMs = heading === null || heading.queuedAt === null ? 0 : heading.at - heading.queuedAt;
  return (
    <div class="line run" id={toLineId(line)} aria-hidden="true">
      <span class="cut" dir="auto">
        {formatRunTitle(line)}
      </span>
      {result !== null && result.status !== "completed" && (
        <Icon sign={signOfStatus(result.status)} label={`${result.status}`} />
      )}
      <span class="num dim" title={queuedMs > 0 ? `Queued for ${formatDuration(queuedMs)}` : undefined}>
        <Clock at={at} isInList />
      </span>
    </div>
  );
}

function MarkLine({ mark }: { readonly mark: Mark }) {
  const { text, figure, tone } = formatMark(mark);
  return (
    <>
      <span class={tone === "plain" ? "cut" : `cut ${tone}`} dir="auto">
        {text}
      </span>
      <span class="num dim">{figure}</span>
    </>
  );
}

const signLabels = {
  running: "in progress",
  waiting: "waits",
  failed: "failed",
  retried: "an attempt failed",
  done: "done",
} as const;

function StepLine({
  line: { row },
  isWriting,
}: {
  readonly line: Extract<TimelineLine, { readonly kind: "step" }>;
  readonly isWriting: boolean;
}) {
  const sign = getStepSign(row);
  const isUnderWay = row.flags.includes("under_way");
  const text =
    row.calls.length > 0 ? formatCalls(row.calls) : isWriting ? "writing…" : isUnderWay ? "thinking…" : "answer";
  return (
    <>
      <span class="num dim index">{row.index}</span>
      <Icon sign={sign} label={signLabels[sign]} />
      <span class={row.calls.length > 0 ? "cut mono" : "cut dim"}>{text}</span>
      <span class="num right">{isUnderWay && sign !== "waiting" ? "" : formatDuration(row.ms)}</span>
      <span class="num right dim" title={`${formatCount(row.input)} tokens read by the model`}>
        {row.input === null ? "" : formatShortCount(row.input)}
      </span>
    </>
  );
}

function StepFilters({
  session: { id, filter },
  counts,
  tools,
  tool,
  onTool,
}: {
  readonly session: SessionState;
  readonly counts: Counts;
  readonly tools: readonly string[];
  readonly tool: string;
  readonly onTool: (name: string) => void;
}) {
  const inspector = useInspector();
  const setFilter = (newFilter: StepFilter) =>
    inspector.dispatch({ type: "session", id, action: { type: "filtered", filter: newFilter } });
  const filterChip = (name: StepFilter, label: string, count: number | null) =>
    (count === null || count > 0 || filter === name) && (
      <button type="button" class="chip" aria-pressed={filter === name} onClick={() => setFilter(name)} key={name}>
        {label}
        {count !== null && <span class="num">{count}</span>}
      </button>
    );
  return (
    <div class="step-filters">
      {filterChip("all", "All", null)}
      {filterChip("failed", "Failed", counts.failed)}
      {filterChip("waiting", "Waiting", counts.waiting)}
      {filterChip("retried", "Retried", counts.retried)}
      {filterChip("slow", "Slow", counts.slow)}
      {(tools.length > 1 || tool !== "") && (
        <select
          aria-label="Only steps that call this tool"
          value={tool}
          onChange={(event) => onTool(event.currentTarget.value)}
        >
          <option value="">All tools</option>
          {tools.map((name) => (
            <option value={name} key={name}>
              {name}
            </option>
          ))}
        </select>
      )}
    </div>
  );
}
