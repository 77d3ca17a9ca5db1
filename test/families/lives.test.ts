/**
 * Families whose processes die, whose clocks run, and whose messages come late.
 */
import { describe, expect, test } from "vitest";
import { createClient, createMemoryStore, type Store } from "../../src/index.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { createDeferred } from "../support/agents.js";
import { createFailingStore } from "../support/stores.js";
import { verifies } from "../verifies.js";
import {
  createApprovalTool,
  createFamily,
  createGatedTool,
  listNames,
  type Member,
  requireApprovals,
  waitUntil,
} from "./tree.js";

const proven = verifies("AGENT-2");
const approve = { type: "approve" } as const;
const payer: Member = { name: "payer", tools: [createApprovalTool("pay")] };
const boss: Member = { name: "boss", members: [{ name: "lead", members: [payer] }] };
const stranger = { id: "stranger", host: "elsewhere", pid: 1, startedAt: 0 };

async function childrenOf(store: Store): Promise<readonly string[]> {
  return (await store.list()).flatMap(({ sessionId }) => (sessionId === "p" ? [] : [sessionId]));
}

async function sessionOf(agent: string, store: Store): Promise<string> {
  const found = (await store.list()).find(({ info }) => info?.agent === agent);
  if (found === undefined) throw new Error(`There is no session of ${agent}.`);
  return found.sessionId;
}

describe("the wall clock", () => {
  test("stands still on the whole way up while a person is asked", proven, async () => {
    const store = createMemoryStore();
    const clock = createTestClock();
    const agent = createFamily(boss, { store, clock, limits: { maxWallClockMs: 10_000 } });
    const [question] = requireApprovals(await agent.run("Go.", { sessionId: "p" }));
    await clock.advance(3_600_000);
    await agent.session("p").answer(question?.callKey ?? "", approve);
    expect(await agent.session("p").resume()).toMatchObject({ status: "completed" });
    const states = await Promise.all((await store.list()).map(({ sessionId }) => store.load(sessionId)));
    for (const loaded of states) expect(loaded?.state).toMatchObject({ waitedMs: 3_600_000 });
  });

  test("ends a run whose child works for too long, though the run holds nothing", proven, async () => {
    const clock = createTestClock();
    const work = createGatedTool("work");
    const family: Member = { name: "boss", members: [{ name: "worker", tools: [work.tool] }] };
    const agent = createFamily(family, { clock, limits: { maxWallClockMs: 10_000 } });
    const result = agent.run("Go.", { sessionId: "p" });
    await work.reached;
    await clock.advance(30_000);
    expect(await result).toMatchObject({ status: "failed", reason: "max_wall_clock" });
  });
});

describe("whoever waits for a parent", () => {
  test("takes over a child whose process died", proven, async () => {
    const store = createMemoryStore();
    const clock = createTestClock();
    const asking = createFamily(boss, { store, clock });
    const [question] = requireApprovals(await asking.run("Go.", { sessionId: "p" }));
    await waitUntil(async () => (await store.list()).every(({ holder }) => holder === null));
    await asking.shutdown({ graceMs: 0 });

    // A process that dies holds the child that was answered.
    await createClient({ store })
      .session("p")
      .answer(question?.callKey ?? "", approve);
    const payerId = await sessionOf("payer", store);
    const held = await store.claim(payerId, { holder: stranger, now: clock.now(), leaseMs: 15_000 });
    expect(held.type).toBe("claimed");

    const agent = createFamily(boss, { store, clock });
    const result = agent.session("p").resume();
    await clock.advance(20_000);
    expect(await result).toMatchObject({ status: "completed" });
  });

  test("is told if the store fails under a child", proven, async () => {
    const inner = createMemoryStore();
    const { store, failAll, repair } = createFailingStore(inner);
    const work = createGatedTool("work");
    const family: Member = { name: "boss", members: [{ name: "worker", tools: [work.tool] }] };
    const agent = createFamily(family, { store, leaseMs: 200 });
    const result = agent.run("Go.", { sessionId: "p" });
    await work.reached;
    await waitUntil(async () => (await inner.describe("p"))?.holder === null);
    failAll();
    work.open();
    expect(await result).toMatchObject({ status: "interrupted", reason: "store_failed", resumable: true });
    repair();
    await agent.shutdown({ graceMs: 0 });
    expect(await createFamily(family, { store: inner }).session("p").resume()).toMatchObject({ status: "completed" });
  });

  test("looks at once when it joins one who only watches", proven, async () => {
    const store = { ...createMemoryStore(), watch: () => () => {} };
    const clock = createTestClock();
    const agent = createFamily({ name: "boss" }, { store, clock });
    await agent.run("Go.", { sessionId: "p" });
    const { seq } = await agent.session("p").state();
    await store.claim("p", { holder: stranger, now: clock.now(), leaseMs: 300 });
    const watching = agent.session("p").events({ after: seq })[Symbol.asyncIterator]();
    const first = watching.next();
    await clock.advance(10);
    const result = agent.run("Go on.", { sessionId: "p" });
    let isOver = false;
    void result.then(() => {
      isOver = true;
    });
    await clock.advance(700);
    expect(isOver).toBe(true);
    expect(await result).toMatchObject({ status: "completed" });
    expect(await first).toMatchObject({ value: { type: "run_started" } });
    await watching.return?.();
  });
});

