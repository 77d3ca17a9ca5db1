/** Why a model stopped, as somebody else says it. */
import type { FinishReason } from "./message.js";

const known: ReadonlySet<unknown> = new Set<FinishReason["unified"]>([
  "stop",
  "length",
  "content-filter",
  "tool-calls",
  "error",
  "other",
]);

/** The reason as it was given; `other` where it is none that is known. */
export function unifiedReason(given: unknown): FinishReason["unified"] {
  return known.has(given) ? (given as FinishReason["unified"]) : "other";
}
