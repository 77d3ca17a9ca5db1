/**
 * A child session is deleted before its parent has its result: the parent goes on with an error in its place.
 */
import { describe, expect, test } from "vitest";
import {
  type AnyTool,
  createAgent,
  createClient,
  createMemoryStore,
  createWorker,
  deleteSession,
  exportSessions,
  importSessions,
  PawlError,
  pruneSessions,
  type RunResult,
  type Store,
} from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createDeferred } from "../support/agents.js";
import { createFailingStore, localStores } from "../support/stores.js";
import { verifies } from "../verifies.js";
import { createApprovalTool, createFamily, createGatedTool, type Member, requireApprovals, waitUntil } from "./tree.js";

const proven = verifies("AGENT-2");
const now = 1;
const loss = 'The session of the agent \\"worker\\" was deleted before the agent ended.';
const asking: Member = { name: "boss", members: [{ name: "worker", tools: [createApprovalTool("pay")] }] };

type Delete = (store: Store, sessionId: string) => Promise<boolean>;
const deletions: readonly { readonly by: string; readonly remove: Delete }[] = [
  { by: "deleteSession", remove: (store, sessionId) => deleteSession(store, sessionId, { now, force: true }) },
  { by: "the store alone", remove: (store, sessionId) => store.delete(sessionId, { now, force: true }) },
];

async function findChild(store: Store): Promise<string> {
  let childId: string | undefined;
  await waitUntil(async () => {
    childId = (await store.list()).find(({ sessionId }) => sessionId !== "p")?.sessionId;
    return childId !== undefined;
  });
  return childId ?? "";
}

async function expectLoss(store: Store, result: RunResult | null): Promise<void> {
  expect(result).toMatchObject({ status: "completed", text: "boss is done." });
  const ends = (await store.read("p")).flatMap(({ event }) => (event.type === "tool_finished" ? [event] : []));
  expect(ends).toHaveLength(1);
  expect(ends[0]).toMatchObject({ outcome: "error" });
  expect(JSON.stringify(ends[0]?.output)).toContain(loss);
}

/** A store in which no process can drive a child. */
function holdChildren(inner: Store): Store {
  const holder = { id: "stranger", host: "elsewhere", pid: 1, startedAt: 0 };
  return {
    ...inner,
    claim: async (sessionId, options) =>
      sessionId === "p" ? inner.claim(sessionId, options) : { type: "held", holder, expiresAt: options.now + 60_000 },
  };
}

describe.each(deletions)("a child that is deleted by $by", ({ remove }) => {
  test.each(localStores)("while a caller waits for its parent ($name)", proven, async ({ open }) => {
    const { store, close } = await open();
    const work = createGatedTool("work");
    const agent = createFamily({ name: "boss", members: [{ name: "worker", tools: [work.tool] }] }, { store });
    const result = agent.run("Go.", { sessionId: "p" });
    await work.reached;
    await waitUntil(async () => (await store.load("p"))?.state.status === "tool_running");
    await remove(store, await findChild(store));
    work.open();
    await expectLoss(store, await result);
    await agent.shutdown({ graceMs: 0 });
    await close();
  });

  test("while it waits for a person, and no process is there", proven, async () => {
    const store = createMemoryStore();
    const first = createFamily(asking, { store });
    requireApprovals(await first.run("Go.", { sessionId: "p" }));
    await first.shutdown({ graceMs: 0 });
    await remove(store, await findChild(store));
    await expectLoss(store, await createFamily(asking, { store }).session("p").resume());
  });

  test("while a worker drives it", proven, async () => {
    const store = createMemoryStore();
    const work = createGatedTool("work");
    const agent = createFamily({ name: "boss", members: [{ name: "worker", tools: [work.tool] }] }, { store });
    const worker = createWorker({ store, agents: [agent] });
    await agent.session("p").send("Go.", { runId: "r" });
    const running = worker.run();
    await work.reached;
    await waitUntil(async () => (await store.describe("p"))?.holder === null);
    await remove(store, await findChild(store));
    work.open();
    await waitUntil(async () => (await store.load("p"))?.state.status === "completed");
    await expectLoss(store, await agent.session("p").result());
    await worker.stop({ graceMs: 0 });
    await running;
  });

  test("and worked in the background: the parent is told, and has its share and its place again", proven, async () => {
    const store = createMemoryStore();
    const work = createGatedTool("work");
    const model = createScriptedModel(({ messages, modelCallIndex }) => {
      const isStart = modelCallIndex === 1 && JSON.stringify(messages.at(-1)).includes("Start one.");
      return isStart ? { calls: [{ name: "worker", input: { task: "Work." } }] } : { text: "Noted." };
    });
    const worker = createAgent({
      name: "worker",
      model: createScriptedModel(({ modelCallIndex }) =>
        modelCallIndex === 1 ? { calls: [{ name: "work" }] } : { text: "Done." },
      ),
      tools: [work.tool],
    });
    const agent = createAgent({
      name: "boss",
      model,
      tools: [worker.asTool({ description: "Works.", background: true, budgetShare: 1 })],
      limits: { maxTokens: 10_000, maxChildrenAtOnce: 1 },
      store,
    });
    const session = agent.session("p");
    await agent.run("Start one.", { sessionId: "p" });
    await work.reached;
    const [lost] = (await session.state()).background ?? [];
    await remove(store, lost?.childId ?? "");
    await agent.run("Look.", { sessionId: "p" });
    await waitUntil(async () => (await session.state()).background === undefined);
    expect(JSON.stringify(await session.messages())).toContain("was deleted before the agent ended");
    await agent.run("Start one.", { sessionId: "p" });
    const [next] = (await session.state()).background ?? [];
    expect(next?.callKey).not.toBe(lost?.callKey);
    expect(next?.reservedTokens).toBeGreaterThan(5_000);
    work.open();
    await agent.shutdown({ graceMs: 0 });
  });
});

