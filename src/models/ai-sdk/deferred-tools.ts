/**
 * Deferred tools in the requests to a provider that loads tools itself.
 *
 * 1. Everything follows from the request alone: its tools with `defer`, and the calls and results of `find_tools` in its
 *    messages. A retry, another process and a fork send the same.
 * 2. The session stores what `find_tools` returned: a line of JSON for each tool. This file converts the lines into what the
 *    provider accepts: references to tools in the request (Anthropic), or the definitions themselves (OpenAI).
 * 3. The provider inserts a found tool where it was found, so the beginning of the request stays in its prompt cache. The
 *    model calls the tool by its own name, so `call_tool` is omitted.
 * 4. If the provider would refuse the request in this form, or if it is too large, it is sent as for any other model: without the
 *    deferred tools and with `call_tool`.
 */
import { isObject } from "../../core/data/is-object.js";
import { parseJson } from "../../core/data/json.js";
import type { Json, Message, ProviderMetadata, ToolCallPart } from "../../core/data/message.js";
import { callToolName, findToolsName } from "../../core/data/tool-search-names.js";
import type { DeltaBody, ModelRequest, ToolSpecification } from "../../ports/model.js";
import type { PromptContent, PromptMessage, PromptPart, PromptTool, ProviderTool } from "./call-options.js";
import { pawlMetadataKey } from "./part.js";
import { isRefusalOf } from "./refused-request.js";
import type { ToolLoading } from "./tool-loading.js";

/** OpenAI's own search tool, under a name that no author's tool can have. The name is not sent. */
const searchName = "pawl.tool_search";

/** The metadata key that marks a call as made with OpenAI's search tool. */
const searchMetadataKey = "toolSearch";

/** Characters of JSON. References need every definition in every request: above this, the upload costs more than it saves. */
const maxReferencedCharacters = 1_000_000;

/** Anthropic's limit for a request. */
const maxReferencedTools = 10_000;

/** Deferred tools by name, as the provider can load them. */
export type LoadableTools = { readonly loading: ToolLoading; readonly tools: ReadonlyMap<string, PromptTool> };

export type SentTools = {
  readonly tools: readonly (PromptTool | ProviderTool)[];
  /** Null if the provider loads no tools for this request. */
  readonly loadable: LoadableTools | null;
};

/** Whether, in this process, a model's requests let the provider load tools. A gateway may speak the format without this feature. */
export type LoadingState = {
  readonly loading: () => ToolLoading | null;
  /** Returns true if the request was refused because of its deferred tools. Later requests are sent without them. */
  readonly recordRefusal: (request: Pick<ModelRequest, "tools">, error: unknown) => boolean;
  readonly warnings: () => readonly string[];
};

export function createLoadingState(supported: ToolLoading | null): LoadingState {
  let isRefused = false;
  return {
    loading: () => (isRefused ? null : supported),
    recordRefusal({ tools }, error) {
      if (supported === null || isRefused || !tools.some(({ defer }) => defer === true)) return false;
      isRefused = isRefusalOf(error, /defer_?loading|tool_?reference|tool_?search/i);
      return isRefused;
    },
    warnings: () => (isRefused ? refusedWarnings : noWarnings),
  };
}

const noWarnings: readonly string[] = [];
const refusedWarnings: readonly string[] = [
  "defer: the provider refused to load deferred tools, so in this process the model calls them through call_tool",
];

/** @param loading how the provider loads tools; null if it cannot, or has refused to */
export function selectTools(
  specifications: readonly ToolSpecification[],
  loading: ToolLoading | null,
  convert: (tool: ToolSpecification) => PromptTool | ProviderTool,
): SentTools {
  const visible = specifications.filter(({ defer }) => defer !== true);
  const tools = visible.map(convert);
  if (loading === null || visible.length === specifications.length) return { tools, loadable: null };
  const deferred = specifications.flatMap((specification) => {
    const tool = specification.defer === true ? convert(specification) : null;
    return tool?.type === "function" ? [stripCacheMark(tool)] : [];
  });
  const rest = tools.filter(({ name }) => name !== callToolName);
  const search = visible.find(({ name }) => name === findToolsName);
  if (search === undefined) return { tools, loadable: null };
  const loadable = { loading, tools: new Map(deferred.map((tool) => [tool.name, tool])) };
  switch (loading) {
    case "tool_reference":
      if (!canBeReferenced(rest, deferred)) return { tools, loadable: null };
      return { tools: [...rest, ...deferred.map(deferLoading)], loadable };
    case "tool_search":
      // In the request, the model would see the name and description of every deferred function. In a search result, it does not.
      return { tools: rest.map((tool) => (tool.name === findToolsName ? createSearchTool(search) : tool)), loadable };
  }
}

/** Whether the request forces a tool that is sent only when the provider does not load tools itself. */
export function forcesDeferredTool({ toolChoice }: Pick<ModelRequest, "toolChoice">): boolean {
  return typeof toolChoice === "object" && (toolChoice.tool === callToolName || toolChoice.tool === findToolsName);
}

/** Anthropic refuses input examples together with a tool search. */
function canBeReferenced(rest: SentTools["tools"], deferred: readonly PromptTool[]): boolean {
  if (rest.length + deferred.length > maxReferencedTools) return false;
  if ([...rest, ...deferred].some((tool) => "inputExamples" in tool)) return false;
  return JSON.stringify(deferred).length <= maxReferencedCharacters;
}

