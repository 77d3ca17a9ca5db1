/**
 * Reads the end of an AI SDK stream: its finish reason and its usage. Each of them may be absent.
 */

import { toUnifiedReason } from "../../core/data/finish-reason.js";
import { isObject } from "../../core/data/is-object.js";
import { type FinishReason, type ModelFailure, providerErrorFailure, type Usage } from "../../core/data/message.js";
import { cutShortFailure, MalformedPartError } from "./part.js";

export type StreamEnding = { readonly finishReason: FinishReason; readonly failure?: ModelFailure };

/**
 * If the provider gave no reason, v4 reports `interrupted`, and v3 reports `other` without a raw reason. Both mean that the stream
 * was cut off.
 */
export function readEnding(value: unknown): StreamEnding {
  if (!isObject(value)) throw new MalformedPartError("finish", "finishReason");
  const raw = typeof value.raw === "string" ? value.raw : undefined;
  const unified = resolveReasonAlias(toUnifiedReason(value.unified), raw);
  const finishReason: FinishReason = { unified, ...(raw !== undefined && { raw }) };
  if (value.unified === "interrupted" || (unified === "other" && raw === undefined)) {
    return { finishReason, failure: cutShortFailure };
  }
  if (unified !== "error") return { finishReason };
  return { finishReason, failure: { ...providerErrorFailure, ...(raw !== undefined && { code: raw }) } };
}

/**
 * Finish reasons that servers with OpenAI's interface pass on from other APIs, and that the client packages do not know. Without
 * these aliases, the tool calls of such an answer would not run.
 */
const reasonAliases: { readonly [word: string]: "stop" | "tool-calls" } = {
  tool_use: "tool-calls",
  tool_call: "tool-calls",
  tool_calls: "tool-calls",
  function_call: "tool-calls",
  end_turn: "stop",
  stop_sequence: "stop",
  eos: "stop",
  eos_token: "stop",
  stop: "stop",
};

function resolveReasonAlias(unified: FinishReason["unified"], raw: string | undefined): FinishReason["unified"] {
  if (unified !== "other" || raw === undefined) return unified;
  const word = raw.toLowerCase();
  return Object.hasOwn(reasonAliases, word) ? (reasonAliases[word] ?? unified) : unified;
}

export function readUsage(value: unknown): Usage {
  if (!isObject(value)) return {};
  const input = isObject(value.inputTokens) ? value.inputTokens : {};
  const output = isObject(value.outputTokens) ? value.outputTokens : {};
  return {
    ...countField("inputTokens", input.total),
    ...countField("outputTokens", output.total),
    ...countField("reasoningTokens", output.reasoning),
    ...countField("cacheReadTokens", isCacheReported(value.raw, input.cacheRead) ? input.cacheRead : undefined),
    ...countField("cacheWriteTokens", input.cacheWrite),
    ...countField("cacheWrite1hTokens", readOneHourWrites(value.raw)),
  };
}

/**
 * Many servers that speak the API of chat completions have no prompt cache, and report no cached tokens. The AI SDK then gives 0 tokens as
 * read, which would count as a cache that broke in each call. The fields are those that its providers read.
 */
function isCacheReported(raw: unknown, read: unknown): boolean {
  if (read !== 0 || !isObject(raw) || raw.prompt_tokens === undefined) return true;
  const details = [raw.prompt_tokens_details, raw.prompt_token_details].map(
    (one) => isObject(one) && one.cached_tokens,
  );
  return [...details, raw.prompt_cache_hit_tokens, raw.num_cached_tokens].some((count) => typeof count === "number");
}

/** The AI SDK has no field for these tokens, so they are read from what Anthropic and Bedrock send. Undefined if there were none. */
function readOneHourWrites(raw: unknown): unknown {
  if (!isObject(raw)) return undefined;
  const { cache_creation: created, cacheDetails: details } = raw;
  if (isObject(created)) return created.ephemeral_1h_input_tokens || undefined;
  if (!Array.isArray(details)) return undefined;
  return details.find((detail) => isObject(detail) && detail.ttl === "1h")?.inputTokens;
}

function countField<Key extends Exclude<keyof Usage, "partial">>(
  key: Key,
  value: unknown,
): { readonly [K in Key]?: number } {
  const isCount = typeof value === "number" && Number.isFinite(value) && value >= 0;
  return isCount ? ({ [key]: value } as { readonly [K in Key]: number }) : {};
}

export function hasCounts(usage: Usage): boolean {
  return Object.keys(usage).length > 0;
}
