/**
 * Whether a run has reached one of its limits.
 */
import type { Reason } from "../data/reasons.js";
import { sumReserved } from "./background-children.js";
import type { RunState } from "./state.js";

/** The maximum number of consecutive compactions without a model's answer in between (CTX-3). */
const maxInRow = 2;

/** Whether another compaction is allowed at this point of the run. */
export function isCompactionAllowed({ counters, limits, compactionsInRow }: RunState): boolean {
  return counters.compactionAttempts < limits.maxCompactions && compactionsInRow < maxInRow;
}

/** The limit that forbids another model call; undefined if there is none. */
export function findReachedLimit(run: RunState, at: number): Reason | undefined {
  const { limits, counters } = run;
  if (counters.errorCount >= limits.maxErrors) return "max_errors";
  const spent = findSpentBudget(run);
  if (spent !== undefined) return spent;
  if (isOutOfTime(run, at)) return "max_wall_clock";
  return counters.totalSteps >= limits.maxSteps ? "max_steps" : undefined;
}

/**
 * The budget that is used up; undefined if none is. It also forbids further attempts. What is reserved for children in the background
 * counts as used.
 */
export function findSpentBudget({ limits, usage, background }: RunState): Reason | undefined {
  if (limits.maxTokens !== undefined) {
    const used = (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0);
    if (used + sumReserved(background, "reservedTokens") >= limits.maxTokens) return "max_tokens";
  }
  if (limits.maxCostUsd === undefined) return undefined;
  const cost = (usage.costUsd ?? 0) + sumReserved(background, "reservedCostUsd");
  return cost >= limits.maxCostUsd ? "max_cost" : undefined;
}

/** When the run's time is up, in epoch milliseconds; undefined if it is not limited. */
export function computeDeadline({ limits, startedAt, waitedMs }: RunState): number | undefined {
  const { maxWallClockMs, wallClockIncludesWaiting } = limits;
  if (maxWallClockMs === undefined) return undefined;
  return startedAt + maxWallClockMs + (wallClockIncludesWaiting === true ? 0 : waitedMs);
}

export function isOutOfTime(run: RunState, at: number): boolean {
  const deadline = computeDeadline(run);
  return deadline !== undefined && at >= deadline;
}
