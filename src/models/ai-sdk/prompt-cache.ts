/**
 * Asks a provider to cache the beginning of a request.
 *
 * 1. The marks follow from the request alone. A retry, another process, and a fork mark the same positions, so they
 *    read what was cached before.
 * 2. A provider writes its cache at a mark, and looks for an earlier entry a limited number of blocks before each mark. So
 *    the end of the conversation is marked, and also the message that ended the request before.
 * 3. There are at most four marks, all with the same lifetime: providers refuse a fifth mark, and lifetimes that grow.
 * 4. If an author marks anything in the request, Pawl adds no marks.
 * 5. A write costs more than plain input, so a request that no other request is likely to continue does not mark its
 *    messages.
 */
import { isObject } from "../../core/data/is-object.js";
import type { ProviderMetadata } from "../../core/data/message.js";
import { sha256 } from "../../platform/hash.js";
import type { ModelRequest } from "../../ports/model.js";
import type { CallOptions, PromptMessage, PromptTool, ProviderTool } from "./call-options.js";
import type { LanguageModel } from "./language-model.js";

/** How a request asks a provider to cache. */
export type CacheDialect =
  /** Marks on the request's tools, system prompt and messages. */
  | {
      readonly type: "marks";
      /** Whether tools can carry a mark. Otherwise the mark on the system prompt covers the tools, which come before it. */
      readonly onTools: boolean;
      readonly usual: ProviderMetadata;
      readonly oneHour: ProviderMetadata;
    }
  /** A key that sends requests with the same beginning to the same machine. */
  | { readonly type: "key"; readonly provider: string }
  /** A gateway that places the marks itself. */
  | { readonly type: "gateway" };

/**
 * Returns null if the provider caches without being asked, or not at all. The options are those documented by the providers'
 * packages, by `provider` and model id.
 */
export function findCacheDialect({
  provider,
  modelId,
}: Pick<LanguageModel, "provider" | "modelId">): CacheDialect | null {
  const isClaude = /claude/i.test(modelId);
  // Vertex ("googleVertex.anthropic.messages") and Bedrock's Messages API ("bedrock.anthropic.messages") use the same code.
  if (/(^|\.)anthropic(\.|$)/.test(provider)) return createMarks("anthropic", "cacheControl", "ephemeral", true);
  if (provider === "amazon-bedrock") return isClaude ? createMarks("bedrock", "cachePoint", "default", false) : null;
  if (/^openrouter(\.|$)/.test(provider))
    return isClaude ? createMarks("openrouter", "cacheControl", "ephemeral", false) : null;
  if (/^(openai|azure)\.(responses|chat)$/.test(provider)) return { type: "key", provider: "openai" };
  if (provider === "xai.responses") return { type: "key", provider: "xai" };
  return provider === "gateway" ? { type: "gateway" } : null;
}

function createMarks(provider: string, name: string, type: string, onTools: boolean): CacheDialect {
  return {
    type: "marks",
    onTools,
    usual: { [provider]: { [name]: { type } } },
    oneHour: { [provider]: { [name]: { type, ttl: "1h" } } },
  };
}

/** Whether an author's options ask for caching themselves. */
export function hasCacheOptions(options: ProviderMetadata | undefined): boolean {
  if (options === undefined) return false;
  for (const own of Object.values(options)) {
    if (isObject(own) && cacheOptionNames.some((name) => name in own)) return true;
  }
  return false;
}

const cacheOptionNames = ["cacheControl", "cache_control", "cachePoint", "promptCacheBreakpoint"];

export type CacheRequest = {
  readonly dialect: CacheDialect;
  readonly lifetime: ModelRequest["promptCache"] | "usual";
  readonly sessionId: string;
  /** Whether the author has set cache options on a message or part. */
  readonly isMarked: boolean;
};

