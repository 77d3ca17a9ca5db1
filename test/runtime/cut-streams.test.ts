/**
 * Streams that end without their finish, however the provider's package says so: each is a network failure, and retried.
 */
import { createAmazonBedrock } from "@ai-sdk/amazon-bedrock";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createDeepSeek } from "@ai-sdk/deepseek";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createGroq } from "@ai-sdk/groq";
import { createMistral } from "@ai-sdk/mistral";
import { createOpenAI } from "@ai-sdk/openai";
import { createXai } from "@ai-sdk/xai";
import { createOpenRouter } from "@openrouter/ai-sdk-provider";
import { expect, test } from "vitest";
import { type AgentOptions, createAgent } from "../../src/index.js";
import { startWireServer, type WireReply } from "../models/wire-server.js";
import {
  anthropicMessage,
  chatCompletion,
  converseStream,
  createOutputText,
  geminiContent,
  responses,
} from "../models/wires.js";
import { collect, filterEventsOfType } from "../support/agents.js";
import { verifies } from "../verifies.js";

const text = "A pawl is a catch that lets a wheel turn one way only.";
const chat = chatCompletion([{ content: text }], "stop");
const response = responses("resp_1", [createOutputText("msg_1", text)]);
const converse: WireReply = {
  contentType: "application/vnd.amazon.eventstream",
  body: converseStream([
    ["messageStart", { role: "assistant" }],
    ["contentBlockDelta", { contentBlockIndex: 0, delta: { text } }],
    ["contentBlockStop", { contentBlockIndex: 0 }],
    ["messageStop", { stopReason: "end_turn" }],
    ["metadata", { usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 }, metrics: { latencyMs: 1 } }],
  ]),
};

type ModelAt = (origin: string) => NonNullable<AgentOptions["model"]>;

const apiKey = "sk-test";
const v1 = (origin: string) => ({ baseURL: `${origin}/v1`, apiKey });
const providers: readonly (readonly [name: string, whole: WireReply, model: ModelAt])[] = [
  ["OpenAI", response, (origin) => createOpenAI(v1(origin))("gpt-5")],
  ["xAI", response, (origin) => createXai(v1(origin)).responses("grok-4")],
  [
    "Anthropic",
    anthropicMessage("end_turn", [{ type: "text", text }]),
    (origin) => createAnthropic(v1(origin))("claude-sonnet-4-5"),
  ],
  [
    "Google",
    geminiContent([{ text }]),
    (origin) => createGoogleGenerativeAI({ baseURL: `${origin}/v1beta`, apiKey })("gemini-2.5-flash"),
  ],
  [
    "Bedrock",
    converse,
    (origin) => createAmazonBedrock({ baseURL: origin, region: "us-east-1", apiKey })("anthropic.claude-sonnet-4-5"),
  ],
  ["DeepSeek", chat, (origin) => createDeepSeek(v1(origin))("deepseek-chat")],
  ["Mistral", chat, (origin) => createMistral(v1(origin))("mistral-large-latest")],
  ["Groq", chat, (origin) => createGroq(v1(origin))("openai/gpt-oss-120b")],
  ["OpenRouter", chat, (origin) => createOpenRouter(v1(origin))("anthropic/claude-sonnet-4.5")],
];

/** The beginning of a reply: this part of its bytes. */
function cut({ body, ...rest }: WireReply, part: number): WireReply {
  const bytes = Buffer.from(body);
  return { ...rest, body: bytes.subarray(0, Math.floor(bytes.length * part)) };
}

test.each(providers)("%s", verifies("RTRY-6"), async (_name, whole, modelAt) => {
  const server = await startWireServer([cut(whole, 0.4), cut(whole, 0.55), cut(whole, 0.7), whole]);
  const agent = createAgent({ model: modelAt(server.origin), retry: { baseDelayMs: 0 } });
  const stream = agent.runStream("What is a pawl?");
  const failed = filterEventsOfType(await collect(stream), "attempt_failed").map(({ failure }) => failure);
  expect(failed.map(({ kind }) => kind)).toEqual(["network", "network", "network"]);
  expect(await stream.result).toMatchObject({ status: "completed", text });
});
