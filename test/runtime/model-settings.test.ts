/**
 * Settings of model calls: of an agent, a run and one call; and models that are chosen by name.
 */
import { describe, expect, test } from "vitest";
import {
  type AgentOptions,
  createAgent,
  createMemoryStore,
  type Hook,
  type ModelCallChange,
  type ModelSettings,
  type Store,
} from "../../src/index.js";
import { modelRequests, recordedAttempts } from "../../src/inspect.js";
import { createReplayModel } from "../../src/models/recorded/replay.js";
import { createScriptedModel, type Script, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { collect, createEchoTool, filterEventsOfType } from "../support/agents.js";
import { createWatchedClock } from "../support/clock.js";
import { verifies } from "../verifies.js";

const call: ScriptedStep = { calls: [{ name: "echo", input: {} }] };
const busy: ScriptedStep = { error: { kind: "overloaded", message: "busy" } };
const scripted = (id: string, script: Script = () => ({ text: `From ${id}.` })) => createScriptedModel(script, { id });

async function preparedIn(store: Store) {
  const entries = await store.read("s", 0, 1_000);
  return entries.flatMap(({ event }) => (event.type === "prepared" ? [event] : []));
}

/** A hook that chooses this for the calls with these numbers. */
function choosing(choices: { readonly [modelCallIndex: number]: ModelCallChange }): Hook {
  return { name: "choose", beforeLLMCall: ({ modelCallIndex }) => choices[modelCallIndex] };
}

describe("settings", () => {
  test("of a call go before those of its run, and those before the agent's", verifies("LOOP-16"), async () => {
    const model = createScriptedModel([call, call, { text: "Done." }, { text: "Again." }]);
    const store = createMemoryStore();
    const seen: unknown[] = [];
    const look: Hook = { name: "look", beforeLLMCall: ({ settings }) => void seen.push(settings) };
    const agent = createAgent({
      model,
      tools: [createEchoTool().tool],
      settings: { temperature: 0.5, topK: 4 },
      hooks: [choosing({ 2: { settings: { temperature: 1, seed: 7 } } }), look],
      store,
    });
    await agent.run("Go", { sessionId: "s", settings: { temperature: 0, stopSequences: ["END"] } });
    await agent.run("Again", { sessionId: "s" });
    const ofRun = { temperature: 0, topK: 4, stopSequences: ["END"] };
    const wanted = [ofRun, { ...ofRun, temperature: 1, seed: 7 }, ofRun, { temperature: 0.5, topK: 4 }];
    expect(model.requests).toMatchObject(wanted);
    expect(model.requests.map(({ seed }) => seed)).toEqual([undefined, 7, undefined, undefined]);
    expect(seen).toEqual([...wanted.slice(0, 3), wanted[3]]);
    expect(await collect(modelRequests(store, "s"))).toEqual(model.requests);
  });

  test("are written if they differ from those of the call before", verifies("LOOP-16"), async () => {
    const store = createMemoryStore();
    const model = createScriptedModel([call, call, call, call, { text: "Done." }]);
    const limits = { onRepeatedCall: "ignore" } as const;
    const hooks = [choosing({ 3: { settings: { seed: 1 } }, 4: { settings: { seed: 1 } } })];
    await createAgent({ model, tools: [createEchoTool().tool], hooks, limits, store }).run("Go", { sessionId: "s" });
    const absent = "absent";
    const written = (await preparedIn(store)).map((event) => ("settings" in event ? event.settings : absent));
    expect(written).toEqual([absent, absent, { seed: 1 }, absent, null]);
    expect(model.requests.map(({ seed }) => seed)).toEqual([undefined, undefined, 1, 1, undefined]);
  });

  test("are named anew after a compaction, and rebuilt", verifies("LOOP-16"), async () => {
    const words = "A sentence of some length that fills the window. ".repeat(12);
    const store = createMemoryStore();
    const model = createScriptedModel(({ modelCallIndex, attempt }) =>
      attempt === 0 ? { text: "Short." } : modelCallIndex < 9 ? { ...call, text: words, usage: {} } : { text: "Done." },
    );
    const agent = createAgent({
      model,
      tools: [createEchoTool().tool],
      settings: { temperature: 0 },
      compaction: { contextWindow: 2_000 },
      limits: { onRepeatedCall: "ignore" },
      store,
    });
    await agent.run("Go", { sessionId: "s" });
    const sent = model.requests.filter(({ attempt }) => attempt > 0);
    expect(sent.every(({ temperature }) => temperature === 0)).toBe(true);
    const prepared = await preparedIn(store);
    const named = prepared.filter(({ settings }) => settings !== undefined);
    expect(named.length).toBeGreaterThan(1);
    expect(named.length).toBeLessThan(prepared.length);
    expect((await collect(modelRequests(store, "s"))).filter(({ attempt }) => attempt > 0)).toEqual(sent);
  });

  const wrong: readonly (readonly [string, object, string])[] = [
    ["an unknown name", { maxTokens: 5 }, "Do you mean maxOutputTokens?"],
    ["a temperature below 0", { temperature: -1 }, "settings.temperature is -1"],
    ["no number", { topP: "high" }, "settings.topP"],
    ["a share above 1", { topP: 1.5 }, "settings.topP is 1.5; it must be from 0 to 1"],
    ["half a token", { maxOutputTokens: 0.5 }, "a whole number of tokens"],
    ["an empty stop sequence", { stopSequences: [""] }, "settings.stopSequences"],
    ["too many stop sequences", { stopSequences: Array(65).fill("x") }, "a list of at most 64 strings"],
    ["another effort", { reasoning: "much" }, 'settings.reasoning is "much"'],
  ];
  test.for(wrong)("are refused with %s: of an agent, a run and a hook", verifies("LOOP-16"), async ([, given, why]) => {
    const settings = given as ModelSettings;
    const code = (code: string) => expect.objectContaining({ code, message: expect.stringContaining(why) });
    expect(() => createAgent({ model: scripted("a"), settings })).toThrow(code("bad_configuration"));
    const agent = createAgent({ model: scripted("a") });
    await expect(agent.run("Go", { settings })).rejects.toThrow(code("bad_input"));
    const hooked = createAgent({ model: scripted("a"), hooks: [choosing({ 1: { settings } })] });
    const [failed] = filterEventsOfType(await collect(hooked.runStream("Go")), "hook_failed");
    expect(failed).toMatchObject({ outcome: "refused", message: expect.stringContaining(why) });
  });

  test("that a model cannot honor are warnings, and no failure", verifies("LOOP-16"), async () => {
    const store = createMemoryStore();
    const warned: ScriptedStep = { text: "Done.", warnings: ["topK: not here", "seed"] };
    const agent = createAgent({ model: createScriptedModel([warned]), settings: { topK: 3, seed: 1 }, store });
    const stream = agent.runStream("Go", { sessionId: "s" });
    const items = await collect(stream);
    expect(filterEventsOfType(items, "step_finished")).toMatchObject([{ warnings: ["topK: not here", "seed"] }]);
    const deltas = items.flatMap((item) => (item.type === "delta" ? [item.delta] : []));
    expect(deltas[0]).toMatchObject({ kind: "start", warnings: ["topK: not here", "seed"] });
    const entries = await store.read("s", 0, 100);
    expect(entries).toContainEqual(
      expect.objectContaining({
        event: expect.objectContaining({ type: "model_finished", warnings: ["topK: not here", "seed"] }),
      }),
    );
    expect((await agent.session("s").replay()).difference).toBeNull();
    const again = createAgent({ model: createReplayModel(recordedAttempts("s", entries)) });
    expect(filterEventsOfType(await collect(again.runStream("Go")), "step_finished")).toMatchObject([
      { warnings: ["topK: not here", "seed"] },
    ]);
  });

  test("a model's warnings are bounded, and what is no text is left out", verifies("LOOP-16"), async () => {
    const warnings = [...Array(50).fill("x".repeat(5_000)), 7] as readonly string[];
    const items = await collect(
      createAgent({ model: createScriptedModel([{ text: "Done.", warnings }]) }).runStream("Go"),
    );
    const [step] = filterEventsOfType(items, "step_finished");
    expect(step?.warnings?.map((text) => text.length)).toEqual(Array(20).fill(1_000));
  });
});

describe("a model that is chosen by name", () => {
  const models = (fast = scripted("fast"), smart = scripted("smart")) => ({ fast, smart });

  test("answers the call, and the run's model the others", verifies("LOOP-20"), async () => {
    const named = models(scripted("fast", [call]));
    const own = scripted("own", [call, { text: "Done." }]);
    const store = createMemoryStore();
    const hooks = [choosing({ 2: { model: "fast" } })];
    const agent = createAgent({ model: own, models: named, tools: [createEchoTool().tool], hooks, store });
    const items = await collect(agent.runStream("Go", { sessionId: "s" }));
    expect(filterEventsOfType(items, "step_finished").map(({ model }) => model)).toEqual(["own", "fast", "own"]);
    expect((await preparedIn(store)).map(({ model }) => model)).toEqual([undefined, "fast", undefined]);
    expect((await agent.session("s").replay()).difference).toBeNull();
  });

  test("by a run takes the place of the agent's; its fallbacks stay", verifies("LOOP-20"), async () => {
    const named = { fast: scripted("fast", [call, { error: { kind: "auth", message: "no" } }]) };
    const own = scripted("own");
    const agent = createAgent({
      model: own,
      models: named,
      fallbacks: [scripted("second", [call, { text: "Done." }])],
      tools: [createEchoTool().tool],
    });
    const items = await collect(agent.runStream("Go", { model: "fast" }));
    expect(filterEventsOfType(items, "step_finished").map(({ model }) => model)).toEqual(["fast", "second", "second"]);
    expect(own.requests).toEqual([]);
    await agent.run("Go");
    expect(own.requests).toHaveLength(1);
  });

  test("is given up for this call: the run goes on with its present model", verifies("LOOP-20"), async () => {
    const fast = scripted("fast", [{ error: { kind: "auth", message: "no" } }, { text: "Done." }]);
    const own = scripted("own", [call]);
    const store = createMemoryStore();
    const hook: Hook = { name: "fast", beforeLLMCall: () => ({ model: "fast" }) };
    const options = { model: own, models: { fast }, fallbacks: [scripted("second")], hooks: [hook], store };
    const agent = createAgent({ ...options, tools: [createEchoTool().tool] });
    const items = await collect(agent.runStream("Go", { sessionId: "s" }));
    expect(filterEventsOfType(items, "attempt_failed")).toMatchObject([{ model: "fast", next: "fallback" }]);
    expect(filterEventsOfType(items, "step_finished").map(({ model }) => model)).toEqual(["own", "fast"]);
    expect(await collect(modelRequests(store, "s"))).toEqual([fast.requests[0], own.requests[0], fast.requests[1]]);
    expect((await agent.session("s").replay()).difference).toBeNull();
  });

  test("and the run's own models are given up one after the other", verifies("LOOP-20"), async () => {
    const no: Script = () => ({ error: { kind: "auth", message: "no" } });
    const hook: Hook = { name: "fast", beforeLLMCall: () => ({ model: "fast" }) };
    const agent = createAgent({
      model: scripted("own", no),
      models: { fast: scripted("fast", no) },
      fallbacks: [scripted("second", no)],
      hooks: [hook],
    });
    const items = await collect(agent.runStream("Go"));
    expect(filterEventsOfType(items, "attempt_failed").map(({ model, next }) => [model, next])).toEqual([
      ["fast", "fallback"],
      ["own", "fallback"],
      ["second", "give_up"],
    ]);
  });

  test("has its own policy, timeouts and window", verifies("LOOP-20"), async () => {
    const clock = createWatchedClock();
    const silent = createScriptedModel([{ wait: new Promise(() => {}) }, { text: "Done." }], { id: "fast" });
    const decide = () => ({ retryInMs: 3_000 });
    const fast = { model: silent, retry: { decide }, timeouts: { firstChunkMs: 1_000 } };
    const hooks = [choosing({ 1: { model: "fast" } })];
    const run = createAgent({ model: scripted("own"), models: { fast }, hooks, clock }).runStream("Go");
    const items = collect(run);
    await clock.runUntilIdle({ maxMs: 60_000 });
    expect(filterEventsOfType(await items, "attempt_failed")).toMatchObject([
      { model: "fast", failure: { code: "first_chunk_timeout" }, next: "retry", retryInMs: 3_000 },
    ]);
    expect(filterEventsOfType(await items, "step_finished")).toMatchObject([{ model: "fast", attempt: 2 }]);
  });

  test("must be one of the agent's: a run is refused, a hook too", verifies("LOOP-20"), async () => {
    const agent = createAgent({ model: scripted("own"), models: models() });
    const refused = {
      code: "bad_input",
      message: expect.stringContaining('Do you mean "fast"? The agent has fast, smart.'),
    };
    await expect(agent.run("Go", { model: "fats" })).rejects.toMatchObject(refused);
    await expect(agent.session("s").send("Go", { model: "fats" })).rejects.toMatchObject(refused);
    const hooked = agent.with({ hooks: [choosing({ 1: { model: "fats" } })] });
    const items = await collect(hooked.runStream("Go"));
    expect(filterEventsOfType(items, "hook_failed")).toMatchObject([{ outcome: "refused" }]);
    expect(filterEventsOfType(items, "step_finished")).toMatchObject([{ model: "own" }]);
  });

  test("needs a price under a limit of cost", verifies("LOOP-20"), () => {
    const options: AgentOptions = { model: scripted("own"), models: models(), limits: { maxCostUsd: 1 } };
    const priced = { input: 1, output: 1 };
    const wanted = (id: string) =>
      expect.objectContaining({ message: expect.stringContaining(`the model ${id} has no price`) });
    expect(() => createAgent({ ...options, usage: { prices: { own: priced } } })).toThrow(wanted("fast"));
    const prices = { own: priced, fast: priced, smart: priced };
    expect(createAgent({ ...options, usage: { prices } }).options.limits).toEqual({ maxCostUsd: 1 });
  });

  test("is called again by another process, in the same attempt's turn", verifies("LOOP-20", "LOOP-16"), async () => {
    const clock = createWatchedClock();
    const store = createMemoryStore();
    const retry = { decide: () => ({ retryInMs: 7_000 }) };
    const hook = choosing({ 1: { model: "fast", settings: { seed: 3 }, activeTools: [] } });
    const options = { retry, clock, store, model: scripted("own") };
    const first = createAgent({ ...options, models: { fast: scripted("fast", [busy]) }, hooks: [hook] });
    const left = first.run("Go", { sessionId: "s" });
    await clock.waitFor(7_000);
    await first.shutdown({ graceMs: 0 });
    expect((await left).status).toBe("interrupted");
    const fast = scripted("fast");
    const second = createAgent({ ...options, models: { fast } });
    const resumed = second.session("s").resume();
    await clock.waitFor(7_000);
    await clock.advance(7_000);
    expect(await resumed).toMatchObject({ status: "completed", text: "From fast." });
    expect(fast.requests).toMatchObject([{ attempt: 2, seed: 3 }]);
  });
});
