/**
 * Whole runs with the real provider packages, against a server that speaks each provider's streaming format.
 */
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { type AgentOptions, createAgent, defineTool, type Model } from "../../src/index.js";
import { fromAiSdk } from "../../src/models/index.js";
import { type ProviderServer, type ScriptedReply, startProviderServer } from "../models/provider-server.js";
import { type RealProvider, readRequest, realProviders } from "../models/real-providers.js";
import { collect, filterEventsOfType } from "../support/agents.js";
import { createWatchedClock } from "../support/clock.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const servers: ProviderServer[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function start(
  provider: RealProvider,
  script: readonly ScriptedReply[],
): Promise<{ readonly model: Model; readonly server: ProviderServer }> {
  const server = await startProviderServer(provider.format, script);
  servers.push(server);
  const languageModel = provider.create({ baseURL: server.baseURL, apiKey: "sk-test" });
  return { model: fromAiSdk(languageModel, { providerOptions: provider.providerOptions, id: provider.id }), server };
}

const forecast = defineTool({
  name: "forecast",
  description: "Tells tomorrow's weather in a city.",
  input: z.object({ city: z.string() }),
  readOnly: true,
  execute: ({ city }) => `${city}: ${city === "Oslo" ? "snow" : "sun"}`,
});

const book = defineTool({
  name: "book",
  description: "Books a train.",
  input: z.object({ to: z.string() }),
  execute: ({ to }) => `booked to ${to}`,
});

const usage = { input: 100, output: 40, cached: 60, reasoning: 10 };
const options = (model: Model): AgentOptions => ({ model, tools: [forecast, book], systemPrompt: "You plan trips." });

