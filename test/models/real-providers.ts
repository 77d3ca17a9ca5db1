/**
 * The real provider packages, of both specifications, and how each writes a conversation down.
 */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createAnthropic as createAnthropicV4 } from "anthropic-v4";
import { createGoogle as createGoogleV4 } from "google-v4";
import { createOpenAICompatible as createOpenAICompatibleV4 } from "openai-compatible-v4";
import { createOpenAI as createOpenAIV4 } from "openai-v4";
import type { Json, ProviderMetadata } from "../../src/core/data/message.js";
import type { LanguageModel } from "../../src/models/ai-sdk/language-model.js";
import type { FormatName, RecordedRequest } from "./provider-server.js";

export type RealProvider = {
  readonly name: string;
  readonly specification: "v3" | "v4";
  readonly format: FormatName;
  readonly modelId: string;
  readonly id: string;
  readonly providerOptions: ProviderMetadata;
  create(settings: { readonly baseURL: string; readonly apiKey: string }): LanguageModel;
};

const openai = {
  format: "openai-responses",
  modelId: "gpt-5",
  id: "openai/gpt-5",
  providerOptions: { openai: { store: false } },
} as const;
const anthropic = {
  format: "anthropic-messages",
  modelId: "claude-sonnet-4-5",
  id: "anthropic/claude-sonnet-4-5",
  providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } } },
} as const;
const google = {
  format: "google-generate-content",
  modelId: "gemini-2.5-flash",
  id: "google/gemini-2.5-flash",
  providerOptions: { google: { thinkingConfig: { includeThoughts: true } } },
} as const;
const compatible = {
  format: "openai-chat",
  modelId: "local-model",
  id: "local/local-model",
  providerOptions: {},
} as const;

export const realProviders: readonly RealProvider[] = [
  {
    ...openai,
    name: "@ai-sdk/openai v3",
    specification: "v3",
    create: (settings) => createOpenAI(settings)(openai.modelId),
  },
  {
    ...openai,
    name: "@ai-sdk/openai v4",
    specification: "v4",
    create: (settings) => createOpenAIV4(settings)(openai.modelId),
  },
  {
    ...anthropic,
    name: "@ai-sdk/anthropic v3",
    specification: "v3",
    create: (settings) => createAnthropic(settings)(anthropic.modelId),
  },
  {
    ...anthropic,
    name: "@ai-sdk/anthropic v4",
    specification: "v4",
    create: (settings) => createAnthropicV4(settings)(anthropic.modelId),
  },
  {
    ...google,
    name: "@ai-sdk/google v3",
    specification: "v3",
    create: (settings) => createGoogleGenerativeAI(settings)(google.modelId),
  },
  {
    ...google,
    name: "@ai-sdk/google v4",
    specification: "v4",
    create: (settings) => createGoogleV4(settings)(google.modelId),
  },
  {
    ...compatible,
    name: "@ai-sdk/openai-compatible v3",
    specification: "v3",
    create: (settings) =>
      createOpenAICompatible({ ...settings, name: "local", includeUsage: true })(compatible.modelId),
  },
  {
    ...compatible,
    name: "@ai-sdk/openai-compatible v4",
    specification: "v4",
    create: (settings) =>
      createOpenAICompatibleV4({ ...settings, name: "local", includeUsage: true })(compatible.modelId),
  },
];

/** What a request says, whatever the format. */
export type Said = {
  readonly systems: readonly string[];
  /** The position of the (first) system prompt among everything that is said; 0 where it stands apart, before all. */
  readonly systemAt: number;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: Json }[];
  readonly results: readonly { readonly id: string; readonly text: string }[];
  readonly tools: readonly string[];
  /** What the provider wanted back with its reasoning. */
  readonly signatures: readonly string[];
};

type Item = { readonly [key: string]: Json };

const items = (value: Json | undefined): readonly Item[] => (Array.isArray(value) ? (value as readonly Item[]) : []);
const object = (value: Json | undefined): Item => (value ?? {}) as Item;
const textOf = (value: Json | undefined): string =>
  typeof value === "string"
    ? value
    : items(value)
        .map((item) => String(item.text))
        .join("");
const strings = (values: readonly (Json | undefined)[]): readonly string[] =>
  values.filter((value): value is string => typeof value === "string");

const readers: { readonly [Name in FormatName]: (body: Item) => Said } = {
  "anthropic-messages": (body) => {
    const content = items(body.messages).flatMap((message) => items(message.content));
    const used = content.filter((block) => block.type === "tool_use");
    return {
      systems: body.system === undefined ? [] : [textOf(body.system)],
      systemAt: 0,
      calls: used.map((block) => ({ id: String(block.id), name: String(block.name), input: block.input ?? null })),
      results: content
        .filter((block) => block.type === "tool_result")
        .map((block) => ({ id: String(block.tool_use_id), text: textOf(block.content) })),
      tools: items(body.tools).map((tool) => String(tool.name)),
      signatures: strings(content.map((block) => block.signature)),
    };
  },
  "openai-responses": (body) => {
    const input = items(body.input);
    const isSystem = (item: Item) => item.role === "system" || item.role === "developer";
    return {
      systems: input.filter(isSystem).map((item) => textOf(item.content)),
      systemAt: input.findIndex(isSystem),
      calls: input
        .filter((item) => item.type === "function_call")
        .map((item) => ({
          id: String(item.call_id),
          name: String(item.name),
          input: JSON.parse(String(item.arguments)) as Json,
        })),
      results: input
        .filter((item) => item.type === "function_call_output")
        .map((item) => ({ id: String(item.call_id), text: textOf(item.output) })),
      tools: items(body.tools).map((tool) => String(tool.name)),
      signatures: strings(input.map((item) => item.encrypted_content)),
    };
  },
  "openai-chat": (body) => {
    const messages = items(body.messages);
    const called = messages.flatMap((message) => items(message.tool_calls));
    return {
      systems: messages.filter((message) => message.role === "system").map((message) => textOf(message.content)),
      systemAt: messages.findIndex((message) => message.role === "system"),
      calls: called.map((call) => ({
        id: String(call.id),
        name: String(object(call.function).name),
        input: JSON.parse(String(object(call.function).arguments)) as Json,
      })),
      results: messages
        .filter((message) => message.role === "tool")
        .map((message) => ({ id: String(message.tool_call_id), text: textOf(message.content) })),
      tools: items(body.tools).map((tool) => String(object(tool.function).name)),
      signatures: [],
    };
  },
  "google-generate-content": (body) => {
    const parts = items(body.contents).flatMap((content) => items(content.parts));
    // Calls and results are matched by their order and name where they have no ids.
    const calls = parts.flatMap((part) => (part.functionCall === undefined ? [] : [object(part.functionCall)]));
    const results = parts.flatMap((part) =>
      part.functionResponse === undefined ? [] : [object(part.functionResponse)],
    );
    const idOf = (item: Item) => String(item.id ?? item.name);
    return {
      systems: body.systemInstruction === undefined ? [] : [textOf(object(body.systemInstruction).parts)],
      systemAt: 0,
      calls: calls.map((call) => ({ id: idOf(call), name: String(call.name), input: call.args ?? null })),
      results: results.map((result) => ({ id: idOf(result), text: String(object(result.response).content) })),
      tools: items(body.tools)
        .flatMap((tool) => items(tool.functionDeclarations))
        .map((tool) => String(tool.name)),
      signatures: strings(parts.map((part) => part.thoughtSignature)),
    };
  },
};

export function readRequest(format: FormatName, request: RecordedRequest | undefined): Said {
  if (request === undefined) throw new Error("The provider was not asked.");
  return readers[format](request.body);
}