test("a worker continues a parent whose waiting child was deleted by another process", proven, async () => {
  const store = createMemoryStore();
  const first = createFamily(asking, { store });
  requireApprovals(await first.run("Go.", { sessionId: "p" }));
  await first.shutdown({ graceMs: 0 });
  const agent = createFamily(asking, { store });
  await deleteSession(store, await findChild(store), { now, force: true });
  await createWorker({ store, agents: [agent] }).runUntilIdle();
  await expectLoss(store, await agent.session("p").result());
});

test("the usage of a deleted child counts", proven, async () => {
  const store = createMemoryStore();
  const agent = createFamily(asking, { store });
  requireApprovals(await agent.run("Go.", { sessionId: "p" }));
  const childId = await findChild(store);
  const child = (await store.load(childId))?.state;
  const used = child?.status === "awaiting_human" ? (child.usage.inputTokens ?? 0) : 0;
  await deleteSession(store, childId, { now, force: true });
  const result = await agent.session("p").resume();
  expect(used).toBeGreaterThan(0);
  expect(result.usage.inputTokens).toBe(3 * used);
});

test.each([false, true])(
  "a child that ended is not begun again if it was pruned (background: %s)",
  proven,
  async (background) => {
    const store = createMemoryStore();
    const worked: string[] = [];
    const createWork = () =>
      createAgent({
        name: "worker",
        store,
        model: createScriptedModel(({ modelCallIndex }) => {
          worked.push(`${modelCallIndex}`);
          return { text: "Found." };
        }),
      });
    const createBoss = (from: Store) =>
      createAgent({
        name: "boss",
        store: from,
        model: createScriptedModel(({ messages }) =>
          messages.some(({ role }) => role === "tool")
            ? { text: "Done." }
            : { calls: [{ name: "worker", input: { task: "Work." } }] },
        ),
        tools: [createWork().asTool({ description: "Works.", background })],
        // The answer stays in the inbox while the hook looks at it.
        hooks: [
          { name: "slow", afterToolCall: async () => new Promise((resolve) => setImmediate(() => resolve(undefined))) },
        ],
      });
    // The process dies when it has asked the child, before it commits that it has.
    const dying = createFailingStore(store);
    dying.failCommits(3);
    expect(await createBoss(dying.store).run("Go.", { sessionId: "p" })).toMatchObject({ status: "interrupted" });
    dying.failAll();
    const childId = await findChild(store);
    expect(await createWork().session(childId).resume()).toMatchObject({ status: "completed" });
    const later = Date.now() + 3_600_000;
    await store.delete(childId, { now: later });

    expect(await createBoss(store).session("p").resume()).toMatchObject({ status: "completed" });
    await waitUntil(async () => (await store.inbox("p")).length === 0);
    expect(worked).toEqual(["1"]);
    expect(await store.describe(childId)).toBeNull();
  },
);

