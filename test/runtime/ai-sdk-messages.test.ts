/**
 * The conversation that tools of the AI SDK are given, with the real package.
 */
import { tool as aiTool, type ModelMessage, modelMessageSchema } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createAgent, createMemoryStore, type Message, type ModelDelta } from "../../src/index.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { verifies } from "../verifies.js";

const image = "iVBORw0KGgo=";
const city = z.object({ city: z.string() });

/** An agent whose tool `weather` of the AI SDK notes the messages that it is given. */
function agentThatNotes(steps: readonly ScriptedStep[]) {
  const seen: (readonly ModelMessage[])[] = [];
  const asked: (readonly ModelMessage[])[] = [];
  const weather = aiTool({
    description: "Tells the temperature.",
    inputSchema: city,
    needsApproval: (_input, { messages }) => {
      asked.push(messages);
      return false;
    },
    execute: ({ city: name }, { messages }) => {
      seen.push(messages);
      return `${name}: 21 °C`;
    },
  });
  const broken = aiTool({
    description: "Breaks.",
    inputSchema: city,
    execute: async (): Promise<string> => {
      throw new Error("it broke");
    },
  });
  const picture = aiTool({
    description: "Draws.",
    inputSchema: city,
    execute: () => ({
      type: "content",
      parts: [
        { type: "text", text: "A map." },
        { type: "file", mediaType: "image/png", data: image },
      ],
    }),
  });
  const data = aiTool({ description: "Gives data.", inputSchema: city, execute: () => ({ celsius: [21, null] }) });
  const model = createScriptedModel(steps);
  const store = createMemoryStore();
  const tools = { weather, broken, picture, data };
  return { agent: createAgent({ model, store, tools, systemPrompt: "You know the weather." }), model, seen, asked };
}

const inOslo = { city: "Oslo" };
const call = (name: string) => ({ name, input: inOslo });
const searched: readonly ModelDelta[] = [
  { kind: "reasoning-start", id: "r", providerMetadata: { provider: { signature: "abc" } } },
  { kind: "reasoning-delta", id: "r", text: "Hm." },
  { kind: "reasoning-end", id: "r" },
  { kind: "text-delta", id: "t", text: "I search, too." },
  { kind: "tool-call", id: "p1", name: "search", input: '{"q":"Oslo"}', providerExecuted: true },
  { kind: "tool-result", id: "p1", name: "search", output: { type: "json", value: ["rain"] } },
  { kind: "source", id: "1", url: "https://example.com", title: "Rain" },
  { kind: "tool-call", id: "w1", name: "weather", input: '{"city":"Oslo"}' },
  { kind: "done", finishReason: { unified: "tool-calls" }, usage: {} },
];
const steps: readonly ScriptedStep[] = [
  { text: "I look.", calls: [call("weather"), call("broken"), call("picture"), call("data")] },
  { deltas: searched },
  { calls: [call("weather")] },
  { text: "21 °C, and rain." },
];
const question = [
  { type: "text", text: "How is it there?" },
  { type: "file", mediaType: "image/png", data: image, filename: "there.png" },
  { type: "file", mediaType: "image/jpeg", data: "https://example.com/there.jpg" },
] as const;

describe("a tool of the AI SDK", verifies("TOOL-17", "TOOL-1"), () => {
  test("is given what the model saw, without the prompt and the answer, as ModelMessages", async () => {
    const { agent, seen, asked } = agentThatNotes(steps);
    expect(await agent.run(question)).toMatchObject({ status: "completed" });
    expect(seen).toHaveLength(3);
    expect(asked).toEqual(seen);
    expect(seen.map((messages) => messages.map(({ role }) => role).join(" "))).toEqual([
      "user",
      "user assistant tool",
      "user assistant tool assistant tool",
    ]);
    for (const messages of seen)
      for (const message of messages) expect(modelMessageSchema.safeParse(message)).toMatchObject({ success: true });
    expect(seen[0]).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "How is it there?" },
          { type: "file", mediaType: "image/png", data: image, filename: "there.png" },
          { type: "file", mediaType: "image/jpeg", data: new URL("https://example.com/there.jpg") },
        ],
      },
    ]);
    const results = seen[1]?.[2]?.content;
    expect(results).toMatchObject([
      { type: "tool-result", toolName: "weather", output: { type: "text", value: "Oslo: 21 °C" } },
      { toolName: "broken", output: { type: "error-text", value: expect.stringContaining("it broke") } },
      { toolName: "picture", output: { type: "content", value: [{}, { type: "image-data" }] } },
      { toolName: "data", output: { type: "json", value: { celsius: [21, null] } } },
    ]);
    expect(seen[2]?.[3]?.content).toMatchObject([
      { type: "reasoning", text: "Hm.", providerOptions: { provider: { signature: "abc" } } },
      { type: "text", text: "I search, too." },
      { type: "tool-call", toolCallId: "p1", providerExecuted: true },
      { type: "tool-result", toolCallId: "p1" },
      { type: "tool-call", toolName: "weather", input: inOslo },
    ]);
  });

  test("is given messages that another session takes as its history, and that say the same there", async () => {
    const { agent, model, seen } = agentThatNotes(steps);
    await agent.run(question);
    const [, , given = []] = seen;
    const shown = model.requests[2]?.messages ?? [];
    const next = createScriptedModel([{ text: "So it is." }]);
    await createAgent({ model: next }).run("Is that so?", {
      history: given as readonly object[] as readonly Message[],
    });
    // A history of the AI SDK has no sources.
    const withoutSources = shown.map((message) => ({
      ...message,
      parts: message.parts.filter(({ type }) => type !== "source"),
    }));
    expect(next.requests[0]?.messages.slice(0, -1)).toEqual(withoutSources);
  });

  test("is given messages that are made when it reads them, once", async () => {
    let isSame = false;
    const look = aiTool({
      description: "Looks.",
      inputSchema: city,
      execute: (_input, options) => {
        const getter = Object.getOwnPropertyDescriptor(options, "messages")?.get;
        const { messages } = options;
        isSame = getter !== undefined && messages === options.messages;
      },
    });
    const model = createScriptedModel([{ calls: [call("look")] }, { text: "Done." }]);
    await createAgent({ model, tools: { look } }).run("Go");
    expect(isSame).toBe(true);
  });
});
