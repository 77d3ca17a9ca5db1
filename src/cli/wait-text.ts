/**
 * Describes what a run waits for, other than people: `asleep until 2026-12-01 14:02`, `waiting for the signal order-7-paid`.
 */
import type { RunWait } from "../index.js";
import { formatCount, sanitize } from "./terminal/text.js";

/** @param waits at least one */
export function formatWaits(waits: readonly RunWait[]): string {
  const [first, ...others] = [...waits].sort((a, b) => (a.until ?? Number.MAX_VALUE) - (b.until ?? Number.MAX_VALUE));
  const text = first === undefined ? "waiting" : formatWait(first);
  return others.length === 0 ? text : `${text} and ${formatCount(others.length, "other wait")}`;
}

export function formatWait(wait: Pick<RunWait, "on" | "until"> & { readonly key?: string }): string {
  const end = wait.until === undefined ? "" : ` until ${formatLocalTime(wait.until)}`;
  switch (wait.on) {
    case "time":
      return `asleep${end}`;
    case "signal":
      return `waiting for the signal ${sanitize(wait.key ?? "")}${end}`;
    case "child":
      return `a subagent is asleep${end}`;
  }
}

/** `2026-12-01 14:02`, in the time zone of this machine. */
export function formatLocalTime(at: number): string {
  const date = new Date(at);
  const two = (number: number) => String(number).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}
