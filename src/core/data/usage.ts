/**
 * Sums the usage of model calls.
 */
import { deepFreeze } from "./freeze.js";
import type { Usage } from "./message.js";

/**
 * The usage with its cost rounded to a billionth of a dollar, because further digits are artefacts of binary fractions. For usage that is
 * shown or returned. The state of a session keeps exact sums, like the logs of earlier versions.
 */
export function roundCost(usage: Usage): Usage {
  const { costUsd } = usage;
  if (costUsd === undefined) return usage;
  const rounded = Math.round(costUsd * 1e9) / 1e9;
  return rounded === costUsd ? usage : { ...usage, costUsd: rounded };
}

/** The sum of two usages, with the cost rounded to 1e-9 dollars. A count that is absent in both stays absent. */
export function addUsage(a: Usage, b: Usage): Usage {
  return roundCost(addUsageUnrounded(a, b));
}

/** Like `addUsage`, without rounding: a fold of the log must add as every earlier version did. */
export function addUsageUnrounded(a: Usage, b: Usage): Usage {
  const sum: { -readonly [K in keyof Usage]: Usage[K] } = {};
  for (const key of usageFields) {
    const left = a[key];
    const right = b[key];
    if (left !== undefined || right !== undefined) sum[key] = (left ?? 0) + (right ?? 0);
  }
  const hasCost = a.costUsd !== undefined || b.costUsd !== undefined;
  if (a.partial === true || b.partial === true || (hasCost && (lacksCost(a) || lacksCost(b)))) sum.partial = true;
  return sum;
}

function lacksCost(usage: Usage): boolean {
  return usage.costUsd === undefined && (usage.inputTokens !== undefined || usage.outputTokens !== undefined);
}

/** The counts of a usage. Each may be unknown. */
export const usageFields = deepFreeze([
  "inputTokens",
  "outputTokens",
  "reasoningTokens",
  "cacheReadTokens",
  "cacheWriteTokens",
  "cacheWrite1hTokens",
  "costUsd",
] as const);
