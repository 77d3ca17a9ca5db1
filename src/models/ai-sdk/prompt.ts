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
import { withContainer } from "./container.js";
import {
  findsTools,
  forcesUnloadable,
  type LoadableTools,
  type SentTools,
  searchCallsIn,
  toolsToSend,
  withLoadedTools,
} from "./deferred-tools.js";
import type { LanguageModel } from "./language-model.js";
import { mergeOptions, withOwn } from "./merge-options.js";
import { ownMetadata } from "./part.js";
import {
  findRefusedPictures,
  type PictureLimits,
  pictureLimitsFor,
  picturesIn,
  trueMediaType,
  warningsOf,
  withoutPictures,
} from "./picture-limits.js";
import { findCacheDialect, hasCacheOptions, withPromptCache } from "./prompt-cache.js";
import { abandonedCalls, type Converted, providerCallsIn, withoutCalls } from "./provider-calls.js";
import { providerSettings } from "./provider-settings.js";
import { isSameMap, shapedResult, type ToolIds, toolIdsOf } from "./provider-tools.js";
import { settingsOf } from "./settings.js";
import { toolCallIdsFor } from "./tool-call-ids.js";
import type { ToolLoading } from "./tool-loading.js";
import { refusesAlternatives, withoutAlternatives } from "./tool-schema.js";

export type Converting = {
  /** Default: what the request says. */
  readonly promptCache?: ModelRequest["promptCache"] | "usual";
  /** How the provider loads deferred tools. Default: it does not. */
  readonly loading?: ToolLoading | null;
  /** Called with each picture that is left out of the request, and why. */
  readonly warn?: (warning: string) => void;
};

export type PromptConverter = (request: ModelRequest, signal: AbortSignal, converting?: Converting) => CallOptions;

/** Creates a converter for one model. It caches each converted message as long as the message is referenced. */
export function createPromptConverter(
  model: Pick<LanguageModel, "specificationVersion" | "provider" | "modelId">,
  providerTools: readonly ProviderTool[],
  defaults: ProviderMetadata,
  limits: PictureLimits | null = pictureLimitsFor(model),
): PromptConverter {
  const version = model.specificationVersion;
  const dialect = findCacheDialect(model);
  const idOf = toolCallIdsFor(model);
  const mayRelax = refusesAlternatives(model);
  let converted = new WeakMap<Message, Converted>();
  let toolIds: ToolIds = new Map();
  const convertedTools = new WeakMap<readonly ToolSpecification[], Map<ToolLoading | null, SentTools>>();

  function convertedOf(message: Message): Converted {
    let own = converted.get(message);
    if (own === undefined) {
      own = {
        prompt: convertMessage(message, { version, idOf, toolIds }),
        provider: providerCallsIn(message),
        isMarked: dialect !== null && message.parts.some(hasMark),
        pictures: limits === null ? [] : picturesIn(message),
        finds: findsTools(message),
        searches: searchCallsIn(message).map(idOf),
      };
      converted.set(message, own);
    }
    return own;
  }

  /** The messages as the provider takes them: without the pictures that it is known to refuse. */
  function allConverted(messages: readonly Message[], warn: (warning: string) => void): readonly Converted[] {
    const all = messages.map(convertedOf);
    const pictures = all.flatMap((one) => one.pictures);
    if (limits === null || pictures.length === 0) return all;
    const refused = findRefusedPictures(pictures, limits);
    if (refused.size === 0) return all;
    for (const warning of warningsOf(refused)) warn(warning);
    return all.map((own, index) => {
      const message = messages[index];
      if (message === undefined || !own.pictures.some(({ part }) => refused.has(part))) return own;
      return { ...own, prompt: convertMessage(withoutPictures(message, refused), { version, idOf, toolIds }) };
    });
  }

  function promptOf(
    { systemPrompt, messages }: ModelRequest,
    loadable: LoadableTools | null,
    warn: (warning: string) => void,
  ): { prompt: PromptMessage[]; isMarked: boolean } {
    const all = allConverted(messages, warn);
    const left = abandonedCalls(messages, all);
    let searched: ReadonlySet<string> | undefined;
    const prompt: PromptMessage[] = [];
    let isMarked = false;
    if (systemPrompt !== undefined) prompt.push({ role: "system", content: systemPrompt });
    for (const own of all) {
      if (own.finds) searched ??= new Set(all.flatMap(({ searches }) => searches));
      const given = searched !== undefined && own.finds ? withLoadedTools(own.prompt, loadable, searched) : own.prompt;
      const kept = left.size === 0 ? given : withoutCalls(given, left);
      // Providers refuse an empty message.
      if (kept.content.length > 0) prompt.push(kept);
      isMarked ||= own.isMarked;
    }
    return { prompt, isMarked };
  }

  function toolsOf(specifications: readonly ToolSpecification[], loading: ToolLoading | null): SentTools {
    const known = convertedTools.get(specifications) ?? new Map<ToolLoading | null, SentTools>();
    convertedTools.set(specifications, known);
    let sent = known.get(loading);
    if (sent === undefined) {
      const names = new Set(specifications.map(({ name }) => name));
      const { tools, loadable } = toolsToSend(specifications, loading, (one) => convertTool(one, mayRelax));
      sent = { tools: [...tools, ...providerTools.filter(({ name }) => !names.has(name))], loadable };
      known.set(loading, sent);
    }
    return sent;
  }

  /** A caller's own options take precedence over those that stand for a setting. */
  function optionsFor(request: ModelRequest, hasTools: boolean): ProviderMetadata {
    const { options } = providerSettings(request, model, hasTools);
    const own = mergeOptions(defaults, request.providerOptions);
    return Object.keys(options).length === 0 ? own : withOwn(options, own);
  }

  /** Results depend on which tool gave them, so they are converted again when the tools change. */
  function noteTools(tools: readonly (PromptTool | ProviderTool)[]): void {
    const present = toolIdsOf(tools);
    if (isSameMap(present, toolIds)) return;
    toolIds = present;
    converted = new WeakMap();
  }

  return (request, signal, { promptCache = request.promptCache, loading = null, warn = () => {} } = {}) => {
    const { tools, loadable } = toolsOf(request.tools, forcesUnloadable(request) ? null : loading);
    noteTools(tools);
    const { prompt, isMarked } = promptOf(request, loadable, warn);
    const options = {
      prompt,
      ...(tools.length > 0 && { tools }),
      ...(tools.length > 0 &&
        request.toolChoice !== undefined && { toolChoice: convertToolChoice(request.toolChoice) }),
      ...settingsOf(request, version),
      ...(request.responseFormat !== undefined && { responseFormat: request.responseFormat }),
      providerOptions: withContainer(optionsFor(request, tools.length > 0), request.messages, tools),
      abortSignal: signal,
    };
    if (dialect === null) return options;
    return withPromptCache(options, { dialect, lifetime: promptCache, sessionId: request.sessionId, isMarked });
  };
}

