/**
 * Sentences about steps that could not read the previous step from the provider's prompt cache, and what that cost.
 */
import { type CacheBreak, textOfCacheBreak } from "../../../core/index.js";
import type { CacheLoss } from "../../../models/index.js";
import { formatNumber } from "../../../view/format-number.js";
import { formatDollars } from "../../render/format-closing-line.js";
import { formatCount } from "../../terminal/text.js";

/** For `/context`: the last break. */
export function formatLastBreak(step: number, loss: CacheLoss): string {
  const start = `The provider's cache last broke in step ${step} of its run: ${textOfCacheBreak(loss.broke)}.`;
  const price = formatLossPrice(sumLosses([loss]));
  return price === null ? start : `${start} ${price}.`;
}

/** For `/cost`: all breaks of the session, the most frequent reasons first. Null if there were none. */
export function formatBreaks(losses: readonly CacheLoss[]): string | null {
  if (losses.length === 0) return null;
  const counts = new Map<CacheBreak, number>();
  for (const { broke } of losses) counts.set(broke, (counts.get(broke) ?? 0) + 1);
  const reasonTexts = [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([broke, count]) => `${textOfCacheBreak(broke)}${count === 1 ? "" : ` (${count} times)`}`);
  const price = formatLossPrice(sumLosses(losses));
  return `The cache broke in ${formatCount(losses.length, "step")}: ${reasonTexts.join(", ")}.${price === null ? "" : ` ${price}.`}`;
}

type LossSum = { readonly tokens: number; readonly usd: number | null };

/** Losses of unknown size, as after a compaction, add nothing. */
function sumLosses(losses: readonly CacheLoss[]): LossSum {
  return losses.reduce<LossSum>(
    ({ tokens, usd }, loss) => {
      if (loss.tokens === undefined || loss.tokens === 0) return { tokens, usd };
      return { tokens: tokens + loss.tokens, usd: usd === null ? null : addCost(usd, loss.costUsd) };
    },
    { tokens: 0, usd: 0 },
  );
}

function addCost(sum: number, costUsd: number | undefined): number | null {
  return costUsd === undefined ? null : sum + costUsd;
}

function formatLossPrice({ tokens, usd }: LossSum): string | null {
  if (tokens === 0) return null;
  const tokensText = tokens === 1 ? "1 token was" : `${formatNumber(tokens)} tokens were`;
  return `${tokensText} charged again${usd === null ? "" : `, for about ${formatDollars(usd)}`}`;
}