test("a process that shuts down while it aborts a child leaves the child to others", proven, async () => {
  const inner = createMemoryStore();
  const posting = createDeferred();
  const posted = createDeferred();
  const store: Store = {
    ...inner,
    async post(sessionId, message) {
      if (sessionId !== "p" && message.body.type === "abort") {
        posting.resolve();
        await posted.promise;
      }
      return inner.post(sessionId, message);
    },
  };
  const own = createGatedTool("own");
  const family: Member = { name: "boss", members: [payer], tools: [own.tool] };
  const agent = createFamily(family, { store });
  const result = agent.run("Go.", { sessionId: "p" });
  await own.reached;
  await waitUntil(async () =>
    (await inner.list()).some((one) => one.sessionId !== "p" && one.status === "awaiting_human"),
  );
  await waitUntil(async () => (await inner.list()).every((one) => one.sessionId === "p" || one.holder === null));
  await agent.session("p").abort();
  await posting.promise;
  const down = agent.shutdown({ graceMs: 1_000 });
  posted.resolve();
  expect(await result).toMatchObject({ status: "interrupted", reason: "shutdown" });
  await down;
  const next = createFamily(family, { store: inner });
  expect(await next.session("p").resume()).toMatchObject({ status: "aborted" });
});

describe("what a child says of its waiting", () => {
  test("does not count if it comes after a later word", proven, async () => {
    const store = createMemoryStore();
    const agent = createFamily({ name: "boss", members: [payer] }, { store });
    await agent.run("Go.", { sessionId: "p" });
    const told = (await store.read("p")).flatMap(({ event }) => (event.type === "child_waiting" ? [event] : []));
    expect(told).toHaveLength(1);
    for (const { callKey, childId, childSeq } of told) {
      const body = { type: "child", callKey, childId, askedAt: null, seq: childSeq - 1 } as const;
      await store.post("p", { id: "late", at: 1, body });
    }
    expect(listNames(requireApprovals(await agent.session("p").resume()))).toEqual(["pay"]);
    expect(await store.inbox("p")).toEqual([]);
    expect((await store.load("p"))?.state.status).toBe("awaiting_human");
  });

  test("is kept by a parent whose process died before it knew that it waits", proven, async () => {
    const store = createMemoryStore();
    const clock = createTestClock();
    const family: Member = { name: "boss", members: [payer] };
    // The process of the parent dies after it has asked the child, and before it commits that it waits.
    const dying = createFailingStore(store);
    const first = createFamily(family, { store: dying.store, clock });
    dying.failCommits(3);
    expect(await first.run("Go.", { sessionId: "p" })).toMatchObject({ status: "interrupted" });
    dying.failAll();
    const [childId = ""] = await childrenOf(store);

    // Another process, which knows only the child's agent, lets the child ask.
    const child = createFamily(payer, { store, clock });
    expect(listNames(requireApprovals(await child.session(childId).resume()))).toEqual(["pay"]);
    const second = createFamily(family, { store, clock });
    const result = second.session("p").resume();
    await clock.advance(60_000);
    expect(listNames(requireApprovals(await result))).toEqual(["pay"]);
    const types = (await store.read("p")).map(({ event }) => event.type);
    expect(types.indexOf("child_waiting")).toBeLessThan(types.indexOf("tool_waiting"));
  });
});

describe("a family that was asked", () => {
  test("forks and replays without a difference, child and parent", proven, async () => {
    const store = createMemoryStore();
    const agent = createFamily(boss, { store });
    const [question] = requireApprovals(await agent.run("Go.", { sessionId: "p" }));
    const fork = await agent.session("p").fork();
    expect(await fork.state()).toMatchObject({ status: "aborted" });
    await agent.session("p").answer(question?.callKey ?? "", approve);
    await agent.session("p").resume();
    expect(await agent.session("p").replay()).toMatchObject({ difference: null, sessions: 3 });

    const payerId = await sessionOf("payer", store);
    const alone = createFamily(payer, { store });
    const copy = await alone.session(payerId).fork();
    const source = (await store.load(payerId))?.state;
    expect(await copy.state()).toMatchObject({ seq: source?.seq, status: "completed" });
    expect(await store.verify()).toEqual([]);
    expect((await copy.replay()).difference).toBeNull();
  });

  test("is answered at its top by a client", proven, async () => {
    const store = createMemoryStore();
    const agent = createFamily(boss, { store });
    const [question] = requireApprovals(await agent.run("Go.", { sessionId: "p" }));
    const client = createClient({ store }).session("p");
    expect(await client.answer(question?.callKey ?? "", approve, { by: "Ada" })).toBe("first");
    expect(await client.answer(question?.callKey ?? "", { type: "deny" })).toBe("second");
    expect(await agent.session("p").resume()).toMatchObject({ status: "completed" });
  });

  test("is aborted at its top while it waits", proven, async () => {
    const store = createMemoryStore();
    const agent = createFamily(boss, { store });
    await agent.run("Go.", { sessionId: "p" });
    await agent.session("p").abort({ note: "enough" });
    expect(
      await agent
        .session("p")
        .resume()
        .catch(() => agent.session("p").result()),
    ).toMatchObject({
      status: "aborted",
    });
    await waitUntil(async () => (await store.list()).every(({ status }) => status === "aborted"));
    expect(await agent.session("p").pendingApprovals()).toEqual([]);
  });
});
