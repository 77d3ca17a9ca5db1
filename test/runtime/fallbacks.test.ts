/**
 * Models that are tried in order once the policy has given up on the one before.
 */
import { describe, expect, onTestFinished, test } from "vitest";
import { createAgent, createMemoryStore, defineTool, type Model, type ModelFailure } from "../../src/index.js";
import { fromAiSdk } from "../../src/models/index.js";
import { createScriptedModel, type Script } from "../../src/testing/scripted-model.js";
import { type ScriptedReply, startProviderServer } from "../models/provider-server.js";
import { type RealProvider, readRequest, realProviders } from "../models/real-providers.js";
import { collect, createEchoTool, filterEventsOfType } from "../support/agents.js";
import { advanceThroughRetries, createWatchedClock } from "../support/clock.js";
import { createFailingStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const fails = (kind: ModelFailure["kind"]) => ({ error: { kind, message: "it failed" } });
const call = { calls: [{ name: "echo" }] };
const echo = createEchoTool().tool;
const scripted = (id: string, script: Script) => createScriptedModel(script, { id });

describe("fallbacks", () => {
  test("are tried in order, each when the one before was given up", verifies("RTRY-7"), async () => {
    const first = scripted("first", [fails("auth")]);
    const second = scripted("second", [fails("quota")]);
    const third = scripted("third", [{ text: "From the third." }]);
    const agent = createAgent({ model: first, fallbacks: [second, third] });
    const stream = agent.runStream("Go");
    const items = await collect(stream);
    expect(await stream.result).toMatchObject({ status: "completed", text: "From the third.", steps: 1 });
    expect(filterEventsOfType(items, "attempt_failed")).toMatchObject([
      { attempt: 1, model: "first", failure: { kind: "auth" }, next: "fallback" },
      { attempt: 2, model: "second", failure: { kind: "quota" }, next: "fallback" },
    ]);
    expect(filterEventsOfType(items, "step_finished")).toMatchObject([
      { modelCallIndex: 1, attempt: 3, model: "third" },
    ]);
  });

  test("end with the failure of the last one", verifies("RTRY-7"), async () => {
    const agent = createAgent({
      model: scripted("first", [fails("auth")]),
      fallbacks: [scripted("second", [fails("context_overflow")])],
    });
    expect(await agent.run("Go")).toMatchObject({
      status: "failed",
      reason: "context_limit",
      error: { code: "context_overflow" },
    });
  });

  test(
    "have each a policy of their own, which counts its own attempts and time",
    verifies("RTRY-7", "RTRY-2"),
    async () => {
      const clock = createWatchedClock();
      const asked: (readonly [string, number, number])[] = [];
      const policy = (name: string, most: number) => ({
        decide(_failure: ModelFailure, attempt: number, elapsedMs: number) {
          asked.push([name, attempt, elapsedMs]);
          return attempt > most ? { giveUp: "enough" } : { retryInMs: 1_000 };
        },
      });
      const agent = createAgent({
        model: scripted("first", () => fails("network")),
        retry: policy("first", 2),
        fallbacks: [
          { model: scripted("second", () => fails("network")), retry: policy("second", 1) },
          scripted("third", () => fails("network")),
        ],
        clock,
      });
      const stream = agent.runStream("Go");
      await advanceThroughRetries(clock, stream);
      expect(await stream.result).toMatchObject({ reason: "model_error" });
      expect(asked).toEqual([
        ["first", 1, 0],
        ["first", 2, 1_000],
        ["first", 3, 2_000],
        ["second", 1, 0],
        ["second", 2, 1_000],
        ["first", 1, 0],
        ["first", 2, 1_000],
        ["first", 3, 2_000],
      ]);
    },
  );

  test("stay for the rest of the run; the next one begins with the first model again", verifies("RTRY-7"), async () => {
    const first = scripted("first", [fails("quota"), { text: "I am back." }]);
    const second = scripted("second", [call, { text: "Done." }]);
    const agent = createAgent({ model: first, fallbacks: [second], tools: [echo] });
    expect(await agent.run("Go", { sessionId: "s" })).toMatchObject({ text: "Done.", steps: 2 });
    expect([first.requests.length, second.requests.length]).toEqual([1, 2]);
    expect(await agent.run("And?", { sessionId: "s" })).toMatchObject({ text: "I am back." });
    expect(await agent.session("s").state()).toMatchObject({ session: { model: "first" } });
  });

  test("are gone on with by another process", verifies("RTRY-7"), async () => {
    const store = createFailingStore(createMemoryStore());
    const options = { tools: [echo], store: store.store };
    const agent = createAgent({
      ...options,
      model: scripted("first", [fails("quota")]),
      fallbacks: [scripted("second", [call])],
    });
    store.failCommits(4);
    expect(await agent.run("Go", { sessionId: "s" })).toMatchObject({ status: "interrupted" });
    store.repair();
    const first = scripted("first", []);
    const second = scripted("second", [{ text: "Here too." }]);
    const other = createAgent({ ...options, model: first, fallbacks: [second] });
    expect(await other.session("s").resume()).toMatchObject({ status: "completed", text: "Here too." });
    expect(first.requests).toEqual([]);
  });

  test("that an agent has no more leave the last one that it has", verifies("RTRY-7"), async () => {
    const store = createFailingStore(createMemoryStore());
    const agent = createAgent({
      model: scripted("first", [fails("quota")]),
      fallbacks: [scripted("second", [fails("quota")]), scripted("third", [call])],
      tools: [echo],
      store: store.store,
    });
    store.failCommits(5);
    expect(await agent.run("Go", { sessionId: "s" })).toMatchObject({ status: "interrupted" });
    store.repair();
    const only = createAgent({ model: scripted("only", [{ text: "Alone." }]), tools: [echo], store: store.store });
    expect(await only.session("s").resume()).toMatchObject({ status: "completed", text: "Alone." });
  });

  test("of an AI SDK model, with settings of its own or without", verifies("RTRY-7"), async () => {
    const [provider] = realProviders;
    if (provider === undefined) throw new Error("There is no provider.");
    const { model } = await serve(provider, [{ type: "failure", failure: "unauthorized" }]);
    const plain = await serve(provider, [{ type: "failure", failure: "quota" }]);
    const settled = await serve(provider, [{ type: "answer", text: "Third." }]);
    const agent = createAgent({ model, fallbacks: [plain.model, { model: settled.model, retry: { maxRetries: 0 } }] });
    expect(await agent.run("Go")).toMatchObject({ status: "completed", text: "Third." });
  });

  test("that are no models are refused when the agent is made", () => {
    const model = scripted("m", []);
    for (const bad of ["gpt", {}, null, { model: "gpt" }, { model: {} }])
      expect(() => createAgent({ model, fallbacks: [bad as never] })).toThrow(
        expect.objectContaining({ name: "PawlError" }),
      );
  });
});

describe("failed attempts", () => {
  test("of all models count together, and end the run at maxErrors", verifies("RTRY-4"), async () => {
    const first = scripted("first", () => fails("network"));
    const second = scripted("second", () => fails("network"));
    const options = { model: first, fallbacks: [second], retry: { maxRetries: 2, baseDelayMs: 0 } };
    const result = await createAgent({ ...options, limits: { maxErrors: 5 } }).run("Go", { sessionId: "s" });
    expect(result).toMatchObject({ status: "failed", reason: "max_errors", error: { code: "network" } });
    expect([first.requests.length, second.requests.length]).toEqual([3, 2]);
  });

  test("are 20 at most in a run, unless more are allowed", verifies("RTRY-4"), async () => {
    const model = createScriptedModel(({ attempt, modelCallIndex }) =>
      attempt < 4 ? fails("overloaded") : { calls: [{ name: "echo", input: { step: modelCallIndex } }] },
    );
    const agent = createAgent({ model, tools: [echo], retry: { baseDelayMs: 0 } });
    const result = await agent.run("Go", { sessionId: "s" });
    expect(result).toMatchObject({ reason: "max_errors", steps: 6 });
    const state = await agent.session("s").state();
    expect(state.status !== "idle" && state.counters.errorCount).toBe(20);
    expect(model.requests).toHaveLength(26);
  });
});

async function serve(provider: RealProvider, script: readonly ScriptedReply[]) {
  const server = await startProviderServer(provider.format, script);
  onTestFinished(() => server.close());
  const languageModel = provider.create({ baseURL: server.baseURL, apiKey: "sk-test" });
  const model: Model = fromAiSdk(languageModel, { providerOptions: provider.providerOptions, id: provider.id });
  return { model, server };
}

describe("a conversation goes on with another provider", () => {
  const forecast = defineTool({
    name: "forecast",
    description: "Tells the weather.",
    input: { type: "object", properties: { city: { type: "string" } } },
    execute: () => "snow",
  });
  const pairs = realProviders.flatMap((from) =>
    realProviders
      .filter((to) => to.format !== from.format && to.specification === from.specification)
      .map((to) => ({ from, to })),
  );

  test.each(pairs)("$from.name → $to.name", verifies("RTRY-7"), async ({ from, to }) => {
    const first = await serve(from, [
      {
        type: "answer",
        reasoning: "I need the weather.",
        signature: "c2lnbmF0dXJl",
        text: "Let me look.",
        calls: [{ name: "forecast", input: { city: "Oslo" } }],
      },
      { type: "failure", failure: "quota" },
    ]);
    const second = await serve(to, [
      { type: "answer", text: "Again.", calls: [{ name: "forecast", input: { city: "Rome" } }] },
      { type: "answer", text: "Snow in both." },
    ]);
    const agent = createAgent({ model: first.model, fallbacks: [second.model], tools: [forecast] });
    expect(await agent.run("Weather?")).toMatchObject({ status: "completed", text: "Snow in both.", steps: 3 });
    const said = readRequest(to.format, second.server.requests[1]);
    expect(said.calls.map(({ name, input }) => [name, input])).toEqual([
      ["forecast", { city: "Oslo" }],
      ["forecast", { city: "Rome" }],
    ]);
    expect(said.results.map(({ text }) => text)).toEqual(["snow", "snow"]);
    // What one provider signed is of no use to another, and is not sent there.
    expect(said.signatures).toEqual([]);
  });
});
