/**
 * Formats numbers and times. Unknown values are shown as unknown, never as 0.
 */
import { formatNumber } from "../../view/format-number.js";

export const unknownMark = "–";

/** 840 ms, 1.2 s, 4 min 10 s, 2 h 5 min. */
export function formatDuration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return unknownMark;
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return joinUnits(Math.floor(seconds / 60), "min", seconds % 60, "s");
  const minutes = Math.round(seconds / 60);
  if (minutes < 1_440) return joinUnits(Math.floor(minutes / 60), "h", minutes % 60, "min");
  const hours = Math.round(minutes / 60);
  return joinUnits(Math.floor(hours / 24), "d", hours % 24, "h");
}

function joinUnits(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}

/** How long ago: now, 12 s, 4 min, 3 h, 2 d, then the date. */
export function formatAge(at: number, now: number): string {
  const seconds = Math.floor((now - at) / 1_000);
  if (seconds < 5) return "now";
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h`;
  if (seconds < 30 * 86_400) return `${Math.floor(seconds / 86_400)} d`;
  return new Date(at).toISOString().slice(0, 10);
}

/** How long ago, for use in a sentence: now, 12 s ago, on 2026-11-25. */
export function formatAgo(at: number, now: number): string {
  const text = formatAge(at, now);
  if (text === "now") return text;
  return text.includes("-") ? `on ${text}` : `${text} ago`;
}

/** The exact time, in the reader's time zone. */
export function formatExactTime(at: number): string {
  const date = new Date(at);
  const padTwo = (value: number) => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${padTwo(date.getMonth() + 1)}-${padTwo(date.getDate())}`;
  const ms = String(date.getMilliseconds()).padStart(3, "0");
  return `${day} ${padTwo(date.getHours())}:${padTwo(date.getMinutes())}:${padTwo(date.getSeconds())}.${ms}`;
}

export function formatClockTime(at: number): string {
  return formatExactTime(at).slice(11, 19);
}

/** The times of day at the ends of a span; with milliseconds if seconds would not distinguish them. */
export function formatClockSpan(from: number, to: number): readonly [from: string, to: string] {
  const end = to - from < 10_000 ? 23 : 19;
  return [formatExactTime(from).slice(11, end), formatExactTime(to).slice(11, end)];
}

/** 999, 8.4k, 120k, 1.2M. */
export function formatShortCount(count: number | null | undefined): string {
  if (count === null || count === undefined) return unknownMark;
  if (count < 1_000) return String(count);
  if (count < 99_950) return `${(count / 1_000).toFixed(1)}k`;
  if (count < 999_500) return `${Math.round(count / 1_000)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

/** 8,412 */
export function formatCount(count: number | null | undefined): string {
  return count === null || count === undefined ? unknownMark : formatNumber(count);
}

/** In US dollars. Costs below a cent keep two significant digits. */
export function formatCost(usd: number | null | undefined, isPartial = false): string {
  if (usd === null || usd === undefined) return unknownMark;
  const text = usd === 0 || usd >= 0.01 ? usd.toFixed(2) : usd < 0.0001 ? usd.toExponential(1) : usd.toFixed(4);
  return `${isPartial ? "≥ " : ""}$${text}`;
}

export function formatBytes(count: number): string {
  if (count < 1_024) return `${count} B`;
  if (count < 1_024 * 1_024) return `${(count / 1_024).toFixed(1)} KiB`;
  return `${(count / 1_024 / 1_024).toFixed(1)} MiB`;
}

/** Collapses text to one line of at most `maxCharacters`. */
export function toOneLine(text: string, maxCharacters = 200): string {
  const line = text
    .slice(0, maxCharacters * 4)
    .replace(/\s+/g, " ")
    .trim();
  return line.length > maxCharacters ? `${line.slice(0, maxCharacters - 1)}…` : line;
}

const statusLabels: { readonly [status: string]: string } = {
  idle: "idle",
  preparing: "preparing",
  model_running: "model running",
  tool_running: "tool running",
  awaiting_human: "waits for a person",
  completed: "completed",
  failed: "failed",
  aborted: "aborted",
  interrupted: "interrupted",
};

/** `sleeps until 2026-12-01 14:02`, `waits for order-7-paid`. */
export function formatWait({ on, until, key }: WaitFields): string {
  const end = until === undefined ? "" : ` until ${formatExactTime(until).slice(0, 16)}`;
  if (on === "time") return `sleeps${end}`;
  return on === "signal" ? `waits for ${key ?? "a signal"}${end}` : `its child sleeps${end}`;
}

type WaitFields = { readonly on: string; readonly until?: number; readonly key?: string };

/** The status to show: a run in progress that no living process drives was interrupted. */
export function resolveShownStatus({
  status,
  activity,
  isHeld,
}: {
  readonly status: string;
  readonly activity: string;
  readonly isHeld: boolean;
}): string {
  return activity === "active" && !isHeld ? "interrupted" : status;
}

export function formatStatus(status: string): string {
  return statusLabels[status] ?? status;
}
