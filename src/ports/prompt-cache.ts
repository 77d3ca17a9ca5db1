/**
 * How an agent uses its providers' prompt caches.
 */

/**
 * When an agent's providers are asked to cache prompts. Providers with a prompt cache charge less for the beginning of a request if it
 * repeats an earlier request.
 *
 * - `"auto"`: the provider's usual lifetime (5 minutes with Claude). An hour, if the provider offers it, once a session has paused twice
 *   since its last compaction, each time for more than 5 minutes and less than an hour.
 * - `"5m"`: always the provider's usual lifetime.
 * - `"1h"`: an hour, if the provider offers it. Writes cost more, so this pays off in sessions that pause.
 * - `"off"`: the provider is not asked to cache. Providers that cache without being asked still do.
 */
export type PromptCache = "auto" | "5m" | "1h" | "off";

export const promptCacheModes: readonly PromptCache[] = ["auto", "5m", "1h", "off"];
