/**
 * The rows of a waterfall: a line for each step, with its bars on the time axis. A click selects the step.
 */
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { formatClockSpan, formatDuration } from "../state/format.js";
import type { SessionState } from "../state/session-state.js";
import type { StepRow } from "../state/step-rows.js";
import type { TimeAxis } from "../state/time-axis.js";
import { formatCalls } from "../state/timeline.js";
import { type Bar, createWaterfall, type WaterfallRow } from "../state/waterfall.js";

export type WaterfallRowsProps = {
  readonly rows: readonly StepRow[];
  readonly traces: SessionState["traces"];
  readonly now: number;
  readonly selected: string | undefined;
  readonly onSelect: (key: string) => void;
};

/** The height of one lane. */
const laneHeight = 7;

export function WaterfallRows({ rows, traces, now, selected, onSelect }: WaterfallRowsProps) {
  const box = useRef<HTMLOListElement>(null);
  const isOpen = rows.at(-1)?.flags.includes("under_way") === true;
  const { axis, rows: lines } = useMemo(() => createWaterfall(rows, traces, now), [rows, traces, isOpen ? now : 0]);
  useLayoutEffect(() => {
    box.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }, [selected]);
  return (
    <div class="waterfall">
      <AxisLine axis={axis} />
      <ol ref={box}>
        {lines.map((line) => (
          <WaterfallLine
            key={line.row.key}
            line={line}
            axis={axis}
            isSelected={line.row.key === selected}
            onSelect={() => onSelect(line.row.key)}
          />
        ))}
      </ol>
    </div>
  );
}

function WaterfallLine({
  line: { row, bars, lanes },
  axis,
  isSelected,
  onSelect,
}: {
  readonly line: WaterfallRow;
  readonly axis: TimeAxis;
  readonly isSelected: boolean;
  readonly onSelect: () => void;
}) {
  const name = row.calls.length === 0 ? "answer" : formatCalls(row.calls);
  return (
    <li>
      <button
        type="button"
        class={isSelected ? "fall-line selected" : "fall-line"}
        aria-current={isSelected ? "step" : undefined}
        aria-label={`Step ${row.index}: ${bars.map((bar) => `${bar.label} ${formatLength(bar)}`).join(", ")}`}
        onClick={onSelect}
      >
        <span class="num dim">{row.index}</span>
        <span class="cut mono">{name}</span>
        <span class="bars" style={{ height: `${lanes * laneHeight + 5}px` }}>
          {bars.map((bar) => (
            <BarView bar={bar} axis={axis} key={`${bar.kind} ${bar.from} ${bar.lane} ${bar.label}`} />
          ))}
        </span>
        <span class="num right dim">{formatDuration(row.ms)}</span>
      </button>
    </li>
  );
}

function formatLength({ from, to }: Bar): string {
  return formatDuration(to - from);
}

function BarView({ bar, axis }: { readonly bar: Bar; readonly axis: TimeAxis }) {
  const { kind, label, lane, from, to } = bar;
  const [start, end] = [axis.position(from), axis.position(to)];
  return (
    <span
      class={`bar ${kind}`}
      title={`${label}: ${formatLength(bar)}`}
      style={{ left: `${start * 100}%`, width: `${(end - start) * 100}%`, top: `${lane * laneHeight + 3}px` }}
    />
  );
}

/** The times at the edges, and the duration of each fold. */
function AxisLine({ axis: { stretches } }: { readonly axis: TimeAxis }) {
  const [first, last] = [stretches[0], stretches.at(-1)];
  if (first === undefined || last === undefined) return null;
  const [from, to] = formatClockSpan(first.from, last.to);
  const folds = stretches.filter(({ isFolded }) => isFolded);
  return (
    <div class="axis dim num" aria-hidden="true">
      <div>
        <span>{from}</span>
        {folds.length <= 6 &&
          folds.map(({ start, end, from, to }) => (
            <span class="folded" key={start} style={{ left: `${((start + end) / 2) * 100}%` }}>
              {formatDuration(to - from)} folded
            </span>
          ))}
        <span>{to}</span>
      </div>
    </div>
  );
}
