/**
 * What cannot be promised, counted: how often a tool was started again, and how often nobody knows what became of its call.
 */
import type { PlayedCall } from "./calls.js";

export type Tally = {
  /** Starts after the first one of a call, by tool. */
  readonly repeated: Readonly<Record<string, number>>;
  /** Calls that ended `interrupted`, by tool. */
  readonly unknown: Readonly<Record<string, number>>;
};

/** Each tool that was called has its number, zero included. */
export function tallyOf(calls: Iterable<Pick<PlayedCall, "tool" | "starts" | "outcome">>): Tally {
  const repeated: Record<string, number> = {};
  const unknown: Record<string, number> = {};
  for (const { tool, starts, outcome } of calls) {
    repeated[tool] = (repeated[tool] ?? 0) + Math.max(0, starts - 1);
    unknown[tool] = (unknown[tool] ?? 0) + (outcome === "interrupted" ? 1 : 0);
  }
  return { repeated, unknown };
}

export function sumOf(tallies: Iterable<Tally>): Tally {
  const repeated: Record<string, number> = {};
  const unknown: Record<string, number> = {};
  for (const tally of tallies) {
    add(repeated, tally.repeated);
    add(unknown, tally.unknown);
  }
  return { repeated, unknown };
}

function add(sum: Record<string, number>, more: Tally["repeated"]): void {
  for (const [tool, count] of Object.entries(more)) sum[tool] = (sum[tool] ?? 0) + count;
}
