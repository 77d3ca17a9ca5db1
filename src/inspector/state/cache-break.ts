/**
 * Describes a step that could not read the previous step from its provider's prompt cache.
 */
import { textOfCacheBreak } from "../../core/data/cache-break.js";
import { formatCost, formatCount } from "./format.js";
import type { StepTrace } from "./session-state.js";

/** Why the cache broke, and the cost. Null if it did not break, or if the provider was not asked to cache or does not report its cache. */
export function formatCacheBreak(trace: StepTrace | undefined): string | null {
  if (trace?.cacheLoss === undefined) return null;
  const { broke, tokens, costUsd } = trace.cacheLoss;
  const where = broke === "messages" ? `, from message ${trace.reused.messages + 1} on` : "";
  const reason = `The cache broke: ${textOfCacheBreak(broke)}${where}.`;
  if (tokens === undefined || tokens === 0) return reason;
  const charged = `${formatCount(tokens)} ${tokens === 1 ? "token was" : "tokens were"} charged again`;
  return `${reason} ${charged}${costUsd === undefined ? "" : `, for about ${formatCost(costUsd)}`}.`;
}
