/**
 * What goes with a model that is chosen by name: its window, its prices, its files; and what a list of messages is not
 * subject to.
 */
import { describe, expect, test } from "vitest";
import {
  type AgentOptions,
  createAgent,
  createMemoryStore,
  defineTool,
  type Hook,
  type Message,
  type ModelCallChange,
  type ModelRequest,
} from "../../src/index.js";
import { modelRequests } from "../../src/inspect.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { collect, createEchoTool, filterEventsOfType } from "../support/agents.js";
import { verifies } from "../verifies.js";

const proven = verifies("LOOP-20");
const words = "A sentence of some length that fills the window. ".repeat(12);

/** A hook that chooses this for the calls with these numbers. */
function choosing(choices: { readonly [modelCallIndex: number]: ModelCallChange }): Hook {
  return { name: "choose", beforeLLMCall: ({ modelCallIndex }) => choices[modelCallIndex] };
}

/** Talks for eleven steps, and sums up if it is asked to. */
function talking({ modelCallIndex: n, attempt }: ModelRequest): ScriptedStep {
  if (attempt === 0) return { text: "Summed up." };
  return n < 12 ? { text: words, calls: [{ name: "echo", input: { n } }], usage: {} } : { text: "Done." };
}

describe("of a model that is chosen by name", proven, () => {
  test("the window counts for a run: the conversation is compacted for it, and for no other model", async () => {
    const wide = createScriptedModel(talking, { contextWindow: 1_000_000 });
    const narrow = createScriptedModel(talking, { id: "narrow", contextWindow: 2_000 });
    const agent = createAgent({ model: wide, models: { narrow }, tools: [createEchoTool().tool] });
    const compactions = async (options: { readonly model?: string }) =>
      filterEventsOfType(await collect(agent.runStream("Go", options)), "compacted").length;
    expect(await compactions({})).toBe(0);
    expect(await compactions({ model: "narrow" })).toBeGreaterThan(0);
  });

  test("the window counts for a call: an answer that fills it is cut by the window, and not by its own length", async () => {
    const full: ScriptedStep = { text: "So it goes", finish: "length", usage: { inputTokens: 1_900, outputTokens: 5 } };
    const narrow = createScriptedModel([full], { id: "narrow", contextWindow: 2_000 });
    const own = createScriptedModel([full, { text: " on." }], { contextWindow: 1_000_000 });
    const chosen = createAgent({ model: own, models: { narrow }, hooks: [choosing({ 1: { model: "narrow" } })] });
    expect(await chosen.run("Go")).toMatchObject({ status: "failed", reason: "context_limit" });
    const plain = createAgent({ model: own, models: { narrow } });
    expect(await plain.run("Go")).toMatchObject({ status: "completed", text: "So it goes on." });
  });

  test("the name counts for a process that knows it: another one goes on with its own model", async () => {
    const store = createMemoryStore();
    const asking = defineTool({ ...createEchoTool().tool, needsApproval: true, recover: "rerun" });
    const fast = createScriptedModel([{ calls: [{ name: "echo", input: {} }] }], { id: "fast" });
    const unused = createScriptedModel([]);
    const first = createAgent({ model: unused, models: { fast }, tools: [asking], store });
    const waiting = await first.run("Go", { sessionId: "s", model: "fast" });
    if (waiting.status !== "awaiting_human") throw new Error(waiting.status);
    await first.shutdown();
    const own = createScriptedModel([{ text: "Done." }], { id: "own" });
    const session = createAgent({ model: own, tools: [asking], store }).session("s");
    await session.answer(waiting.approvals[0]?.callKey ?? "", { type: "approve" });
    expect(await session.resume()).toMatchObject({ status: "completed", text: "Done." });
    expect([own.requests.length, unused.requests.length]).toEqual([1, 0]);
  });

  test("the price counts", async () => {
    const usage = { inputTokens: 10, outputTokens: 0 };
    const own = createScriptedModel([{ text: "Done.", usage }], { id: "own" });
    const fast = createScriptedModel([{ calls: [{ name: "echo" }], usage }], { id: "fast" });
    const agent = createAgent({
      model: own,
      models: { fast },
      tools: [createEchoTool().tool],
      hooks: [choosing({ 1: { model: "fast" } })],
      usage: { prices: { own: { input: 1_000_000, output: 1 }, fast: { input: 100_000, output: 1 } } },
    });
    const stream = agent.runStream("Go");
    const steps = filterEventsOfType(await collect(stream), "step_finished");
    expect(steps.map(({ model, usage }) => [model, usage?.costUsd])).toEqual([
      ["fast", 1],
      ["own", 10],
    ]);
    expect((await stream.result).usage.costUsd).toBe(11);
  });

  test("it counts which files a result may hold", async () => {
    const data = Buffer.alloc(10, 7).toString("base64");
    const picture = defineTool({
      name: "picture",
      description: "Takes a picture.",
      input: { type: "object" },
      execute: () => ({ type: "content", parts: [{ type: "file", mediaType: "image/png", data }] }),
    });
    const taking = { name: "picture", input: {} };
    const sees = createScriptedModel([{ calls: [taking] }], { id: "sees" });
    const own = createScriptedModel([{ calls: [taking] }, { text: "Done." }]);
    const blind = { ...own, takesInResults: () => false };
    const hooks = [choosing({ 2: { model: "sees" } })];
    await createAgent({ model: blind, models: { sees }, tools: [picture], hooks }).run("Go");
    const shown = (request: ModelRequest | undefined) => JSON.stringify(request?.messages);
    expect(shown(sees.requests[0])).toContain(data);
    expect(shown(own.requests[1])).not.toContain(data);
    expect(shown(own.requests[1])).toContain("which this model cannot be shown");
  });
});

