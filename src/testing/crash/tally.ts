/**
 * Counts what Pawl cannot prevent: how many times a tool was started again, and how many calls have an unknown outcome.
 */
import type { PlayedCall } from "./calls.js";

export type Tally = {
  /** By tool, how many times a call was started again. */
  readonly repeated: Readonly<Record<string, number>>;
  /** By tool, how many calls ended as `interrupted`. */
  readonly unknown: Readonly<Record<string, number>>;
};

/** Every called tool has an entry, even if the count is zero. */
export function createTally(calls: Iterable<Pick<PlayedCall, "tool" | "starts" | "outcome">>): Tally {
  const repeated: Record<string, number> = {};
  const unknown: Record<string, number> = {};
  for (const { tool, starts, outcome } of calls) {
    repeated[tool] = (repeated[tool] ?? 0) + Math.max(0, starts - 1);
    unknown[tool] = (unknown[tool] ?? 0) + (outcome === "interrupted" ? 1 : 0);
  }
  return { repeated, unknown };
}

export function sumTallies(tallies: Iterable<Tally>): Tally {
  const repeated: Record<string, number> = {};
  const unknown: Record<string, number> = {};
  for (const tally of tallies) {
    add(repeated, tally.repeated);
    add(unknown, tally.unknown);
  }
  return { repeated, unknown };
}

function add(sum: Record<string, number>, counts: Tally["repeated"]): void {
  for (const [tool, count] of Object.entries(counts)) sum[tool] = (sum[tool] ?? 0) + count;
}
