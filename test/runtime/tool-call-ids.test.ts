/**
 * The ids of tool calls in what real provider packages send, in conversations that several providers carry on.
 */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createMistral } from "@ai-sdk/mistral";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { afterEach, describe, expect, test } from "vitest";
import { createAgent, createMemoryStore, defineTool } from "../../src/index.js";
import type { LanguageModel } from "../../src/models/index.js";
import {
  type FormatName,
  type ProviderServer,
  type ScriptedReply,
  startProviderServer,
} from "../models/provider-server.js";
import { readRequest } from "../models/real-providers.js";

const servers: ProviderServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function serve(format: FormatName, script: readonly ScriptedReply[]): Promise<ProviderServer> {
  const server = await startProviderServer(format, script);
  servers.push(server);
  return server;
}

const answer = { type: "answer", text: "Sunny." } as const;
const callOf = (id: string): ScriptedReply => ({ type: "answer", calls: [{ id, name: "get_weather", input: {} }] });
const get_weather = defineTool({
  name: "get_weather",
  description: "Tells the weather.",
  input: { type: "object" },
  execute: () => "sunny",
});

/** What a server was sent with its last request. */
function idsSent(format: FormatName, { requests }: ProviderServer): readonly (readonly [string, string])[] {
  const { calls, results } = readRequest(format, requests.at(-1) as NonNullable<(typeof requests)[number]>);
  return calls.map((call, index) => [call.id, results[index]?.id ?? ""]);
}

const kimiAt = ({ baseURL }: ProviderServer): LanguageModel =>
  createOpenAICompatible({ baseURL, apiKey: "k", name: "moonshot" })("kimi-k2");

describe("Kimi's ids", () => {
  test("go back as they came", async () => {
    const server = await serve("openai-chat", [
      callOf("functions.get_weather:0"),
      callOf("functions.get_weather:1"),
      answer,
    ]);
    await createAgent({ model: kimiAt(server), tools: { get_weather } }).run("Weather?");
    expect(idsSent("openai-chat", server)).toEqual([
      ["functions.get_weather:0", "functions.get_weather:0"],
      ["functions.get_weather:1", "functions.get_weather:1"],
    ]);
  });

  test("that repeat become unique and keep their form", async () => {
    const server = await serve("openai-chat", [
      callOf("functions.get_weather:0"),
      callOf("functions.get_weather:0"),
      answer,
    ]);
    await createAgent({ model: kimiAt(server), tools: { get_weather } }).run("Weather?");
    const ids = idsSent("openai-chat", server);
    expect(new Set(ids.map(([ofCall]) => ofCall)).size).toBe(2);
    for (const [ofCall, ofResult] of ids) {
      expect(ofCall).toMatch(/^functions\.get_weather:\d+$/);
      expect(ofResult).toBe(ofCall);
    }
  });

  test.each([
    [
      "Anthropic",
      "anthropic-messages",
      /^[A-Za-z0-9_-]{1,64}$/,
      "toolu_01ok",
      (baseURL: string) => createAnthropic({ baseURL, apiKey: "k" })("claude-sonnet-4-5"),
    ],
    [
      "Mistral",
      "openai-chat",
      /^[A-Za-z0-9]{9}$/,
      "D681PevKs",
      (baseURL: string) => createMistral({ baseURL, apiKey: "k" })("mistral-large-latest"),
    ],
  ] as const)("fit when %s takes over, and its own stay", async (_, format, accepted, own, model) => {
    const store = createMemoryStore();
    const kimi = await serve("openai-chat", [callOf("functions.get_weather:0"), answer]);
    await createAgent({ model: kimiAt(kimi), tools: { get_weather }, store }).run("Weather?", { sessionId: "s" });
    const other = await serve(format, [callOf(own), answer]);
    const result = await createAgent({ model: model(other.baseURL), tools: { get_weather }, store }).run("And now?", {
      sessionId: "s",
    });
    expect(result).toMatchObject({ status: "completed" });
    const [first, second] = idsSent(format, other);
    expect(first?.[0]).toMatch(accepted);
    expect(first?.[1]).toBe(first?.[0]);
    expect(second).toEqual([own, own]);
  });
});
