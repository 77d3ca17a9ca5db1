/**
 * Whether, in this process, a model's requests ask for the provider's prompt cache. Some gateways speak a provider's format but do
 * not support its cache: after such a refusal, requests are sent without cache options.
 */
import type { ModelRequest } from "../../ports/model.js";
import type { PromptCache } from "../../ports/prompt-cache.js";
import type { CacheDialect } from "./prompt-cache.js";
import { isRefusalOf } from "./refused-request.js";

export type CacheState = {
  readonly chooseLifetime: (request: Pick<ModelRequest, "promptCache">) => ModelRequest["promptCache"] | "usual";
  /** Returns true if the request was refused because of its cache options. Later requests are sent without them. */
  readonly recordRefusal: (request: Pick<ModelRequest, "promptCache">, error: unknown) => boolean;
  readonly warnings: () => readonly string[];
};

/** @param ownChoice the model's own choice, which takes precedence over its agent's */
export function createCacheState(dialect: CacheDialect | null, ownChoice: PromptCache | undefined): CacheState {
  let isRefused = false;
  const chooseLifetime: CacheState["chooseLifetime"] = ({ promptCache }) => {
    if (isRefused) return "off";
    if (ownChoice === undefined || ownChoice === "auto") return promptCache;
    return ownChoice === "5m" ? "usual" : ownChoice;
  };
  return {
    chooseLifetime,
    recordRefusal(request, error) {
      if (dialect === null || chooseLifetime(request) === "off" || !isRefusalOf(error, cacheOptionPattern))
        return false;
      isRefused = true;
      return true;
    },
    warnings: () => (isRefused ? refusedWarnings : noWarnings),
  };
}

const noWarnings: readonly string[] = [];
const refusedWarnings: readonly string[] = [
  'promptCache: the provider refused a request because of its cache options, so this process no longer sends any; set promptCache to "off" to send none from the start',
];

const cacheOptionPattern = /cache_?(?:control|point)|prompt_?cache_?key/i;
