/**
 * Converts messages, tools and settings into an AI SDK request. Types follow specification v4; v3 differs only in the
 * shape of files.
 *
 * Each message is converted once, so a step costs only its new messages, not the whole history.
 */

import type {
  AssistantPart,
  FilePart,
  Message,
  ProviderMetadata,
  ToolOutput,
  ToolResultPart,
  UserPart,
} from "../../core/data/message.js";
import type { ToolChoice } from "../../core/machine/event.js";
import type { ModelRequest, ToolSpecification } from "../../ports/model.js";
import type {
  CallOptions,
  FileData,
  PromptContent,
  PromptMessage,
  PromptOutput,
  PromptPart,
  PromptTool,
  PromptToolChoice,
  ProviderTool,
  SpecificationVersion,
  WithOptions,
} from "./call-options.js";
import { toCallSettings } from "./call-settings.js";
import { addContainer } from "./container.js";
import {
  forcesDeferredTool,
  insertLoadedTools,
  type LoadableTools,
  listSearchCalls,
  type SentTools,
  selectTools,
  usesFindTools,
} from "./deferred-tools.js";
import type { LanguageModel } from "./language-model.js";
import { completeOptions, mergeOptions } from "./merge-options.js";
import { pawlMetadataKey } from "./part.js";
import {
  detectMediaType,
  findPictureLimits,
  findRefusedPictures,
  formatWarnings,
  listPictures,
  type PictureLimits,
  replacePictures,
} from "./picture-limits.js";
import { addPromptCache, findCacheDialect, hasCacheOptions } from "./prompt-cache.js";
import { type ConvertedMessage, findAbandonedCalls, findProviderCalls, removeCalls } from "./provider-calls.js";
import { toProviderSettings } from "./provider-settings.js";
import { isSameMap, mapToolIds, shapeResult, type ToolIds } from "./provider-tools.js";
import { createCallIdMapper } from "./tool-call-ids.js";
import type { ToolLoading } from "./tool-loading.js";
import { flattenAlternatives, refusesAlternatives } from "./tool-schema.js";

export type ConvertOptions = {
  /** Default: the request's `promptCache`. */
  readonly promptCache?: ModelRequest["promptCache"] | "usual";
  /** How the provider loads deferred tools. Default: it does not. */
  readonly loading?: ToolLoading | null;
  /** Called for each reason why pictures are omitted from the request. */
  readonly warn?: (warning: string) => void;
};

export type PromptConverter = (request: ModelRequest, signal: AbortSignal, options?: ConvertOptions) => CallOptions;

