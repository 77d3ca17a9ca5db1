/**
 * Sentences about steps that could not read the step before from the provider's prompt cache, and what that cost.
 */
import { textOfCacheBreak } from "../../core/index.js";
import type { CacheBreak } from "../../index.js";
import type { CacheLoss } from "../../models/index.js";
import { dollars } from "../closing-line.js";
import { counted } from "../text.js";

/** For `/context`: the last break. */
export function lastBreakNote(step: number, loss: CacheLoss): string {
  const start = `The provider's cache last broke in step ${step} of its run: ${textOfCacheBreak(loss.broke)}.`;
  const price = priceText(sumOf([loss]));
  return price === null ? start : `${start} ${price}.`;
}

/** For `/cost`: all breaks of the session, the most frequent reasons first. Null if there were none. */
export function breaksNote(losses: readonly CacheLoss[]): string | null {
  if (losses.length === 0) return null;
  const counts = new Map<CacheBreak, number>();
  for (const { broke } of losses) counts.set(broke, (counts.get(broke) ?? 0) + 1);
  const named = [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([broke, count]) => `${textOfCacheBreak(broke)}${count === 1 ? "" : ` (${count} times)`}`);
  const price = priceText(sumOf(losses));
  return `The cache broke in ${counted(losses.length, "step")}: ${named.join(", ")}.${price === null ? "" : ` ${price}.`}`;
}

type Sum = { readonly tokens: number; readonly usd: number | null };

/** Losses of unknown size, as after a compaction, add nothing. */
function sumOf(losses: readonly CacheLoss[]): Sum {
  return losses.reduce<Sum>(
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

function priceText({ tokens, usd }: Sum): string | null {
  if (tokens === 0) return null;
  const what = tokens === 1 ? "1 token was" : `${tokens.toLocaleString("en-US")} tokens were`;
  return `${what} charged again${usd === null ? "" : `, for about ${dollars(usd)}`}`;
}