test("a child whose parent was deleted ends, and does not begin its parent again", proven, async () => {
  const store = createMemoryStore();
  const work = createGatedTool("work");
  const agent = createFamily({ name: "boss", members: [{ name: "worker", tools: [work.tool] }] }, { store });
  await agent.session("p").send("Go.");
  await work.reached;
  await waitUntil(async () => (await store.describe("p"))?.holder === null);
  await deleteSession(store, "p", { now, force: true });
  const childId = await findChild(store);
  work.open();
  await waitUntil(async () => (await store.read(childId)).some(({ event }) => event.type === "parent_notified"));
  await agent.shutdown({ graceMs: 0 });
  expect(await store.describe("p")).toBeNull();
  expect(await store.due(Date.now(), 10)).toEqual([]);
});

test("the abort of a parent does not begin a deleted child again", proven, async () => {
  const store = createMemoryStore();
  const agent = createFamily(asking, { store });
  requireApprovals(await agent.run("Go.", { sessionId: "p" }));
  const childId = await findChild(store);
  await store.delete(childId, { now, force: true });
  await agent.session("p").abort();
  await waitUntil(async () => (await store.load("p"))?.state.status !== "awaiting_human");
  await agent.shutdown({ graceMs: 0 });
  expect(await store.describe(childId)).toBeNull();
});

describe("a session that begins again, with the same run, after it was deleted without its child", () => {
  const request = { sessionId: "p", runId: "r" };

  test.each(localStores)(
    "gets the result of the child, which does not work again ($name)",
    proven,
    async ({ open }) => {
      const { store, close } = await open();
      const worked: string[] = [];
      const work: AnyTool = {
        name: "work",
        description: "Works.",
        input: { type: "object" },
        execute: () => worked.push("once"),
        recover: "rerun",
      };
      const agent = createFamily({ name: "boss", members: [{ name: "worker", tools: [work] }] }, { store });
      const first = await agent.run("Go.", request);
      await waitUntil(async () => (await store.describe("p"))?.holder === null);
      await deleteSession(store, "p", { now: Date.now() });
      const second = await agent.run("Go.", request);
      expect(second).toEqual(first);
      expect(second).toMatchObject({ status: "completed" });
      const finished = (await store.read("p")).filter(({ event }) => event.type === "tool_finished");
      expect(finished).toMatchObject([{ event: { outcome: "ok", output: { text: "worker is done." } } }]);
      expect(worked).toEqual(["once"]);
      await agent.shutdown({ graceMs: 0 });
      await close();
    },
  );

  test("has the question of the child that waits for a person", proven, async () => {
    const store = createMemoryStore();
    const agent = createFamily(asking, { store });
    const [earlier] = requireApprovals(await agent.run("Go.", request));
    await deleteSession(store, "p", { now, force: true });
    const [approval] = requireApprovals(await agent.run("Go.", request));
    expect(approval).toEqual(earlier);
    await agent.session("p").answer(approval?.callKey ?? "", { type: "approve" });
    expect(await agent.session("p").resume()).toMatchObject({ status: "completed" });
    await agent.shutdown({ graceMs: 0 });
  });

  test("gets the message that the child in the background has ended", proven, async () => {
    const store = createMemoryStore();
    const worker = createAgent({ name: "worker", model: createScriptedModel(() => ({ text: "Found." })) });
    const agent = createAgent({
      name: "boss",
      store,
      model: createScriptedModel(({ messages }) =>
        messages.some(({ role }) => role === "tool")
          ? { text: "Noted." }
          : { calls: [{ name: "worker", input: { task: "Work." } }] },
      ),
      tools: [worker.asTool({ description: "Works.", background: true })],
    });
    const hasEnd = async () =>
      JSON.stringify(await agent.session("p").messages()).includes("has ended") &&
      (await store.describe("p"))?.holder === null;
    await agent.run("Go.", request);
    await waitUntil(hasEnd);
    await deleteSession(store, "p", { now });
    expect(await agent.run("Go.", request)).toMatchObject({ status: "completed" });
    await waitUntil(hasEnd);
    expect((await agent.session("p").state()).background).toBeUndefined();
    await agent.shutdown({ graceMs: 0 });
  });
});

