/**
 * The last line of a run: how it ended, its steps, tokens, cost and time.
 */
import { textOfEnd } from "../../core/index.js";
import type { RunResult, Usage } from "../../index.js";
import { formatNumber } from "../../view/format-number.js";
import { shortId } from "../files/session-store.js";
import { formatCount, formatDuration, sanitize, toOneLine } from "../terminal/text.js";
import type { StyleText } from "../terminal/text-style.js";
import { formatWaits } from "../wait-text.js";
import { type CacheSavings, formatCacheShare, noSavings } from "./cache-savings.js";

/** For example `done · 3 steps · 1,204 tokens in, 88 out · $0.0126 · 4.1 s`. */
export function formatClosingLine(
  result: RunResult,
  elapsedMs: number | null,
  style: StyleText,
  savings: CacheSavings = noSavings,
): string {
  const facts = [
    formatCount(result.steps, "step"),
    ...formatTokens(result.usage),
    ...formatCost(result.usage),
    ...formatSavings(savings),
  ];
  if (elapsedMs !== null) facts.push(formatDuration(Math.max(0, elapsedMs)));
  facts.push(`session ${sanitize(shortId(result.sessionId))}`);
  const { color, text } = describeEnding(result);
  return `${style(color, text)} ${style("dim", `· ${facts.join(" · ")}`)}`;
}

function describeEnding(result: RunResult): { readonly color: "green" | "yellow" | "red"; readonly text: string } {
  switch (result.status) {
    case "completed":
      return { color: "green", text: describeCompletion(result) };
    case "failed":
      return { color: "red", text: `failed (${result.reason}): ${toOneLine(textOfEnd(result.reason, result.error))}` };
    case "aborted":
      return {
        color: "yellow",
        text: result.reason === "aborted" ? "aborted" : `stopped (${result.reason}): ${textOfEnd(result.reason)}`,
      };
    case "awaiting_human":
      return { color: "yellow", text: `waiting for ${formatCount(result.approvals.length, "answer")}` };
    case "waiting":
      return { color: "yellow", text: formatWaits(result.waits) };
    case "interrupted": {
      const why = result.error === undefined ? "" : `: ${toOneLine(result.error.message)}`;
      const lossNote = result.resumable ? "" : ". Nothing of the request was kept: run it again";
      return { color: "yellow", text: `interrupted (${result.reason})${why}${lossNote}` };
    }
  }
}

function describeCompletion({ reason, condition }: Extract<RunResult, { readonly status: "completed" }>): string {
  if (reason === "stop_condition") return `stopped by ${sanitize(toOneLine(condition ?? "a condition"))}`;
  return reason === "other" ? `done: ${textOfEnd("other")}` : "done";
}

function formatTokens({ inputTokens, outputTokens, cacheReadTokens = 0 }: Usage): readonly string[] {
  if (inputTokens === undefined && outputTokens === undefined) return [];
  const formatTokenCount = (count: number | undefined) => (count === undefined ? "?" : formatNumber(count));
  const share = formatCacheShare({ input: inputTokens ?? 0, read: cacheReadTokens });
  const cached = share === null ? "" : ` (${share} cached)`;
  return [`${formatTokenCount(inputTokens)} tokens in${cached}, ${formatTokenCount(outputTokens)} out`];
}

function formatCost({ inputTokens, outputTokens, costUsd, partial }: Usage): readonly string[] {
  if (costUsd === undefined) return inputTokens === undefined && outputTokens === undefined ? [] : ["cost unknown"];
  return [partial === true ? `at least ${formatDollars(costUsd)}` : formatDollars(costUsd)];
}

/** Empty if the savings are too small to show. */
function formatSavings({ usd }: CacheSavings): readonly string[] {
  return usd === null || usd < 0.0001 ? [] : [`the cache saved ${formatDollars(usd)}`];
}

export function formatDollars(amount: number): string {
  if (amount === 0) return "$0";
  return amount < 0.0001 ? "under $0.0001" : `$${amount.toFixed(amount < 1 ? 4 : 2)}`;
}
