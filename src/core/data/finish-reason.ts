/** The finish reasons that come from outside: a provider, a recording, another library. */
import { type AssistantMessage, type FinishReason, openProviderCalls } from "./message.js";

const known: ReadonlySet<unknown> = new Set<FinishReason["unified"]>([
  "stop",
  "length",
  "content-filter",
  "tool-calls",
  "error",
  "other",
]);

/** The same reason; `other` if it is unknown. */
export function unifiedReason(reason: unknown): FinishReason["unified"] {
  return known.has(reason) ? (reason as FinishReason["unified"]) : "other";
}

/** Words of providers for an answer that is to be continued: Anthropic interrupts a long turn of its own tools. */
const pauses: ReadonlySet<unknown> = new Set(["pause_turn"]);

/** Whether the provider interrupted its turn. It goes on once it is sent the conversation again (FIN-9). */
export function isPaused({ raw }: FinishReason, message: AssistantMessage): boolean {
  return pauses.has(raw) || openProviderCalls(message).length > 0;
}
