/**
 * Reads the end of an AI SDK stream: its finish reason and its usage. Each of them may be absent.
 */
import { unifiedReason } from "../../core/data/finish-reason.js";
import { endedWithError, type FinishReason, type ModelFailure, type Usage } from "../../core/data/message.js";
import { cutShort, isObject, MalformedPart } from "./part.js";

export type Ending = { readonly finishReason: FinishReason; readonly failure?: ModelFailure };

/**
 * If the provider gave no reason, v4 reports `interrupted`, and v3 `other` without a raw reason. Both mean a cut
 * stream.
 */
export function endingOf(value: unknown): Ending {
  if (!isObject(value)) throw new MalformedPart("finish", "finishReason");
  const raw = typeof value.raw === "string" ? value.raw : undefined;
  const unified = knownWords(unifiedReason(value.unified), raw);
  const finishReason: FinishReason = { unified, ...(raw !== undefined && { raw }) };
  if (value.unified === "interrupted" || (unified === "other" && raw === undefined)) {
    return { finishReason, failure: cutShort };
  }
  if (unified !== "error") return { finishReason };
  return { finishReason, failure: { ...endedWithError, ...(raw !== undefined && { code: raw }) } };
}

/**
 * Words that servers with OpenAI's interface pass on from other interfaces, and that the client packages do not know. Without
 * them, calls of such an answer would not run.
 */
const words: { readonly [word: string]: "stop" | "tool-calls" } = {
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

function knownWords(unified: FinishReason["unified"], raw: string | undefined): FinishReason["unified"] {
  if (unified !== "other" || raw === undefined) return unified;
  const word = raw.toLowerCase();
  return Object.hasOwn(words, word) ? (words[word] ?? unified) : unified;
}

export function usageOf(value: unknown): Usage {
  if (!isObject(value)) return {};
  const input = isObject(value.inputTokens) ? value.inputTokens : {};
  const output = isObject(value.outputTokens) ? value.outputTokens : {};
  return {
    ...count("inputTokens", input.total),
    ...count("outputTokens", output.total),
    ...count("reasoningTokens", output.reasoning),
    ...count("cacheReadTokens", input.cacheRead),
    ...count("cacheWriteTokens", input.cacheWrite),
    ...count("cacheWrite1hTokens", writtenForAnHour(value.raw)),
  };
}

/** The AI SDK has no field for it, so it is read as Anthropic and Bedrock send it. Undefined if nothing was written so. */
function writtenForAnHour(raw: unknown): unknown {
  if (!isObject(raw)) return undefined;
  const { cache_creation: created, cacheDetails: details } = raw;
  if (isObject(created)) return created.ephemeral_1h_input_tokens || undefined;
  if (!Array.isArray(details)) return undefined;
  return details.find((detail) => isObject(detail) && detail.ttl === "1h")?.inputTokens;
}

function count<Key extends Exclude<keyof Usage, "partial">>(
  key: Key,
  value: unknown,
): { readonly [K in Key]?: number } {
  const known = typeof value === "number" && Number.isFinite(value) && value >= 0;
  return known ? ({ [key]: value } as { readonly [K in Key]: number }) : {};
}

export function hasCounts(usage: Usage): boolean {
  return Object.keys(usage).length > 0;
}
