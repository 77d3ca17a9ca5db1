/** The finish reasons that come from outside: a provider, a recording, another library. */
import type { FinishReason } from "./message.js";

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