/** Creates a converter for one model. A converted message is cached as long as the original is referenced. */
export function createPromptConverter(
  model: Pick<LanguageModel, "specificationVersion" | "provider" | "modelId">,
  providerTools: readonly ProviderTool[],
  defaults: ProviderMetadata,
  limits: PictureLimits | null = findPictureLimits(model),
): PromptConverter {
  const version = model.specificationVersion;
  const dialect = findCacheDialect(model);
  const idOf = createCallIdMapper(model);
  const canRelax = refusesAlternatives(model);
  let converted = new WeakMap<Message, ConvertedMessage>();
  let toolIds: ToolIds = new Map();
  const convertedTools = new WeakMap<readonly ToolSpecification[], Map<ToolLoading | null, SentTools>>();

  function getConverted(message: Message): ConvertedMessage {
    let own = converted.get(message);
    if (own === undefined) {
      own = {
        prompt: convertMessage(message, { version, idOf, toolIds }),
        provider: findProviderCalls(message),
        isMarked: dialect !== null && message.parts.some(hasCacheMark),
        pictures: limits === null ? [] : listPictures(message),
        usesFindTools: usesFindTools(message),
        searches: listSearchCalls(message).map(idOf),
      };
      converted.set(message, own);
    }
    return own;
  }

  /** Converts the messages, without the pictures that the provider is known to refuse. */
  function convertMessages(messages: readonly Message[], warn: (warning: string) => void): readonly ConvertedMessage[] {
    const all = messages.map(getConverted);
    const pictures = all.flatMap((one) => one.pictures);
    if (limits === null || pictures.length === 0) return all;
    const refused = findRefusedPictures(pictures, limits);
    if (refused.size === 0) return all;
    for (const warning of formatWarnings(refused)) warn(warning);
    return all.map((own, index) => {
      const message = messages[index];
      if (message === undefined || !own.pictures.some(({ part }) => refused.has(part))) return own;
      return { ...own, prompt: convertMessage(replacePictures(message, refused), { version, idOf, toolIds }) };
    });
  }

  function buildPrompt(
    { systemPrompt, messages }: ModelRequest,
    loadable: LoadableTools | null,
    warn: (warning: string) => void,
  ): { prompt: PromptMessage[]; isMarked: boolean } {
    const all = convertMessages(messages, warn);
    const abandoned = findAbandonedCalls(messages, all);
    let searchCallIds: ReadonlySet<string> | undefined;
    const prompt: PromptMessage[] = [];
    let isMarked = false;
    if (systemPrompt !== undefined) prompt.push({ role: "system", content: systemPrompt });
    for (const own of all) {
      if (own.usesFindTools) searchCallIds ??= new Set(all.flatMap(({ searches }) => searches));
      const loaded =
        searchCallIds !== undefined && own.usesFindTools
          ? insertLoadedTools(own.prompt, loadable, searchCallIds)
          : own.prompt;
      const remaining = abandoned.size === 0 ? loaded : removeCalls(loaded, abandoned);
      // Providers refuse an empty message.
      if (remaining.content.length > 0) prompt.push(remaining);
      isMarked ||= own.isMarked;
    }
    return { prompt, isMarked };
  }

  function getTools(specifications: readonly ToolSpecification[], loading: ToolLoading | null): SentTools {
    const sentByLoading = convertedTools.get(specifications) ?? new Map<ToolLoading | null, SentTools>();
    convertedTools.set(specifications, sentByLoading);
    let sent = sentByLoading.get(loading);
    if (sent === undefined) {
      const names = new Set(specifications.map(({ name }) => name));
      const { tools, loadable } = selectTools(specifications, loading, (one) => convertTool(one, canRelax));
      sent = { tools: [...tools, ...providerTools.filter(({ name }) => !names.has(name))], loadable };
      sentByLoading.set(loading, sent);
    }
    return sent;
  }

  /** A caller's options take precedence over those that are derived from a setting. */
  function buildProviderOptions(request: ModelRequest, hasTools: boolean): ProviderMetadata {
    const { options } = toProviderSettings(request, model, hasTools);
    const own = mergeOptions(defaults, request.providerOptions);
    return Object.keys(options).length === 0 ? own : completeOptions(options, own);
  }

  /** The form of a result depends on its tool, so messages are converted again when the tools change. */
  function updateToolIds(tools: readonly (PromptTool | ProviderTool)[]): void {
    const currentIds = mapToolIds(tools);
    if (isSameMap(currentIds, toolIds)) return;
    toolIds = currentIds;
    converted = new WeakMap();
  }

  return (request, signal, { promptCache = request.promptCache, loading = null, warn = () => {} } = {}) => {
    const { tools, loadable } = getTools(request.tools, forcesDeferredTool(request) ? null : loading);
    updateToolIds(tools);
    const { prompt, isMarked } = buildPrompt(request, loadable, warn);
    const options = {
      prompt,
      ...(tools.length > 0 && { tools }),
      ...(tools.length > 0 &&
        request.toolChoice !== undefined && { toolChoice: convertToolChoice(request.toolChoice) }),
      ...toCallSettings(request, version),
      ...(request.responseFormat !== undefined && { responseFormat: request.responseFormat }),
      providerOptions: addContainer(buildProviderOptions(request, tools.length > 0), request.messages, tools),
      abortSignal: signal,
    };
    if (dialect === null) return options;
    return addPromptCache(options, { dialect, lifetime: promptCache, sessionId: request.sessionId, isMarked });
  };
}

function hasCacheMark(part: UserPart | AssistantPart): boolean {
  return "providerMetadata" in part && hasCacheOptions(part.providerMetadata);
}

function convertTool(tool: ToolSpecification, canRelax: boolean): PromptTool | ProviderTool {
  const { name, provider, providerOptions, strict, inputExamples } = tool;
  if (provider !== undefined) return { type: "provider", id: provider.id, name, args: provider.args };
  return {
    type: "function",
    name,
    ...(canRelax ? flattenAlternatives(tool) : { description: tool.description, inputSchema: tool.inputSchema }),
    ...(providerOptions !== undefined && { providerOptions }),
    ...(strict !== undefined && { strict }),
    ...(inputExamples !== undefined && { inputExamples: inputExamples.map((input) => ({ input })) }),
  };
}

function convertToolChoice(choice: ToolChoice): PromptToolChoice {
  return typeof choice === "string" ? { type: choice } : { type: "tool", toolName: choice.tool };
}

type ConvertTarget = {
  readonly version: SpecificationVersion;
  readonly idOf: ReturnType<typeof createCallIdMapper>;
  readonly toolIds: ToolIds;
};

function convertMessage(message: Message, target: ConvertTarget): PromptMessage {
  const content: PromptPart[] = [];
  for (const part of message.parts) {
    const own = convertPart(part, target);
    if (own !== undefined) content.push(own);
  }
  return { role: message.role, content };
}