describe("a list of messages", proven, () => {
  test("is sent as it is: no old result is left out of it", async () => {
    const model = createScriptedModel(({ modelCallIndex: n }) =>
      n < 5 ? { calls: [{ name: "give", input: { n } }] } : { text: "Done." },
    );
    const give = defineTool({
      name: "give",
      description: "Gives.",
      input: { type: "object" },
      execute: ({ n }: { readonly n?: number }) => `${n}`.repeat(2_000),
    });
    const hook: Hook = {
      name: "all",
      beforeLLMCall: ({ messages, modelCallIndex }) => (modelCallIndex === 4 ? { messages } : undefined),
    };
    await createAgent({ model, tools: [give], hooks: [hook], toolOutput: { maxTotalBytes: 3_000 } }).run("Go");
    const holdsFirst = model.requests.map(({ messages }) => JSON.stringify(messages).includes("1".repeat(2_000)));
    expect(holdsFirst).toEqual([false, true, false, true, false]);
  });

  test("ends with the message at which the provider paused: nothing may come between the parts of its turn", async () => {
    const paused: ScriptedStep = {
      deltas: [
        { kind: "text-delta", id: "t", text: "I search, " },
        { kind: "done", finishReason: { unified: "stop", raw: "pause_turn" }, usage: {} },
      ],
    };
    const note: Message = { role: "user", parts: [{ type: "text", text: "Mind that." }] };
    const played = async (change: (messages: readonly Message[]) => readonly Message[]) => {
      const model = createScriptedModel([paused, { text: "and I found." }]);
      const store = createMemoryStore();
      const hook: Hook = {
        name: "list",
        beforeLLMCall: ({ messages, modelCallIndex }) =>
          modelCallIndex === 2 ? { messages: change(messages) } : undefined,
      };
      const agent = createAgent({ model, hooks: [hook], store });
      const failures = filterEventsOfType(await collect(agent.runStream("Go", { sessionId: "s" })), "hook_failed");
      expect(await collect(modelRequests(store, "s"))).toEqual(model.requests);
      return { failures, sent: model.requests[1]?.messages };
    };
    const before = await played((messages) => [note, ...messages]);
    expect(before).toMatchObject({ failures: [], sent: [note, { role: "user" }, { role: "assistant" }] });
    const after = await played((messages) => [...messages, note]);
    expect(after.failures).toMatchObject([{ outcome: "refused", message: expect.stringContaining("paused") }]);
    expect(after.sent).toMatchObject([{ role: "user" }, { role: "assistant" }]);
  });

  test("says nothing of the size of the conversation, whatever the provider counts", async () => {
    const played = async (hooks: readonly Hook[]) => {
      const usage = { inputTokens: 10, outputTokens: 10 };
      const model = createScriptedModel((request) => ({ ...talking(request), usage }));
      const options: AgentOptions = { model, tools: [createEchoTool().tool], hooks, store: createMemoryStore() };
      const agent = createAgent({ ...options, compaction: { contextWindow: 2_000 } });
      return filterEventsOfType(await collect(agent.runStream("Go")), "compacted").length;
    };
    const brief: Hook = { name: "brief", beforeLLMCall: ({ messages }) => ({ messages: messages.slice(0, 1) }) };
    expect(await played([])).toBe(0);
    expect(await played([brief])).toBeGreaterThan(0);
  });
});