describe.each(realProviders)("$name", (provider) => {
  test(
    "a run of three steps: reasoning, text, parallel calls, usage",
    verifies("CTX-2", "CTX-10", "LOOP-9", "LOOP-1"),
    async () => {
      for (const { open } of localStores)
        await withStore(open, async (store) => {
          const { model, server } = await start(provider, [
            {
              type: "answer",
              reasoning: "Two cities — two calls.",
              signature: "c2lnbmVk",
              text: "Looking — één moment.",
              calls: [
                { name: "forecast", input: { city: "Oslo" }, id: "call_1" },
                { name: "forecast", input: { city: "Zürich" }, id: "call_2" },
              ],
              usage,
            },
            { type: "answer", calls: [{ name: "book", input: { to: "Zürich" }, id: "call_3" }], usage },
            { type: "answer", text: "Booked. ☀️", usage },
          ]);
          const agent = createAgent({ ...options(model), store });
          const stream = agent.runStream("Where is it sunny? Book it.", { sessionId: "s", runId: "r" });
          const items = await collect(stream);
          const result = await stream.result;
          expect(result).toMatchObject({ status: "completed", reason: "stop", text: "Booked. ☀️", steps: 3 });
          expect(result.usage).toMatchObject({ inputTokens: 300, outputTokens: 120, cacheReadTokens: 180 });
          expect(result.usage.partial).toBeUndefined();

          expect(filterEventsOfType(items, "reasoning").map((event) => event.text)).toEqual([
            "Two cities — two calls.",
          ]);
          expect(filterEventsOfType(items, "text").map((event) => event.text)).toEqual(["Looking — één moment."]);
          expect(filterEventsOfType(items, "tool_call").map((event) => [event.callKey, event.input])).toEqual([
            ["r/1/1", { city: "Oslo" }],
            ["r/1/2", { city: "Zürich" }],
            ["r/2/1", { to: "Zürich" }],
          ]);
          expect(filterEventsOfType(items, "step_finished").map((event) => event.finishReason.unified)).toEqual([
            "tool-calls",
            "tool-calls",
            "stop",
          ]);

          // What was received goes back as it was: calls, results in their order, signatures, one system prompt first.
          const said = readRequest(provider.format, server.requests[2]);
          expect(said.systems).toEqual(["You plan trips."]);
          expect(said.systemAt).toBe(0);
          expect(said.calls.map((call) => [call.name, call.input])).toEqual([
            ["forecast", { city: "Oslo" }],
            ["forecast", { city: "Zürich" }],
            ["book", { to: "Zürich" }],
          ]);
          expect(said.results.map((one) => one.id)).toEqual(said.calls.map((call) => call.id));
          expect(said.results.map((one) => one.text)).toEqual([
            expect.stringContaining("snow"),
            expect.stringContaining("sun"),
            expect.stringContaining("booked to Zürich"),
          ]);
          if (provider.format !== "openai-chat") expect(said.signatures).toEqual(["c2lnbmVk"]);
          expect(server.requests).toHaveLength(3);

          // And again from the store, by an agent that was not there.
          const { model: next, server: second } = await start(provider, [{ type: "answer", text: "You're welcome." }]);
          expect(await createAgent({ ...options(next), store }).run("Thanks!", { sessionId: "s" })).toMatchObject({
            text: "You're welcome.",
          });
          const later = readRequest(provider.format, second.requests[0]);
          expect(later.calls).toEqual(said.calls);
          expect(later.results).toEqual(said.results);
          expect(later.signatures).toEqual(said.signatures);
        });
    },
  );

  test("429 with Retry-After is waited for, as long as was asked", verifies("RTRY-2", "RTRY-3"), async () => {
    const clock = createWatchedClock();
    const { model, server } = await start(provider, [
      { type: "answer", calls: [{ name: "forecast", input: { city: "Oslo" } }], usage },
      { type: "failure", failure: "rate-limit", headers: { "retry-after": "7" } },
      { type: "answer", text: "Snow.", usage },
    ]);
    const stream = createAgent({ ...options(model), clock }).runStream("Oslo?");
    const items = collect(stream);
    await clock.waitFor(7_000);
    await clock.advance(7_000);
    expect(await stream.result).toMatchObject({ status: "completed", text: "Snow.", steps: 2 });
    expect(filterEventsOfType(await items, "attempt_failed")).toMatchObject([
      { modelCallIndex: 2, attempt: 1, failure: { kind: "rate_limit", statusCode: 429 }, retryInMs: 7_000 },
    ]);
    expect(filterEventsOfType(await items, "tool_result")).toHaveLength(1);
    expect(clock.waits).toEqual([7_000]);
    expect(server.requests).toHaveLength(3);
  });

  test("a reset in mid-stream drops what was said and asks again", verifies("RTRY-6", "RTRY-3"), async () => {
    const { model, server } = await start(provider, [
      { type: "answer", text: "Half of an answer that never", ending: "reset", usage },
      { type: "answer", text: "The whole answer.", usage },
    ]);
    const agent = createAgent({ ...options(model), retry: { baseDelayMs: 0 } });
    const stream = agent.runStream("Go", { sessionId: "s" });
    const items = await collect(stream);
    expect(await stream.result).toMatchObject({ status: "completed", text: "The whole answer.", steps: 1 });
    expect(filterEventsOfType(items, "attempt_failed")).toMatchObject([{ attempt: 1, failure: { kind: "network" } }]);
    expect(
      items.some((item) => item.type === "delta" && item.delta.attempt === 1 && item.delta.kind === "text-delta"),
    ).toBe(true);
    expect(JSON.stringify(await agent.session("s").messages())).not.toContain("Half");
    expect(server.requests).toHaveLength(2);
  });

  test("a request that does not fit ends with context_limit, asked once", async () => {
    const { model, server } = await start(provider, [{ type: "failure", failure: "overflow" }]);
    const result = await createAgent(options(model)).run("Go");
    expect(result).toMatchObject({
      status: "failed",
      reason: "context_limit",
      error: { code: "context_overflow" },
      text: expect.stringMatching(/^The conversation no longer fits the model's context window: ./),
    });
    expect(server.requests).toHaveLength(1);
  });
});
