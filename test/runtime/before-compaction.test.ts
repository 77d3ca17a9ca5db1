/**
 * Hooks before a compaction: what the summary must also preserve, and whether a requested compaction takes place.
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore, type Hook, type HookSubject, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createDeferred, createGateTool } from "../support/agents.js";
import { verifies } from "../verifies.js";

const proven = verifies("HOOK-1", "CTX-3");
const long = "A sentence of some length that fills the window. ".repeat(20);

function begin(store: Store, hooks: readonly Hook[], contextWindow = 100_000) {
  const summarizer = createScriptedModel(() => ({ text: "So far." }));
  const model = createScriptedModel(() => ({ text: long, usage: {} }));
  const agent = createAgent({ model, store, hooks, compaction: { contextWindow, model: summarizer } });
  return { agent, summarizer, session: agent.session("s") };
}

async function talk(agent: ReturnType<typeof begin>["agent"], runs: number): Promise<void> {
  for (let run = 1; run <= runs; run += 1) await agent.run(`Say it, ${run}.`, { sessionId: "s", runId: `r${run}` });
}

const readRecords = async (store: Store) =>
  (await store.read("s", 0, 1_000)).flatMap(({ event }) => (event.type === "compacted" ? [event.hooks ?? []] : []));

test(
  "add to what the person asked to preserve, one after the other, and a replay does not call them",
  proven,
  async () => {
    const store = createMemoryStore();
    const subjects: HookSubject<"beforeCompaction">[] = [];
    const hooks: readonly Hook[] = [
      { name: "a", beforeCompaction: () => ({ keep: "the plan" }) },
      { name: "b", beforeCompaction: (subject) => void subjects.push(subject) },
    ];
    const { agent, summarizer, session } = begin(store, hooks);
    await talk(agent, 3);
    expect(await session.compact({ keep: "the door" })).toMatchObject({ type: "compacted", summary: "So far." });
    expect(subjects).toEqual([{ trigger: "manual", keep: "the door\nthe plan", tokensBefore: expect.any(Number) }]);
    expect(summarizer.requests[0]?.systemPrompt).toContain("the door\nthe plan");
    expect(await readRecords(store)).toMatchObject([
      [
        { name: "a", hook: "beforeCompaction", outcome: "changed" },
        { name: "b", hook: "beforeCompaction", outcome: "ok" },
      ],
    ]);
    expect(await session.replay()).toMatchObject({ difference: null });
    expect(subjects).toHaveLength(1);
    expect(await store.verify()).toEqual([]);
  },
);

test("skip one that a person requested, and the conversation stays as it is", proven, async () => {
  const store = createMemoryStore();
  const { agent, summarizer, session } = begin(store, [{ name: "a", beforeCompaction: () => ({ skip: "not now" }) }]);
  await talk(agent, 3);
  const before = await session.messages();
  expect(await session.compact()).toMatchObject({ type: "unchanged", fault: { code: "refused", message: "not now" } });
  expect(summarizer.requests).toEqual([]);
  expect(await session.messages()).toEqual(before);
  expect(await session.state()).not.toHaveProperty("compactionAsked");
});

test("cannot skip one that makes room in the context window", proven, async () => {
  const store = createMemoryStore();
  const triggers: string[] = [];
  const skip: Hook = {
    name: "a",
    beforeCompaction({ trigger }) {
      triggers.push(trigger);
      return { skip: "never" };
    },
  };
  const { agent, session } = begin(store, [skip], 1_500);
  await talk(agent, 6);
  expect(triggers).toContain("auto");
  expect(triggers).not.toContain("manual");
  expect(JSON.stringify(await session.messages())).toContain("So far.");
});

test("cannot skip a requested one if the context window is full by then", proven, async () => {
  const store = createMemoryStore();
  const gate = createGateTool();
  const hook: Hook = {
    name: "a",
    beforeCompaction: ({ trigger }) => (trigger === "manual" ? { skip: "not now" } : undefined),
  };
  const model = createScriptedModel(({ messages }) => {
    const sent = JSON.stringify(messages);
    if (sent.length > 10_000) return { error: { kind: "context_overflow", message: "Too long." } };
    return sent.includes("wait for it") && messages.at(-1)?.role === "user"
      ? { calls: [{ name: "gate" }], usage: {} }
      : { text: long, usage: {} };
  });
  const compaction = { contextWindow: 3_000, model: createScriptedModel(() => ({ text: "So far." })) };
  const agent = createAgent({ model, store, hooks: [hook], tools: [gate.tool], compaction });
  await talk(agent, 3);
  const run = agent.run("wait for it", { sessionId: "s", runId: "r4" });
  await gate.started;
  const asked = agent.session("s").compact();
  await expect.poll(async () => (await agent.session("s").state()).compactionAsked).toBeDefined();
  gate.open("x".repeat(8_000));
  expect(await run).toMatchObject({ status: "completed" });
  expect(await asked).toMatchObject({ type: "compacted", summary: "So far." });
});

test.each([
  ["open", "compacted"],
  ["closed", "unchanged"],
] as const)("that fail leave a requested compaction %s: %s", proven, async (onFailure, type) => {
  const fail = () => {
    throw new Error("broken");
  };
  const { agent, session } = begin(createMemoryStore(), [{ name: "a", onFailure, beforeCompaction: fail }]);
  await talk(agent, 3);
  expect(await session.compact()).toMatchObject({ type });
});

test("are called again if the process ends before the summary is stored", proven, async () => {
  const store = createMemoryStore();
  const called = createDeferred();
  const hang = () => {
    called.resolve();
    return new Promise<undefined>(() => {});
  };
  const first = begin(store, [{ name: "a", timeoutMs: 100_000, beforeCompaction: hang }]);
  await talk(first.agent, 3);
  void first.session.compact().catch(() => {});
  await called.promise;
  await first.agent.shutdown({ graceMs: 1 });
  const second = begin(store, [{ name: "a", beforeCompaction: () => ({ keep: "the plan" }) }]);
  await second.session.resume();
  expect(second.summarizer.requests).toHaveLength(1);
  expect(second.summarizer.requests[0]?.systemPrompt).toContain("the plan");
  expect(await readRecords(store)).toMatchObject([[{ name: "a", outcome: "changed" }]]);
});
