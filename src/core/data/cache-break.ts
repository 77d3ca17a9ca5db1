/**
 * Why a provider could not read the previous call's request from its prompt cache.
 */

/**
 * The first difference from the previous call, in the order in which a provider reads a request. A compaction, a handoff
 * and a change of the model take precedence.
 *
 * - `tools`, `system_prompt`, `messages`: these changed.
 * - `compaction`, `handoff`: the conversation was summarized, or was handed to another agent.
 * - `model`: another model answered. It has its own cache.
 * - `tool_choice`, `settings`, `images`: the tool choice or the reasoning effort changed, or the first image was added, and the
 *   provider read less than before.
 * - `time`: the cache had expired.
 * - `unknown`: the provider read much less than it could, and the request gives no reason.
 */
export type CacheBreak =
  | "tools"
  | "system_prompt"
  | "messages"
  | "compaction"
  | "handoff"
  | "model"
  | "tool_choice"
  | "settings"
  | "images"
  | "time"
  | "unknown";

/** The reason as text for people: `the tools changed`. */
export function textOfCacheBreak(broke: CacheBreak): string {
  return reasons[broke];
}

const reasons: { readonly [Reason in CacheBreak]: string } = {
  tools: "the tools changed",
  system_prompt: "the system prompt changed",
  messages: "earlier messages changed",
  compaction: "the conversation was summarized",
  handoff: "another agent took over",
  model: "another model answered",
  tool_choice: "the tool choice changed",
  settings: "the reasoning effort changed",
  images: "the first image was added",
  time: "the cache entry had expired",
  unknown: "the provider no longer had the cache entry",
};

/** How a model call used its provider's prompt cache. */
export type CacheUsage = {
  /** Input tokens that were read from the cache. */
  readonly read: number;
  /** Input tokens that were written to the cache. */
  readonly written: number;
  /** How many tokens of the previous call could have been read. Absent if that is unknown, for example after a compaction. */
  readonly expected?: number;
  /** Why fewer were read. Absent if the cache held. */
  readonly broke?: CacheBreak;
};
