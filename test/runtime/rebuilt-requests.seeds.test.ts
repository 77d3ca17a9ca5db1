/**
 * Every request that a model got is made again from the log alone: with messages, models, settings, prompts and tools
 * that hooks change, steers, second runs, compactions, failed attempts, and processes that leave and come.
 */
import { expect, test } from "vitest";
import {
  type ContextManager,
  createAgent,
  createMemoryStore,
  type Hook,
  type Model,
  type ModelCallChange,
  type ModelRequest,
  modelRequests,
} from "../../src/index.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { type Chance, createChance } from "../core/chance.js";
import { collect, createEcho } from "../support/agents.js";
import { randomList, said } from "../support/message-lists.js";
import { sampled } from "../support/sampled.js";
import { verifies } from "../verifies.js";

const long = "Words that take their room in the window. ".repeat(40);

function changes(chance: Chance): NonNullable<Hook["beforeLLMCall"]> {
  return ({ messages }) => {
    const change: { -readonly [Key in keyof ModelCallChange]: ModelCallChange[Key] } = {};
    if (chance.once(2)) change.messages = randomList(messages, chance);
    if (chance.once(3)) change.model = chance.pick(["fast", "smart"]);
    if (chance.once(3)) change.settings = { temperature: chance.below(2), seed: chance.below(3) };
    if (chance.once(4)) change.activeTools = chance.pick([["echo"], []]);
    if (chance.once(5)) change.systemPrompt = `Prompt ${chance.below(3)}`;
    return Object.keys(change).length === 0 ? undefined : change;
  };
}

/** The managers of all processes give the same list for the same view, as they must. */
const manager: ContextManager = {
  build: ({ tools, messages, input }) => {
    const chance = createChance(messages.length * 31 + input.length);
    const append = chance.once(4) ? [said("Added", chance.below(3) * 200) as never] : [];
    return { tools, append, ...(chance.once(2) ? { messages: randomList([...messages, ...input], chance) } : {}) };
  },
};

async function play(seed: number): Promise<{ readonly sent: number; readonly summaries: number }> {
  const chance = createChance(seed);
  const store = createMemoryStore();
  const sent: ModelRequest[] = [];
  /** Requests of compactions whose process left: their entry was never written. */
  const lost = new Set<ModelRequest>();
  const answer = (request: ModelRequest): ScriptedStep => {
    const copy = { ...request, messages: [...request.messages] };
    sent.push(copy);
    if (request.purpose === "compaction") {
      if (leaving) lost.add(copy);
      return chance.once(6) ? busy : { text: "Summed up." };
    }
    if (chance.once(7)) return busy;
    if (chance.once(9)) return { error: { kind: "auth", message: "no" } };
    return chance.once(5)
      ? { text: "Done." }
      : { calls: [{ name: "echo", input: { n: chance.below(9) } }], text: long, usage: {} };
  };
  const busy: ScriptedStep = { error: { kind: "overloaded", message: "busy" } };
  let leaving = false;
  const model = (id: string): Model => createScriptedModel(answer, { id, record: false });
  const start = () =>
    createAgent({
      model: model("own"),
      models: { fast: model("fast"), smart: model("smart") },
      fallbacks: [model("second")],
      tools: [createEcho().tool, createEcho("other").tool],
      systemPrompt: "Be kind.",
      ...(chance.once(2) ? { settings: { topK: 1 + chance.below(2) } } : {}),
      hooks: chance.once(5) ? [] : [{ name: "change", beforeLLMCall: changes(chance) }],
      ...(chance.once(2) ? { context: { manager } } : {}),
      retry: { decide: (failure) => (failure.kind === "auth" ? { giveUp: "" } : { retryInMs: 0 }) },
      compaction: { contextWindow: 6_000 },
      limits: { maxSteps: 8, onRepeatedCall: "ignore", onMaxSteps: chance.pick(["stop", "summary"]) },
      store,
    });
  for (let run = 0; run < 4; run += 1) {
    const options = {
      ...(chance.once(3) ? { model: "smart" } : {}),
      ...(chance.once(3) ? { settings: { stopSequences: ["END"] } } : {}),
    };
    let agent = start();
    const stream = agent.runStream(`Run ${run}`, { sessionId: "s", ...options });
    for await (const item of stream) {
      if (item.type !== "tool_call" && item.type !== "attempt_failed") continue;
      if (chance.once(4)) await agent.session("s").steer(`Steer ${chance.below(100)}`);
      if (!chance.once(6)) continue;
      // This process leaves at once; another one carries the run on.
      leaving = true;
      await agent.shutdown({ graceMs: 0 });
      leaving = false;
      agent = start();
    }
    if ((await stream.result).status === "interrupted") await agent.session("s").resume();
    await agent.shutdown();
  }
  const made = await collect(modelRequests(store, "s"));
  // A process that left may have prepared a call that it did not make; and not have written what a summary was asked.
  const isListed = (request: ModelRequest) => request.purpose !== "compaction" || !lost.has(request);
  const expected = sent.filter(isListed);
  const keyOf = ({ runId, modelCallIndex, attempt, purpose }: ModelRequest) =>
    `${runId}/${modelCallIndex}/${attempt}/${purpose}`;
  const keys = new Set(expected.map(keyOf));
  expect(made.filter((request) => keys.has(keyOf(request)))).toEqual(expected);
  return { sent: expected.length, summaries: expected.filter(({ purpose }) => purpose === "compaction").length };
}

test("requests are made again from the log, as the models got them", {
  ...verifies("TRC-3", "LOOP-16", "LOOP-20"),
  timeout: 120_000,
}, async () => {
  let [requests, summaries] = [0, 0];
  for (let seed = 1; seed <= sampled({ quick: 12, long: 60 }); seed += 1) {
    const played = await play(seed);
    requests += played.sent;
    summaries += played.summaries;
  }
  expect(requests).toBeGreaterThan(sampled({ quick: 200, long: 1_377 }));
  expect(summaries).toBeGreaterThan(sampled({ quick: 5, long: 50 }));
});
