/**
 * A session over time: a strip of its states, with long waits folded, and the waterfall of the selected range.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatClockSpan, formatDuration, formatExactTime } from "../state/format.js";
import type { SessionState } from "../state/session-state.js";
import { createStrip, type StripState } from "../state/state-strip.js";
import type { StepRow } from "../state/step-rows.js";
import type { Span, TimeAxis } from "../state/time-axis.js";
import { selectRowsWithin } from "../state/waterfall.js";
import { useInspector, useKeys, useNow } from "./hooks.js";
import { WaterfallRows } from "./waterfall-rows.js";

const stateLabels: { readonly [state in StripState]: string } = {
  model: "model",
  tools: "tools",
  waiting: "waits",
  queued: "queued",
};

/** The number of steps shown before and after the selected one, unless a range is selected. */
const stepsAround = 15;

export function TimePanel({
  session,
  step,
  onSelect,
}: {
  readonly session: SessionState;
  readonly step: string | undefined;
  readonly onSelect: (key: string) => void;
}) {
  const [isOpen, setIsOpen] = useState(false);
  const [range, setRange] = useState<Span | null>(null);
  const isUnderWay = session.rows.at(-1)?.flags.includes("under_way") === true;
  const now = useNow(isUnderWay ? 1_000 : 60_000);
  const { rows, runs } = session;
  // While the session is active, the strip is computed once a second, so that thousands of steps are not processed for each event.
  const strip = useMemo(() => createStrip({ rows, runs }, now), [rows.length, session.isIndexed, isUnderWay ? now : 0]);
  const visibleRows = useMemo(() => selectRows(rows, step, range), [rows, step, range]);
  useKeys({ w: () => setIsOpen(!isOpen) });
  useTraces(session, isOpen ? visibleRows : []);
  const visibleSpan = toSpan(visibleRows);
  const selected = rows.find(({ key }) => key === step);
  return (
    <section class={isOpen ? "time-panel open" : "time-panel"} aria-label="Time">
      <div class="time-bar">
        <button
          type="button"
          class="quiet"
          aria-expanded={isOpen}
          onClick={() => setIsOpen(!isOpen)}
          title="Waterfall (w)"
        >
          <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span> Waterfall
        </button>
        <StripView
          axis={strip.axis}
          pieces={strip.pieces}
          failures={strip.failures}
          range={isOpen ? visibleSpan : null}
          at={selected === undefined ? null : selected.startedAt}
          onRange={(chosen) => {
            setRange(chosen);
            setIsOpen(true);
          }}
        />
        <Legend />
      </div>
      {isOpen && (
        <>
          <RangeLine
            visibleRows={visibleRows}
            visibleSpan={visibleSpan}
            onReset={range === null ? null : () => setRange(null)}
          />
          <WaterfallRows rows={visibleRows} traces={session.traces} now={now} selected={step} onSelect={onSelect} />
        </>
      )}
    </section>
  );
}

function RangeLine({
  visibleRows,
  visibleSpan,
  onReset,
}: {
  readonly visibleRows: readonly StepRow[];
  readonly visibleSpan: Span | null;
  readonly onReset: (() => void) | null;
}) {
  return (
    <p class="range-line dim">
      {visibleSpan === null ? (
        "No steps in this range."
      ) : (
        <span class="num">
          {visibleRows.length === 1 ? "1 step" : `${visibleRows.length} steps`},{" "}
          {formatClockSpan(visibleSpan.from, visibleSpan.to).join(" to ")},{" "}
          {formatDuration(visibleSpan.to - visibleSpan.from)}
        </span>
      )}
      {onReset !== null && (
        <button type="button" class="quiet" onClick={onReset}>
          Around this step
        </button>
      )}
    </p>
  );
}

function selectRows(rows: readonly StepRow[], step: string | undefined, range: Span | null): readonly StepRow[] {
  if (range !== null) return selectRowsWithin(rows, range);
  const at = rows.findIndex(({ key }) => key === step);
  return at === -1 ? rows.slice(-2 * stepsAround) : rows.slice(Math.max(0, at - stepsAround), at + stepsAround + 1);
}

function toSpan(rows: readonly StepRow[]): Span | null {
  const first = rows[0];
  return first === undefined
    ? null
    : { from: first.startedAt, to: Math.max(...rows.map(({ startedAt, ms }) => startedAt + ms)) };
}

/** Loads the traces of the shown steps, when the range has stopped changing. */
function useTraces(session: SessionState, rows: readonly StepRow[]): void {
  const inspector = useInspector();
  const [first, last] = [rows[0]?.key, rows.at(-1)?.key];
  useEffect(() => {
    if (rows.length === 0 || !session.hasNewest) return;
    const timer = setTimeout(() => inspector.loadTraces(rows), 200);
    return () => clearTimeout(timer);
  }, [first, last, rows.length, session.hasNewest]);
}