describe("a child whose parent has yet to get its result", () => {
  test("is not deleted before it has begun, unless by force", proven, async () => {
    const store = createMemoryStore();
    const agent = createFamily(asking, { store: holdChildren(store) });
    const result = agent.run("Go.", { sessionId: "p" });
    await waitUntil(async () => (await store.describe("p"))?.holder === null && (await store.list()).length === 2);
    const childId = await findChild(store);
    await expect(deleteSession(store, childId, { now })).rejects.toMatchObject({ code: "session_active" });
    expect(await deleteSession(store, childId, { now, force: true })).toBe(true);
    await expectLoss(store, await result);
    await agent.shutdown({ graceMs: 0 });
  });

  test("is not pruned between its end and the report of it", proven, async () => {
    const store = createMemoryStore();
    const reached = createDeferred();
    // The process dies when it is about to report the end.
    const dying = createFailingStore(store);
    const family: Member = { name: "boss", members: [{ name: "worker" }] };
    const first = createFamily(family, {
      store: {
        ...dying.store,
        post(sessionId, message) {
          if (sessionId !== "p" || message.body.type !== "result") return dying.store.post(sessionId, message);
          reached.resolve();
          return new Promise(() => {});
        },
      },
    });
    void first.run("Go.", { sessionId: "p" }).catch(() => {});
    await reached.promise;
    dying.failAll();
    const childId = await findChild(store);
    const later = Date.now() + 3_600_000;
    expect((await store.describe(childId))?.status).toBe("completed");
    const { deleted, kept } = await pruneSessions(store, { before: later, now: later });
    expect({ deleted, isKept: kept.includes(childId) }).toEqual({ deleted: [], isKept: true });
    await expect(deleteSession(store, childId, { now: later })).rejects.toMatchObject({ code: "session_active" });
  });
});

test("a parent that is deleted while its deleted child is reported stays deleted", proven, async () => {
  const inner = createMemoryStore();
  let lostId = "";
  let looks = 0;
  const store: Store = {
    ...holdChildren(inner),
    async inbox(sessionId) {
      // The first look finds that the child was deleted, and the second is about to report it.
      if (sessionId === lostId && ++looks === 2) await inner.delete("p", { now, force: true });
      return inner.inbox(sessionId);
    },
  };
  const agent = createFamily(asking, { store });
  const result = agent.run("Go.", { sessionId: "p" });
  const isParked = async () => (await inner.describe("p"))?.holder === null && (await inner.list()).length === 2;
  await waitUntil(isParked);
  const childId = await findChild(inner);
  lostId = childId;
  await inner.delete(childId, { now, force: true });
  await expect(result).rejects.toMatchObject({ code: "no_session" });
  await agent.shutdown({ graceMs: 0 });
  expect(await inner.list()).toEqual([]);
});

test("a session that a message began in place of a deleted child is not taken for the child", proven, async () => {
  const store = createMemoryStore();
  const first = createFamily(asking, { store });
  requireApprovals(await first.run("Go.", { sessionId: "p" }));
  await first.shutdown({ graceMs: 0 });
  const childId = await findChild(store);
  await store.delete(childId, { now, force: true });
  await createClient({ store }).session(childId).send("Are you there?", { agent: "worker" });
  await expectLoss(store, await createFamily(asking, { store }).session("p").resume());
});

test("a parent of a deleted child is not opened again and again while its store refuses commits", proven, async () => {
  const inner = createMemoryStore();
  const first = createFamily(asking, { store: inner });
  requireApprovals(await first.run("Go.", { sessionId: "p" }));
  await first.shutdown({ graceMs: 0 });
  await inner.delete(await findChild(inner), { now, force: true });
  const { store, failCommits } = createFailingStore(inner);
  failCommits();
  let claims = 0;
  const agent = createFamily(asking, {
    store: {
      ...store,
      claim(sessionId, options) {
        claims += 1;
        return claims > 20 ? new Promise(() => {}) : store.claim(sessionId, options);
      },
    },
  });
  expect(await agent.session("p").resume()).toMatchObject({ status: "interrupted", reason: "store_failed" });
  await new Promise((resolve) => setImmediate(resolve));
  expect(claims).toBeLessThan(4);
});

