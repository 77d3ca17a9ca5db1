import { expect, test } from "vitest";
import { createAgent, createClient, createMemoryStore, createWorker, defineTool, type Store } from "../../src/index.js";
import type { Clock } from "../../src/ports/clock.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { createDeferred } from "../support/agents.js";
import { createFailingStore, localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const fork = verifies("REC-6#fork");

function createPay() {
  let payments = 0;
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    input: { type: "object" },
    recover: "rerun",
    execute: () => {
      payments += 1;
      return "paid";
    },
  });
  return { pay, countPayments: () => payments };
}

test("a fork shares the history up to an entry and goes its own way", fork, async () => {
  const store = createMemoryStore();
  const model = createScriptedModel([{ text: "One." }, { text: "Two." }, { text: "Other two." }]);
  const agent = createAgent({ model, store });
  await agent.run("First.", { sessionId: "s" });
  const { seq } = await agent.session("s").state();
  await agent.run("Second.", { sessionId: "s" });

  const other = await agent.session("s").fork({ at: seq });
  expect(await agent.run("Another second.", { sessionId: other.id })).toMatchObject({ text: "Other two." });
  const said = (await other.messages()).map((message) => message.parts[0]);
  expect(said).toMatchObject([
    { text: "First." },
    { text: "One." },
    { text: "Another second." },
    { text: "Other two." },
  ]);
  expect(await agent.session("s").messages()).toHaveLength(4);
  expect(await store.verify()).toEqual([]);
});

test("what was under way is ended in the copy, and never run there", fork, async () => {
  const store = createMemoryStore();
  const { pay, countPayments } = createPay();
  const model = createScriptedModel([{ calls: [{ name: "pay" }] }, { text: "Paid." }, { text: "Not here." }]);
  const agent = createAgent({ model, tools: [pay], store });
  await agent.run("Pay.", { sessionId: "s" });
  const running = (await store.read("s")).find(({ event }) => event.type === "tool_decided");

  const copy = await agent.session("s").fork({ at: running?.seq ?? 0, sessionId: "copy" });
  expect(await copy.state()).toMatchObject({ status: "aborted" });
  expect(await agent.run("And here?", { sessionId: "copy" })).toMatchObject({ status: "completed", text: "Not here." });
  expect(countPayments()).toBe(1);
});

test("a point that does not exist, and an id that is taken, are refused", fork, async () => {
  const agent = createAgent({ model: createScriptedModel([{ text: "One." }]) });
  await agent.run("First.", { sessionId: "s" });
  await expect(agent.session("s").fork({ at: 99 })).rejects.toMatchObject({ code: "bad_input" });
  await expect(agent.session("s").fork({ sessionId: "s" })).rejects.toMatchObject({ code: "session_busy" });
  await expect(agent.session("none").fork({ at: 1 })).rejects.toMatchObject({ code: "no_session" });
});

test("an id that is taken is not held after the refusal", fork, async () => {
  const store = createMemoryStore();
  const agent = createAgent({ model: createScriptedModel(() => ({ text: "Done." })), store });
  await agent.run("First.", { sessionId: "s" });
  await agent.run("First.", { sessionId: "taken" });
  const client = createClient({ store });
  await expect(client.session("s").fork({ sessionId: "taken" })).rejects.toMatchObject({ code: "session_busy" });
  expect((await store.describe("taken"))?.holder).toBeNull();
});

test.each(localStores)("a run of the copy is not begun again by a request with its id ($name)", fork, ({ open }) =>
  withStore(open, async (store) => {
    const { pay, countPayments } = createPay();
    const model = createScriptedModel(({ messages }) =>
      messages.at(-1)?.role === "tool" ? { text: "Paid." } : { calls: [{ name: "pay" }] },
    );
    const agent = createAgent({ model, tools: [pay], store });
    const paid = await agent.run("Pay.", { sessionId: "s", runId: "march" });
    const copy = await agent.session("s").fork({ sessionId: "copy" });
    expect(await copy.send("Pay.", { runId: "march" })).toEqual({ runId: "march", isNew: false });
    expect(await agent.run("Pay.", { sessionId: "copy", runId: "march" })).toEqual({ ...paid, sessionId: "copy" });
    expect(await agent.run("Pay.", { sessionId: "copy", runId: "april" })).toMatchObject({ text: "Paid." });
    expect(countPayments()).toBe(2);
    const finished = (await store.read("copy")).flatMap(({ event }) =>
      event.type === "tool_finished" ? [event.callKey] : [],
    );
    expect(finished).toEqual(["march/1/1", "april/1/1"]);
    await agent.shutdown();
  }),
);

test("an id with a message that waits for its session is refused", fork, async () => {
  const store = createMemoryStore();
  const agent = createAgent({ name: "agent", model: createScriptedModel(() => ({ text: "Done." })), store });
  await agent.run("First.", { sessionId: "s" });
  const client = createClient({ store });
  await client.session("new").send("Begin.", { agent: "agent" });
  await expect(client.session("s").fork({ sessionId: "new" })).rejects.toMatchObject({ code: "session_busy" });
  await createWorker({ store, agents: [agent] }).runUntilIdle();
  expect(await client.session("new").messages()).toHaveLength(2);
});