function deferLoading(tool: PromptTool): PromptTool {
  const { providerOptions } = tool;
  return {
    ...tool,
    providerOptions: { ...providerOptions, anthropic: { ...providerOptions?.anthropic, deferLoading: true } },
  };
}

/** A deferred tool is not in the prompt cache, and a provider refuses a mark on it. */
function stripCacheMark(tool: PromptTool): PromptTool {
  const anthropicOptions = tool.providerOptions?.anthropic;
  if (anthropicOptions === undefined || !("cacheControl" in anthropicOptions || "cache_control" in anthropicOptions))
    return tool;
  const { cacheControl: _, cache_control: __, ...rest } = anthropicOptions;
  return { ...tool, providerOptions: { ...tool.providerOptions, anthropic: rest } };
}

function createSearchTool({ description, inputSchema }: ToolSpecification): ProviderTool {
  const args = { execution: "client", description, parameters: inputSchema };
  return { type: "provider", id: "openai.tool_search", name: searchName, args };
}

/** Whether the message has a call or a result of `find_tools`. */
export function usesFindTools({ parts }: Message): boolean {
  return parts.some(
    (part) => (part.type === "tool_call" || part.type === "tool_result") && part.name === findToolsName,
  );
}

/** The calls in a message that the model made with OpenAI's search tool. */
export function listSearchCalls({ parts }: Message): readonly ToolCallPart[] {
  return parts.flatMap((part) => (part.type === "tool_call" && isSearchCall(part) ? [part] : []));
}

function isSearchCall({ name, providerMetadata }: ToolCallPart): boolean {
  return name === findToolsName && providerMetadata?.[pawlMetadataKey]?.[searchMetadataKey] === true;
}

/**
 * Converts the calls and results of `find_tools` in a message into the provider's form.
 * @param searchCallIds the ids, as sent, of the calls that the model made with OpenAI's search tool
 */
export function insertLoadedTools(
  message: PromptMessage,
  loadable: LoadableTools | null,
  searchCallIds: ReadonlySet<string>,
): PromptMessage {
  if (message.role === "system") return message;
  return { ...message, content: message.content.map((part) => convertLoadedPart(part, loadable, searchCallIds)) };
}

function convertLoadedPart(
  part: PromptPart,
  loadable: LoadableTools | null,
  searchCallIds: ReadonlySet<string>,
): PromptPart {
  if ((part.type !== "tool-call" && part.type !== "tool-result") || part.toolName !== findToolsName) return part;
  const isSearch = searchCallIds.has(part.toolCallId);
  if (loadable?.loading === "tool_search") {
    if (!isSearch) return part;
    if (part.type === "tool-call")
      return { ...part, toolName: searchName, input: { arguments: part.input, call_id: part.toolCallId } };
    // The provider accepts only tools as the result of a search. A failed search has found none.
    const found = parseToolNames(part).flatMap((name) => toDefinitions(loadable.tools.get(name)));
    return { ...part, toolName: searchName, output: { type: "json", value: { tools: found } } };
  }
  if (part.type === "tool-call") return isSearch ? stripProviderOptions(part) : part;
  if (loadable === null) return part;
  const value = parseToolNames(part)
    .filter((name) => loadable.tools.has(name))
    .map(createReference);
  // If the agent's tools have changed, none of the found tools may be left. The result is then sent unchanged.
  return value.length === 0 ? part : { ...part, output: { type: "content", value } };
}

/** In a request without OpenAI's search tool, a search is a plain call. */
function stripProviderOptions(part: PromptPart): PromptPart {
  const { providerOptions: _, ...rest } = part;
  return rest;
}

function createReference(toolName: string): PromptContent {
  return { type: "custom", providerOptions: { anthropic: { type: "tool-reference", toolName } } };
}

function toDefinitions(tool: PromptTool | undefined): readonly { readonly [key: string]: Json }[] {
  if (tool === undefined) return [];
  const { name, description, inputSchema: parameters, strict = false } = tool;
  return [{ type: "function", name, description, parameters, strict, defer_loading: true }];
}

/** The tool names in a result of `find_tools`, from its lines of JSON. Other lines are ignored: an output may be truncated. */
function parseToolNames({ output }: Extract<PromptPart, { readonly type: "tool-result" }>): readonly string[] {
  if (output.type !== "text") return [];
  const names = output.value.split("\n").flatMap((line) => {
    const parsed = line.startsWith("{") ? parseJson(line) : undefined;
    const found = parsed?.ok === true && isObject(parsed.value) ? parsed.value.name : undefined;
    return typeof found === "string" ? [found] : [];
  });
  return [...new Set(names)];
}

/** Renames a call of OpenAI's search tool to `find_tools`. */
export function renameSearchCall(delta: DeltaBody): DeltaBody {
  if ((delta.kind !== "tool-call" && delta.kind !== "tool-input-start") || delta.name !== searchName) return delta;
  const renamed = { ...delta, name: findToolsName };
  if (renamed.kind === "tool-input-start") return renamed;
  const parsed = parseJson(renamed.input);
  const rawArguments = parsed.ok && isObject(parsed.value) ? parsed.value.arguments : undefined;
  const input = typeof rawArguments === "string" ? rawArguments : JSON.stringify(rawArguments ?? {});
  const mark: ProviderMetadata = { [pawlMetadataKey]: { [searchMetadataKey]: true } };
  return { ...renamed, input, providerMetadata: { ...renamed.providerMetadata, ...mark } };
}