/** Adds the options that make the provider cache. `prompt` must not be shared with other requests: it is modified. */
export function addPromptCache(
  options: CallOptions & { readonly prompt: PromptMessage[] },
  { dialect, lifetime, sessionId, isMarked }: CacheRequest,
): CallOptions {
  if (lifetime === "off") return options;
  const { prompt, tools, providerOptions } = options;
  switch (dialect.type) {
    case "key":
      return {
        ...options,
        providerOptions: addDefaultOptions(providerOptions, dialect.provider, {
          promptCacheKey: createCacheKey(sessionId),
        }),
      };
    case "gateway":
      return { ...options, providerOptions: addDefaultOptions(providerOptions, "gateway", { caching: "auto" }) };
    case "marks": {
      if (isMarked || hasCacheOptions(providerOptions) || tools?.some(hasAuthorMark)) return options;
      const mark = lifetime === "1h" ? dialect.oneHour : dialect.usual;
      markPrompt(prompt, mark, tools !== undefined);
      return tools === undefined || !dialect.onTools ? options : { ...options, tools: markLastTool(tools, mark) };
    }
  }
}

/** The same key for all requests of a session. It is a hash, because the author may have chosen the session's id. */
function createCacheKey(sessionId: string): string {
  return `pawl-${sha256(sessionId).slice(0, 32)}`;
}

function addDefaultOptions(
  options: ProviderMetadata | undefined,
  provider: string,
  added: ProviderMetadata[string],
): ProviderMetadata {
  return { ...options, [provider]: { ...added, ...options?.[provider] } };
}

function markPrompt(prompt: PromptMessage[], mark: ProviderMetadata, hasTools: boolean): void {
  if (prompt[0]?.role === "system") markMessage(prompt, 0, mark);
  const end = findMarkableIndex(prompt, prompt.length);
  const lastAnswer = prompt.findLastIndex(({ role }, index) => index < end && role === "assistant");
  if (lastAnswer === -1 && !hasTools) return;
  markMessage(prompt, end, mark);
  markMessage(prompt, findMarkableIndex(prompt, lastAnswer), mark);
}

/** The index of the last message before `end` that can carry a mark; -1 if there is none. */
function findMarkableIndex(prompt: readonly PromptMessage[], end: number): number {
  for (let index = end - 1; index >= 0; index -= 1) {
    const message = prompt[index];
    if (message === undefined || message.role === "system") return -1;
    if (message.role === "assistant") continue;
    const part = message.content.at(-1);
    // Providers refuse a mark on empty text, and ignore a mark on an approval of a call that they run themselves.
    if (part?.type === "tool-approval-response" || (part?.type === "text" && part.text === "")) continue;
    return index;
  }
  return -1;
}

/** Replaces the message instead of changing it, because later requests share it. */
function markMessage(prompt: PromptMessage[], index: number, providerOptions: ProviderMetadata): void {
  const message = prompt[index];
  if (message !== undefined) prompt[index] = { ...message, providerOptions };
}

type Tools = readonly (PromptTool | ProviderTool)[];

function hasAuthorMark(tool: PromptTool | ProviderTool): boolean {
  return tool.type === "function" && hasCacheOptions(tool.providerOptions);
}

function markLastTool(tools: Tools, mark: ProviderMetadata): Tools {
  // Anthropic refuses a mark on a deferred tool, which is not part of the cache.
  const last = tools.findLastIndex(
    (tool) => tool.type === "function" && tool.providerOptions?.anthropic?.deferLoading !== true,
  );
  const tool = tools[last];
  return tool?.type === "function"
    ? tools.with(last, { ...tool, providerOptions: mergeMark(tool.providerOptions, mark) })
    : tools;
}

function mergeMark(own: ProviderMetadata | undefined, mark: ProviderMetadata): ProviderMetadata {
  if (own === undefined) return mark;
  const all: { [provider: string]: ProviderMetadata[string] } = { ...own };
  for (const [provider, options] of Object.entries(mark)) all[provider] = { ...own[provider], ...options };
  return all;
}
