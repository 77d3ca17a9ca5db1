/**
 * The steps of a session, one line each, live: what each called, how long it took, and how much the model read.
 */
import { useMemo } from "preact/hooks";
import { duration, oneLine, short, whole } from "../state/format.js";
import { type Mark, markText } from "../state/marks.js";
import type { SessionState } from "../state/session-state.js";
import type { StepFilter } from "../state/steps.js";
import {
  type Counts,
  callsText,
  countsOf,
  idOfLine,
  signOfStep,
  type TimelineLine,
  toolsIn,
} from "../state/timeline.js";
import { useInspector } from "./hooks.js";
import { Icon, signOfStatus } from "./icons.js";
import { Clock } from "./parts.js";
import { type RowGroup, WindowedList } from "./windowed-list.js";

/** As in the style sheet. */
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
  const counts = useMemo(() => countsOf(session.rows), [session.rows]);
  const tools = useMemo(() => toolsIn(session.rows), [session.rows]);
  const runs = useMemo(() => lines.flatMap(groupAt), [lines]);
  const places = useMemo(() => placesOf(lines), [lines]);
  const isWriting = session.partial !== null;
  return (
    <section class="step-list" aria-label="Steps">
      <StepFilters session={session} counts={counts} tools={tools} tool={tool} onTool={onTool} />
      <WindowedList items={lines} groups={runs} rowHeight={rowHeight} label="Steps" selected={selected} idOf={idOfLine}>
        {(line, index) =>
          line.kind === "run" ? (
            <RunLine key={idOfLine(line)} line={line} />
          ) : (
            <div
              key={idOfLine(line)}
              id={idOfLine(line)}
              role="option"
              tabIndex={-1}
              aria-selected={index === selected}
              aria-setsize={lines.length - runs.length}
              aria-posinset={places[index]}
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

/** The place of each line among those that can be chosen, from 1. A heading cannot. */
function placesOf(lines: readonly TimelineLine[]): readonly number[] {
  let place = 0;
  return lines.map(({ kind }) => (kind === "run" ? place : ++place));
}

type Run = Extract<TimelineLine, { readonly kind: "run" }>;

/** A run is a group of steps, named as its heading is. */
function groupAt(line: TimelineLine, at: number): readonly RowGroup[] {
  if (line.kind !== "run") return [];
  const status = line.head?.result?.status ?? "completed";
  return [{ at, label: status === "completed" ? titleOf(line) : `${titleOf(line)}, ${status}` }];
}

function titleOf({ head, runId }: Run): string {
  return head === null ? `Run ${runId.slice(0, 8)}` : oneLine(head.text) || "Run";
}

/** The heading of a run. Assistive technology has its text as the name of the group. */
function RunLine({ line }: { readonly line: Run }) {
  const { head, at } = line;
  const result = head?.result ?? null;
  const queued = head === null || head.queuedAt === null ? 0 : head.at - head.queuedAt;
  return (
    <div class="line run" id={idOfLine(line)} aria-hidden="true">
      <span class="cut" dir="auto">
        {titleOf(line)}
      </span>
      {result !== null && result.status !== "completed" && (
        <Icon sign={signOfStatus(result.status)} label={`${result.status}`} />
      )}
      <span class="num dim" title={queued > 0 ? `Queued for ${duration(queued)}` : undefined}>
        <Clock at={at} isInList />
      </span>
    </div>
  );
}

function MarkLine({ mark }: { readonly mark: Mark }) {
  const { text, figure, tone } = markText(mark);
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
  running: "under way",
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
  const sign = signOfStep(row);
  const isUnderWay = row.flags.includes("under_way");
  const text =
    row.calls.length > 0 ? callsText(row.calls) : isWriting ? "writing…" : isUnderWay ? "thinking…" : "answer";
  return (
    <>
      <span class="num dim index">{row.index}</span>
      <Icon sign={sign} label={signLabels[sign]} />
      <span class={row.calls.length > 0 ? "cut mono" : "cut dim"}>{text}</span>
      <span class="num right">{isUnderWay && sign !== "waiting" ? "" : duration(row.ms)}</span>
      <span class="num right dim" title={`${whole(row.input)} tokens read by the model`}>
        {row.input === null ? "" : short(row.input)}
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
  const choose = (chosen: StepFilter) =>
    inspector.dispatch({ type: "session", id, action: { type: "filtered", filter: chosen } });
  const one = (name: StepFilter, label: string, count: number | null) =>
    (count === null || count > 0 || filter === name) && (
      <button type="button" class="chip" aria-pressed={filter === name} onClick={() => choose(name)} key={name}>
        {label}
        {count !== null && <span class="num">{count}</span>}
      </button>
    );
  return (
    <div class="step-filters">
      {one("all", "All", null)}
      {one("failed", "Failed", counts.failed)}
      {one("waiting", "Waiting", counts.waiting)}
      {one("retried", "Retried", counts.retried)}
      {one("slow", "Slow", counts.slow)}
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
