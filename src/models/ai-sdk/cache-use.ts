/**
 * Whether a model's requests ask for the provider's prompt cache, in this process. Some gateways speak a provider's format
 * but do not know its cache: after such a refusal, requests are sent without cache options.
 */
import type { ModelRequest } from "../../ports/model.js";
import type { PromptCache } from "../../ports/prompt-cache.js";
import type { CacheDialect } from "./prompt-cache.js";
import { isRefusalOf } from "./refused-request.js";

export type CacheUse = {
  readonly lifetimeFor: (request: Pick<ModelRequest, "promptCache">) => ModelRequest["promptCache"] | "usual";
  /** Returns true if the request was refused because of its cache options. Later requests have none. */
  readonly noteRefusal: (request: Pick<ModelRequest, "promptCache">, error: unknown) => boolean;
  readonly warnings: () => readonly string[];
};

/** @param choice the model's own choice, which takes precedence over its agent's */
export function createCacheUse(dialect: CacheDialect | null, choice: PromptCache | undefined): CacheUse {
  let isRefused = false;
  const lifetimeFor: CacheUse["lifetimeFor"] = ({ promptCache }) => {
    if (isRefused) return "off";
    if (choice === undefined || choice === "auto") return promptCache;
    return choice === "5m" ? "usual" : choice;
  };
  return {
    lifetimeFor,
    noteRefusal(request, error) {
      if (dialect === null || lifetimeFor(request) === "off" || !isRefusalOf(error, cacheOptions)) return false;
      isRefused = true;
      return true;
    },
    warnings: () => (isRefused ? refused : none),
  };
}

const none: readonly string[] = [];
const refused: readonly string[] = [
  'promptCache: the provider refused a request because of its cache options, so this process no longer sends any; set promptCache to "off" to send none from the start',
];

const cacheOptions = /cache_?(?:control|point)|prompt_?cache_?key/i;