function convertPart(part: UserPart | AssistantPart, target: ConvertTarget): PromptPart | undefined {
  const { version } = target;
  switch (part.type) {
    case "text":
      // Providers refuse empty text, except with metadata: then it carries a signature.
      if (part.text === "" && part.providerMetadata === undefined) return undefined;
      return { type: "text", text: part.text, ...toProviderOptions(part) };
    case "reasoning":
      return convertReasoning(part, version);
    case "file":
      return convertFile(part, version);
    case "source":
      return undefined;
    case "tool_call":
      return {
        type: "tool-call",
        toolCallId: target.idOf(part),
        toolName: part.name,
        input: part.input,
        ...(part.providerExecuted === true && { providerExecuted: true as const }),
        ...toProviderOptions(part),
      };
    case "tool_result":
      if (part.approval !== undefined)
        return { type: "tool-approval-response", ...part.approval, ...toProviderOptions(part) };
      return {
        type: "tool-result",
        toolCallId: target.idOf(part),
        toolName: part.name,
        output: convertOutput(shapeResult(part, target.toolIds), version),
        ...toProviderOptions(part),
      };
  }
}

function convertReasoning(
  part: { readonly text: string; readonly providerMetadata?: ProviderMetadata },
  version: SpecificationVersion,
): PromptPart | undefined {
  const custom = part.providerMetadata?.[pawlMetadataKey]?.custom;
  if (typeof custom !== "string") return { type: "reasoning", text: part.text, ...toProviderOptions(part) };
  return version === "v4" ? { type: "custom", kind: custom, ...toProviderOptions(part) } : undefined;
}

function convertFile(part: FilePart, version: SpecificationVersion): PromptPart {
  const common = { mediaType: detectMediaType(part), data: toFileData(part.data, version), ...toProviderOptions(part) };
  if (version === "v4" && part.providerMetadata?.[pawlMetadataKey]?.reasoning === true) {
    return { type: "reasoning-file", ...common };
  }
  return { type: "file", ...common, ...(part.filename !== undefined && { filename: part.filename }) };
}

function toFileData(data: string, version: SpecificationVersion): FileData {
  if (version === "v3") return isUrl(data) ? new URL(data) : data;
  return isUrl(data) ? { type: "url", url: new URL(data) } : { type: "data", data };
}

function isUrl(data: string): boolean {
  return /^https?:\/\//i.test(data.slice(0, 8)) && URL.canParse(data);
}

function convertOutput(part: ToolResultPart, version: SpecificationVersion): PromptOutput {
  const output = part.output;
  const failed = part.isError === true;
  switch (output.type) {
    case "text":
      return { type: failed ? "error-text" : "text", value: output.text };
    case "json":
      return { type: failed ? "error-json" : "json", value: output.value };
    case "content": {
      const text = failed ? joinText(output) : undefined;
      if (text !== undefined) return { type: "error-text", value: text };
      return { type: "content", value: output.parts.map((item) => convertContent(item, version)) };
    }
  }
}

/** A failed result should be sent as `error-text`, because content has no error flag. Undefined if there is a file. */
function joinText(output: Extract<ToolOutput, { readonly type: "content" }>): string | undefined {
  const texts: string[] = [];
  for (const part of output.parts) {
    if (part.type !== "text") return undefined;
    texts.push(part.text);
  }
  return texts.join("\n");
}

function convertContent(
  part: Extract<ToolOutput, { readonly type: "content" }>["parts"][number],
  version: SpecificationVersion,
): PromptContent {
  if (part.type === "text") return { type: "text", text: part.text, ...toProviderOptions(part) };
  const { data } = part;
  const mediaType = detectMediaType(part);
  if (version === "v4") {
    const filename = part.filename !== undefined ? { filename: part.filename } : {};
    return { type: "file", mediaType, data: toFileData(data, version), ...filename, ...toProviderOptions(part) };
  }
  const image = mediaType.startsWith("image/");
  if (isUrl(data)) return { type: image ? "image-url" : "file-url", url: data, ...toProviderOptions(part) };
  return { type: image ? "image-data" : "file-data", mediaType, data, ...toProviderOptions(part) };
}

/** A provider's own metadata is sent back with the part. */
function toProviderOptions(part: { readonly providerMetadata?: ProviderMetadata }): WithOptions {
  const metadata = part.providerMetadata;
  if (metadata === undefined) return {};
  if (!(pawlMetadataKey in metadata)) return { providerOptions: metadata };
  const { [pawlMetadataKey]: _own, ...providerOptions } = metadata;
  return { providerOptions };
}