function Legend() {
  return (
    <p class="legend dim" aria-hidden="true">
      {(["model", "tools", "waiting"] as const).map((state) => (
        <span key={state}>
          <i class={state} />
          {stateLabels[state]}
        </span>
      ))}
    </p>
  );
}

type StripViewProps = ReturnType<typeof createStrip> & {
  readonly range: Span | null;
  readonly at: number | null;
  readonly onRange: (range: Span) => void;
};

/** The fraction of the strip by which an arrow key moves an end of the range. */
const keyStep = 0.01;

function StripView({ axis, pieces, failures, range, at, onRange }: StripViewProps) {
  const box = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<readonly [from: number, to: number] | null>(null);
  const toFraction = (event: PointerEvent) => {
    const { left = 0, width = 1 } = box.current?.getBoundingClientRect() ?? {};
    return Math.min(1, Math.max(0, (event.clientX - left) / width));
  };
  const end = (event: PointerEvent) => {
    if (drag === null) return;
    const [from, to] = [drag[0], toFraction(event)].sort((a, b) => a - b) as [number, number];
    setDrag(null);
    // A click selects a small range around it.
    const [first, last] = to - from < 0.004 ? [from - 0.01, to + 0.01] : [from, to];
    onRange({ from: axis.time(Math.max(0, first)), to: axis.time(Math.min(1, last)) });
  };
  const chosen = drag ?? (range === null ? null : [axis.position(range.from), axis.position(range.to)]);
  return (
    <div
      class="strip"
      ref={box}
      role="group"
      aria-label="States of the session over time. Drag over it to choose a range."
      onPointerDown={(event) => {
        box.current?.setPointerCapture(event.pointerId);
        const fraction = toFraction(event);
        setDrag([fraction, fraction]);
      }}
      onPointerMove={(event) => drag !== null && setDrag([drag[0], toFraction(event)])}
      onPointerUp={end}
      onPointerCancel={() => setDrag(null)}
    >
      <StripPieces axis={axis} pieces={pieces} failures={failures} at={at} />
      {chosen !== null && <ChosenRange from={chosen[0] ?? 0} to={chosen[1] ?? 1} axis={axis} onRange={onRange} />}
    </div>
  );
}

function StripPieces({ axis, pieces, failures, at }: Pick<StripViewProps, "axis" | "pieces" | "failures" | "at">) {
  return (
    <svg viewBox="0 0 1000 20" preserveAspectRatio="none" aria-hidden="true">
      {pieces.map(({ state, start, end }) => (
        <rect key={start} class={state} x={start * 1000} width={(end - start) * 1000} y="3" height="14" />
      ))}
      {axis.stretches.map(
        ({ isFolded, start, end, from, to }) =>
          isFolded && (
            <rect key={`fold ${start}`} class="fold" x={start * 1000} width={(end - start) * 1000} y="0" height="20">
              <title>{`${formatDuration(to - from)} are folded`}</title>
            </rect>
          ),
      )}
      {failures.map((fraction) => (
        <rect key={`failed ${fraction}`} class="failure" x={fraction * 1000 - 0.8} width="1.6" y="0" height="3" />
      ))}
      {at !== null && <rect class="here" x={axis.position(at) * 1000 - 0.6} width="1.2" y="0" height="20" />}
    </svg>
  );
}

/** The selected range; arrow keys move its ends. */
function ChosenRange({
  from,
  to,
  axis,
  onRange,
}: {
  readonly from: number;
  readonly to: number;
  readonly axis: TimeAxis;
  readonly onRange: (range: Span) => void;
}) {
  const [start, end] = from < to ? [from, to] : [to, from];
  const move = (which: "start" | "end") => (event: KeyboardEvent) => {
    const by = event.key === "ArrowRight" ? keyStep : event.key === "ArrowLeft" ? -keyStep : 0;
    if (by === 0) return;
    event.preventDefault();
    event.stopPropagation();
    const [first, last] = which === "start" ? [Math.min(end, start + by), end] : [start, Math.max(start, end + by)];
    onRange({ from: axis.time(Math.max(0, first)), to: axis.time(Math.min(1, last)) });
  };
  const handle = (which: "start" | "end", fraction: number, label: string) => (
    <div
      class="handle"
      style={{ left: `${fraction * 100}%` }}
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(fraction * 100)}
      aria-valuetext={formatExactTime(axis.time(fraction))}
      onKeyDown={move(which)}
    />
  );
  return (
    <>
      <div class="chosen" style={{ left: `${start * 100}%`, width: `${(end - start) * 100}%` }} />
      {handle("start", start, "Start of the range")}
      {handle("end", end, "End of the range")}
    </>
  );
}
