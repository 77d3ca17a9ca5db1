/**
 * Interprets finish reasons from outside: from a provider, a recording or another library.
 */
import {
  type AssistantMessage,
  type FinishReason,
  findOpenProviderCalls,
  toolCallsOf,
  untrimmedTextOf,
} from "./message.js";

const knownReasons: ReadonlySet<unknown> = new Set<FinishReason["unified"]>([
  "stop",
  "length",
  "content-filter",
  "tool-calls",
  "error",
  "other",
]);

/** Returns the reason itself if it is known, and `other` otherwise. */
export function toUnifiedReason(reason: unknown): FinishReason["unified"] {
  return knownReasons.has(reason) ? (reason as FinishReason["unified"]) : "other";
}

/** Raw finish reasons of an answer that is to be continued. Anthropic interrupts long turns that use its own tools. */
const pauseReasons: ReadonlySet<unknown> = new Set(["pause_turn"]);

/**
 * How an answer ended, where its finish reason alone would mislead:
 *
 * - `complete`: the provider's turn is over, although a call that the provider ran has no result.
 * - `unclear`: the finish reason is unknown, so the calls of the answer are not run.
 */
export type MessageEnding = "complete" | "unclear";

/** How an answer ended, for the log. Undefined if the finish reason says enough. */
export function classifyEnding({ unified, raw }: FinishReason, message: AssistantMessage): MessageEnding | undefined {
  if (pauseReasons.has(raw)) return undefined;
  if (unified === "other") return toolCallsOf(message).length > 0 ? "unclear" : undefined;
  if (unified !== "stop" || findOpenProviderCalls(message).length === 0) return undefined;
  return untrimmedTextOf(message).trim() === "" ? undefined : "complete";
}

/**
 * Whether the provider interrupted its turn. It continues when it is sent the conversation again (FIN-9).
 * @param ending also undefined in logs of 0.1, where every provider call without a result was a pause
 */
export function isPaused({ raw }: FinishReason, message: AssistantMessage, ending: MessageEnding | undefined): boolean {
  return pauseReasons.has(raw) || (ending !== "complete" && findOpenProviderCalls(message).length > 0);
}