test("a child that begins is read, and none of its siblings at work", proven, async () => {
  const inner = createMemoryStore();
  const work = createGatedTool("work");
  const countAtWork = async () => {
    const atWork = await inner.list({ status: ["tool_running"] });
    return atWork.filter(({ sessionId }) => sessionId !== "p").length;
  };
  const reads: string[] = [];
  let started = 0;
  const store: Store = {
    ...inner,
    async post(sessionId, message) {
      // Each child begins when those before it are at work.
      const turn = sessionId !== "p" && message.body.type === "input" ? started++ : 0;
      await waitUntil(async () => (await countAtWork()) >= turn);
      return inner.post(sessionId, message);
    },
    async inbox(sessionId) {
      reads.push(sessionId);
      return inner.inbox(sessionId);
    },
    async load(sessionId) {
      reads.push(sessionId);
      return inner.load(sessionId);
    },
    async describe(sessionId) {
      reads.push(sessionId);
      return inner.describe(sessionId);
    },
  };
  const members = ["a", "b", "c", "d"].map((name) => ({ name, tools: [work.tool] }));
  const agent = createFamily({ name: "boss", members }, { store });
  const result = agent.run("Go.", { sessionId: "p" });
  await waitUntil(async () => (await countAtWork()) === 4);
  expect(reads.filter((sessionId) => sessionId !== "p").length).toBeLessThanOrEqual(12);
  work.open();
  await result;
});

test("a session that no version can read does not keep others from being pruned", proven, async () => {
  const inner = createMemoryStore();
  const agent = createFamily({ name: "boss", members: [{ name: "worker" }] }, { store: inner });
  await agent.run("Go.", { sessionId: "p" });
  const store: Store = {
    ...inner,
    load: () => Promise.reject(new PawlError("older_format", "This session has a format from before 0.1.")),
  };
  const later = Date.now() + 3_600_000;
  expect((await pruneSessions(store, { before: later, now: later })).deleted).toHaveLength(2);
});

test("stop_agent does not begin a deleted child again", proven, async () => {
  const store = createMemoryStore();
  const work = createGatedTool("work");
  let childId = "";
  let removed = false;
  const worker = createAgent({
    name: "worker",
    model: createScriptedModel(() => ({ calls: [{ name: "work" }] })),
    tools: [work.tool],
  });
  const agent = createAgent({
    name: "boss",
    model: createScriptedModel(({ messages }) => {
      const text = JSON.stringify(messages.at(-1));
      if (text.includes("Start one.")) return { calls: [{ name: "worker", input: { task: "Work." } }] };
      if (!text.includes("Stop it.")) return { text: "Noted." };
      // After the parent was opened, which would have found that the child is lost.
      void store.delete(childId, { now, force: true });
      removed = true;
      return { calls: [{ name: "stop_agent", input: { agent: childId } }] };
    }),
    tools: [worker.asTool({ description: "Works.", background: true })],
    store,
  });
  await agent.run("Start one.", { sessionId: "p" });
  await work.reached;
  childId = await findChild(store);
  await agent.run("Stop it.", { sessionId: "p" });
  expect(removed).toBe(true);
  expect(JSON.stringify(await agent.session("p").messages())).toContain("was deleted before the agent ended");
  expect(await store.describe(childId)).toBeNull();
  work.open();
  await agent.shutdown({ graceMs: 0 });
});

test("a child that is being imported is not lost", proven, async () => {
  const source = createMemoryStore();
  const first = createFamily(asking, { store: source });
  requireApprovals(await first.run("Go.", { sessionId: "p" }));
  await first.shutdown({ graceMs: 0 });
  const lines: string[] = [];
  for await (const line of exportSessions(source, { sessionIds: ["p"] })) lines.push(line);
  const childStart = lines.findLastIndex((line) => line.includes('"type":"session"'));
  const go = createDeferred();
  let passes = 0;
  async function* read() {
    passes += 1;
    for (const [index, line] of lines.entries()) {
      if (passes === 2 && index === childStart) await go.promise;
      yield line;
    }
  }
  const store = createMemoryStore();
  const importing = importSessions(store, { read });
  await waitUntil(async () => (await store.load("p")) !== null);
  const agent = createFamily(asking, { store });
  const early = agent.session("p").resume();
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  go.resolve();
  await importing;
  await early;
  expect(requireApprovals(await agent.session("p").resume())).toHaveLength(1);
  await agent.shutdown({ graceMs: 0 });
});
