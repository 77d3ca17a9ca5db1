import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { appendEntry, createTranscript, type Transcript } from "../../src/core/index.js";
import {
  type AgentOptions,
  createAgent,
  createMemoryStore,
  defineTool,
  estimateTokens,
  type Message,
  type Store,
  type TokenEstimator,
} from "../../src/index.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/index.js";
import { verifies } from "../verifies.js";

const script: readonly ScriptedStep[] = [
  { text: "Looking.", calls: [{ name: "look" }], usage: { inputTokens: 1_000, outputTokens: 50 } },
  { text: "Done.", usage: {} },
];

/** What an agent's tools are given to count with. */
async function estimatorOf(options: Pick<AgentOptions, "tokens">): Promise<TokenEstimator> {
  const given: TokenEstimator[] = [];
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: { type: "object" },
    execute(_input, { services }) {
      given.push(services.tokens);
      return "seen";
    },
  });
  await createAgent({ model: createScriptedModel(script), tools: [look], ...options }).run("Go");
  const [estimator] = given;
  if (estimator === undefined) throw new Error("The tool did not run.");
  return estimator;
}

async function transcriptOf(store: Store, sessionId: string): Promise<Transcript> {
  const transcript = createTranscript();
  for (const entry of await store.read(sessionId)) appendEntry(transcript, entry);
  return transcript;
}

const said = (text: string): Message => ({ role: "user", parts: [{ type: "text", text }] });

describe("an estimate", () => {
  test("grows with its text, and is never more than a token for each unit of it", () => {
    const anyText = fc.string({ unit: "binary", maxLength: 200 });
    fc.assert(
      fc.property(anyText, anyText, (start, rest) => {
        const whole = estimateTokens(start + rest);
        expect(whole).toBeGreaterThanOrEqual(estimateTokens(start));
        expect(whole).toBeLessThanOrEqual((start + rest).length);
      }),
    );
    expect(estimateTokens("")).toBe(0);
    expect(estimateTokens("\ud83d\ud83d")).toBe(2);
  });

  test("of a message counts its parts; an image counts alike whatever its bytes", async () => {
    const { text, message, request } = await estimatorOf({});
    const call = { type: "tool_call", toolCallId: "c", name: "look", input: { path: "a/b/c.txt" } } as const;
    const image = (data: string) =>
      ({ role: "user", parts: [{ type: "file", mediaType: "image/png", data }] }) as const;
    expect(message(said("Hello there."))).toBeGreaterThan(text("Hello there."));
    expect(message({ role: "assistant", parts: [call] })).toBeGreaterThan(text(JSON.stringify(call.input)));
    expect(message(image("AAAA"))).toBe(message(image("A".repeat(400_000))));
    const tools = [{ name: "look", description: "Looks.", inputSchema: { type: "object" } }];
    const messages = [said("Hello there.")];
    expect(request({ messages, tools: [] })).toBe(message(said("Hello there.")));
    expect(request({ messages, tools, systemPrompt: "Be brief." })).toBeGreaterThan(request({ messages, tools }));
  });
});

describe("a tokenizer", () => {
  test("that is given counts in place of the estimate", verifies("CTX-7"), async () => {
    const { text, message } = await estimatorOf({ tokens: { count: ({ length }) => length * 10 } });
    expect(text("abc")).toBe(30);
    expect(message(said("abc"))).toBeGreaterThanOrEqual(30);
  });

  test("that throws, or gives no number, leaves the estimate", verifies("CTX-7"), async () => {
    const broken = () => {
      throw new Error("no vocabulary");
    };
    for (const count of [broken, () => Number.NaN, () => -1])
      expect((await estimatorOf({ tokens: { count } })).text("Some words.")).toBe(estimateTokens("Some words."));
  });

  test("without a function is refused", () => {
    const tokens = {} as unknown as { readonly count: (text: string) => number };
    expect(() => createAgent({ model: createScriptedModel([]), tokens })).toThrow("count(text)");
  });
});

describe("the tokens of a conversation", () => {
  test("are those that the provider counted, and an estimate of what came after", verifies("CTX-7"), async () => {
    const store = createMemoryStore();
    const look = defineTool({ name: "look", description: "Looks.", input: { type: "object" }, execute: () => "seen" });
    await createAgent({ model: createScriptedModel(script), tools: [look], store }).run("Go", { sessionId: "s" });
    const { messages, countedTokens } = await transcriptOf(store, "s");
    const { context, message, request } = await estimatorOf({});
    const later = messages.slice(2);
    expect(later.map(({ role }) => role)).toEqual(["tool", "assistant"]);
    expect(context({ messages, tools: [] }, countedTokens)).toEqual({
      tokens: 1_050 + later.reduce((sum, one) => sum + message(one), 0),
      counted: 1_050,
    });
    expect(context({ messages, tools: [] }, null)).toEqual({ tokens: request({ messages, tools: [] }), counted: 0 });
  });

  test("are estimated where a provider tells nothing, or zero", verifies("CTX-7"), async () => {
    for (const usage of [{}, { outputTokens: 5 }, { inputTokens: 0, outputTokens: 0 }]) {
      const store = createMemoryStore();
      const model = createScriptedModel([{ text: "Done.", usage }]);
      await createAgent({ model, store }).run("Go", { sessionId: "s" });
      expect((await transcriptOf(store, "s")).countedTokens).toBeNull();
    }
  });
});
