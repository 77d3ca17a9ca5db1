/**
 * The last line of a run: how it ended, its steps, tokens, cost and time.
 */
import { textOfEnd } from "../core/index.js";
import type { Reason, RunResult, Usage } from "../index.js";
import { type CacheSavings, noSavings, shareRead } from "./cache-savings.js";
import { shortId } from "./home.js";
import { counted, duration, oneLine, visible } from "./text.js";
import type { StyleText } from "./text-style.js";

/** The sentence that stands for the reason if the model gave no text. */
function fixedText(reason: Reason): string {
  return textOfEnd(reason);
}

/** For example `done · 3 steps · 1,204 tokens in, 88 out · $0.0126 · 4.1 s`. */
export function closingLine(
  result: RunResult,
  elapsedMs: number | null,
  style: StyleText,
  savings: CacheSavings = noSavings,
): string {
  const facts = [counted(result.steps, "step"), ...tokens(result.usage), ...cost(result.usage), ...saved(savings)];
  if (elapsedMs !== null) facts.push(duration(Math.max(0, elapsedMs)));
  facts.push(`session ${visible(shortId(result.sessionId))}`);
  const { colour, text } = ending(result);
  return `${style(colour, text)} ${style("dim", `· ${facts.join(" · ")}`)}`;
}

function ending(result: RunResult): { readonly colour: "green" | "yellow" | "red"; readonly text: string } {
  switch (result.status) {
    case "completed":
      return { colour: "green", text: completed(result) };
    case "failed":
      return { colour: "red", text: `failed (${result.reason}): ${oneLine(textOfEnd(result.reason, result.error))}` };
    case "aborted":
      return {
        colour: "yellow",
        text: result.reason === "aborted" ? "aborted" : `stopped (${result.reason}): ${fixedText(result.reason)}`,
      };
    case "awaiting_human":
      return { colour: "yellow", text: `waiting for ${counted(result.approvals.length, "answer")}` };
    case "interrupted": {
      const why = result.error === undefined ? "" : `: ${oneLine(result.error.message)}`;
      const lost = result.resumable ? "" : ". Nothing of the request was kept: run it again";
      return { colour: "yellow", text: `interrupted (${result.reason})${why}${lost}` };
    }
  }
}

function completed({ reason, condition }: Extract<RunResult, { readonly status: "completed" }>): string {
  if (reason === "stop_condition") return `stopped by ${visible(oneLine(condition ?? "a condition"))}`;
  return reason === "other" ? `done: ${fixedText("other")}` : "done";
}

function tokens({ inputTokens, outputTokens, cacheReadTokens = 0 }: Usage): readonly string[] {
  if (inputTokens === undefined && outputTokens === undefined) return [];
  const known = (count: number | undefined) => (count === undefined ? "?" : count.toLocaleString("en-US"));
  const share = shareRead({ input: inputTokens ?? 0, read: cacheReadTokens });
  const cached = share === null ? "" : ` (${share} cached)`;
  return [`${known(inputTokens)} tokens in${cached}, ${known(outputTokens)} out`];
}

function cost({ inputTokens, outputTokens, costUsd, partial }: Usage): readonly string[] {
  if (costUsd === undefined) return inputTokens === undefined && outputTokens === undefined ? [] : ["cost unknown"];
  return [partial === true ? `at least ${dollars(costUsd)}` : dollars(costUsd)];
}

/** Nothing where the cache saved nothing that a person would see. */
function saved({ usd }: CacheSavings): readonly string[] {
  return usd === null || usd < 0.0001 ? [] : [`the cache saved ${dollars(usd)}`];
}

export function dollars(amount: number): string {
  if (amount === 0) return "$0";
  return amount < 0.0001 ? "under $0.0001" : `$${amount.toFixed(amount < 1 ? 4 : 2)}`;
}