function hasMark(part: UserPart | AssistantPart): boolean {
  return "providerMetadata" in part && hasCacheOptions(part.providerMetadata);
}

function convertTool(tool: ToolSpecification, mayRelax: boolean): PromptTool | ProviderTool {
  const { name, provider, providerOptions, strict, inputExamples } = tool;
  if (provider !== undefined) return { type: "provider", id: provider.id, name, args: provider.args };
  return {
    type: "function",
    name,
    ...(mayRelax ? withoutAlternatives(tool) : { description: tool.description, inputSchema: tool.inputSchema }),
    ...(providerOptions !== undefined && { providerOptions }),
    ...(strict !== undefined && { strict }),
    ...(inputExamples !== undefined && { inputExamples: inputExamples.map((input) => ({ input })) }),
  };
}

function convertToolChoice(choice: ToolChoice): PromptToolChoice {
  return typeof choice === "string" ? { type: choice } : { type: "tool", toolName: choice.tool };
}

type Target = {
  readonly version: SpecificationVersion;
  readonly idOf: ReturnType<typeof toolCallIdsFor>;
  readonly toolIds: ToolIds;
};

function convertMessage(message: Message, target: Target): PromptMessage {
  const content: PromptPart[] = [];
  for (const part of message.parts) {
    const own = convertPart(part, target);
    if (own !== undefined) content.push(own);
  }
  return { role: message.role, content };
}

function convertPart(part: UserPart | AssistantPart, target: Target): PromptPart | undefined {
  const { version } = target;
  switch (part.type) {
    case "text":
      // Providers refuse empty text, except with metadata: then it carries a signature.
      if (part.text === "" && part.providerMetadata === undefined) return undefined;
      return { type: "text", text: part.text, ...optionsOf(part) };
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
        ...optionsOf(part),
      };
    case "tool_result":
      if (part.approval !== undefined) return { type: "tool-approval-response", ...part.approval, ...optionsOf(part) };
      return {
        type: "tool-result",
        toolCallId: target.idOf(part),
        toolName: part.name,
        output: convertOutput(shapedResult(part, target.toolIds), version),
        ...optionsOf(part),
      };
  }
}

function convertReasoning(
  part: { readonly text: string; readonly providerMetadata?: ProviderMetadata },
  version: SpecificationVersion,
): PromptPart | undefined {
  const custom = part.providerMetadata?.[ownMetadata]?.custom;
  if (typeof custom !== "string") return { type: "reasoning", text: part.text, ...optionsOf(part) };
  return version === "v4" ? { type: "custom", kind: custom, ...optionsOf(part) } : undefined;
}

function convertFile(part: FilePart, version: SpecificationVersion): PromptPart {
  const common = { mediaType: trueMediaType(part), data: fileData(part.data, version), ...optionsOf(part) };
  if (version === "v4" && part.providerMetadata?.[ownMetadata]?.reasoning === true) {
    return { type: "reasoning-file", ...common };
  }
  return { type: "file", ...common, ...(part.filename !== undefined && { filename: part.filename }) };
}

function fileData(data: string, version: SpecificationVersion): FileData {
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
      const text = failed ? onlyText(output) : undefined;
      if (text !== undefined) return { type: "error-text", value: text };
      return { type: "content", value: output.parts.map((item) => convertContent(item, version)) };
    }
  }
}

/** A failed result should be sent as `error-text`, because content has no error flag. Undefined if there is a file. */
function onlyText(output: Extract<ToolOutput, { readonly type: "content" }>): string | undefined {
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
  if (part.type === "text") return { type: "text", text: part.text, ...optionsOf(part) };
  const { data } = part;
  const mediaType = trueMediaType(part);
  if (version === "v4") {
    const filename = part.filename !== undefined ? { filename: part.filename } : {};
    return { type: "file", mediaType, data: fileData(data, version), ...filename, ...optionsOf(part) };
  }
  const image = mediaType.startsWith("image/");
  if (isUrl(data)) return { type: image ? "image-url" : "file-url", url: data, ...optionsOf(part) };
  return { type: image ? "image-data" : "file-data", mediaType, data, ...optionsOf(part) };
}

/** A provider's own metadata is sent back with the part. */
function optionsOf(part: { readonly providerMetadata?: ProviderMetadata }): WithOptions {
  const metadata = part.providerMetadata;
  if (metadata === undefined) return {};
  if (!(ownMetadata in metadata)) return { providerOptions: metadata };
  const { [ownMetadata]: _own, ...providerOptions } = metadata;
  return { providerOptions };
}