test("a copy that a crash has cut off is not continued by a worker", fork, async () => {
  const steps = 60;
  const store = createMemoryStore();
  const { pay, countPayments } = createPay();
  const model = createScriptedModel(({ modelCallIndex }) =>
    modelCallIndex <= steps ? { calls: [{ name: "pay", input: { bill: modelCallIndex } }] } : { text: "Paid." },
  );
  const agent = createAgent({ name: "payer", model, tools: [pay], store, limits: { maxSteps: 2 * steps } });
  await agent.run("Pay.", { sessionId: "s" });
  expect(countPayments()).toBe(steps);
  // The second commit of the copy fails. The lease of the copy has ended when the worker looks.
  const dying = createFailingStore(store);
  dying.failCommits(2);
  await expect(createClient({ store: dying.store }).session("s").fork({ sessionId: "copy" })).rejects.toThrow();
  expect((await store.load("copy"))?.seq).toBeGreaterThan(0);
  const clock: Clock = {
    now: () => Date.now() + 60_000,
    elapsed: () => performance.now(),
    after(ms, callback) {
      const timer = setTimeout(callback, ms);
      return () => clearTimeout(timer);
    },
  };
  const later = createAgent({ name: "payer", model, tools: [pay], store, clock, limits: { maxSteps: 2 * steps } });
  await createWorker({ store, agents: [later], clock }).runUntilIdle();
  expect(countPayments()).toBe(steps);
});

test(
  "a copy that gets a message before it is complete is completed, and repeats nothing of its source",
  fork,
  async () => {
    const steps = 60;
    const inner = createMemoryStore();
    const { pay, countPayments } = createPay();
    const model = createScriptedModel(({ modelCallIndex, messages }) =>
      modelCallIndex <= steps && messages.length < 2 * steps
        ? { calls: [{ name: "pay", input: { bill: modelCallIndex } }] }
        : { text: "Paid." },
    );
    const options = { name: "payer", model, tools: [pay], limits: { maxSteps: 2 * steps } };
    await createAgent({ ...options, store: inner }).run("Pay.", { sessionId: "s" });
    expect(countPayments()).toBe(steps);
    const client = createClient({ store: inner });
    let sent: Promise<unknown> | null = null;
    const store: Store = {
      ...inner,
      async commit(lease, commit) {
        sent ??= client.session("copy").send("And now?", { agent: "payer" });
        await sent;
        return inner.commit(lease, commit);
      },
    };
    await createClient({ store }).session("s").fork({ sessionId: "copy" });
    await createWorker({ store: inner, agents: [createAgent({ ...options, store: inner })] }).runUntilIdle();
    const texts = (await client.session("copy").messages()).map(({ parts }) => parts[0]);
    expect(texts.slice(-2)).toMatchObject([{ text: "And now?" }, { text: "Paid." }]);
    expect(countPayments()).toBe(steps);
  },
);

test.each(["queue", "interrupt"] as const)(
  "a run that waits for its turn is not in the copy: %s",
  fork,
  async (mode) => {
    const store = createMemoryStore();
    const [begun, end] = [createDeferred(), createDeferred()];
    const paid: string[] = [];
    const tool = { description: "Works.", input: { type: "object" }, recover: "rerun" } as const;
    const hang = defineTool({
      ...tool,
      name: "hang",
      execute() {
        begun.resolve();
        return end.promise;
      },
    });
    const pay = defineTool({ ...tool, name: "pay", execute: (_, { sessionId }) => void paid.push(sessionId) });
    const model = createScriptedModel(({ messages }) => {
      const text = JSON.stringify(messages.at(-1));
      if (text.includes("Hang.")) return { calls: [{ name: "hang" }] };
      return text.includes("Pay.") ? { calls: [{ name: "pay" }] } : { text: "Done." };
    });
    const agent = createAgent({ name: "payer", model, tools: [hang, pay], store, limits: { abortGraceMs: 60_000 } });
    const running = agent.run("Hang.", { sessionId: "s" });
    await begun.promise;
    await agent.session("s").send("Pay.", { mode });
    const copy = await agent.session("s").fork({ sessionId: "copy" });
    expect(await copy.state()).toMatchObject({ status: "aborted", queue: [] });
    expect(await agent.run("Now?", { sessionId: "copy" })).toMatchObject({ text: "Done." });
    await createWorker({ store, agents: [agent] }).runUntilIdle();
    expect(paid).toEqual([]);
    expect(await store.verify()).toEqual([]);
    end.resolve();
    await running;
    await agent.shutdown();
  },
);

test("nobody else gets a copy that takes longer than its lease", fork, async () => {
  const inner = createMemoryStore();
  const clock = createTestClock(Date.now());
  const agent = createAgent({ model: createScriptedModel(() => ({ text: "Done." })), store: inner, clock });
  for (let run = 0; run < 150; run += 1) await agent.run(`Message ${run}.`, { sessionId: "s" });
  const holder = { id: "other", host: "elsewhere", pid: 1, startedAt: 0 };
  const claims: string[] = [];
  const store: Store = {
    ...inner,
    async commit(lease, commit) {
      clock.jump(10_000);
      claims.push((await inner.claim("copy", { holder, now: clock.now(), leaseMs: 1_000 })).type);
      return inner.commit(lease, commit);
    },
  };
  await createClient({ store, clock }).session("s").fork({ sessionId: "copy" });
  expect(claims.length).toBeGreaterThan(2);
  expect(new Set(claims)).toEqual(new Set(["held"]));
});
