/**
 * Notices: what commits write, and how a worker delivers it to a real receiver.
 */
import { describe, expect, test } from "vitest";
import {
  createAgent,
  createMemoryStore,
  createSchedules,
  createWorker,
  deleteSession,
  type WorkerReport,
} from "../../src/index.js";
import { createNotices, createOutbox, type NoticeDestination, type NoticesOptions } from "../../src/notices/index.js";
import { createServer, createToken, type LogLine } from "../../src/server/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { standard } from "../../src/webhooks/index.js";
import { createDeferred } from "../support/agents.js";
import { verifies } from "../verifies.js";
import { local, secret, startReceiver } from "./receiver.js";

const proven = verifies("TIME-6#delivery");
const question = "Pay 9,900 cents to Mallory?";

/** An agent whose only tool needs approval, and a worker that delivers notices. */
function createBench(
  destination: Partial<NoticeDestination> & { readonly url: string },
  options: NoticesOptions = local,
) {
  const store = createMemoryStore();
  const clock = createTestClock();
  const model = createScriptedModel(({ messages }) =>
    messages.some(({ role }) => role === "tool")
      ? { text: "Paid." }
      : { calls: [{ name: "pay", input: { question } }] },
  );
  const pay = {
    name: "pay",
    description: "Pays.",
    input: { type: "object" },
    needsApproval: true,
    execute: () => "ok",
  };
  const agent = createAgent({ name: "cashier", model, tools: [pay], store, clock });
  const reports: WorkerReport[] = [];
  const createNoticesWorker = (more: Partial<NoticeDestination> = {}) =>
    createWorker({
      ...{ store, agents: [agent], clock },
      notices: createNotices([{ id: "desk", secret, ...destination, ...more }], options),
      onReport: (report) => reports.push(report),
    });
  const failures = () => reports.flatMap((report) => (report.type === "notice_failed" ? [report] : []));
  return {
    store,
    clock,
    agent,
    worker: createNoticesWorker(),
    createNoticesWorker,
    failures,
    outbox: createOutbox({ store }),
  };
}

/** A worker adds its destinations when it starts. */
async function ask({ worker, agent }: ReturnType<typeof createBench>, sessionId = "s"): Promise<void> {
  await worker.runUntilIdle();
  expect(await agent.run("Pay.", { sessionId, runId: "r1" })).toMatchObject({ status: "awaiting_human" });
}

describe("a notice", () => {
  test("says that a run waits, and that it ended: signed, and without anything that was said", proven, async () => {
    const { received, url } = await startReceiver();
    const bench = createBench({ url });
    await ask(bench);
    await bench.worker.runUntilIdle();
    const session = bench.agent.session("s");
    const [approval] = await session.pendingApprovals();
    await session.answer(approval?.callKey ?? "", { type: "approve" });
    await session.resume();
    await bench.worker.runUntilIdle();

    const base = { sessionId: "s", agent: "cashier", runId: "r1" };
    expect(received.map(({ body }) => JSON.parse(body))).toEqual([
      { type: "run.waiting", timestamp: expect.any(String), data: { ...base, tools: ["pay"], askedAt: 1_000_000 } },
      { type: "run.ended", timestamp: expect.any(String), data: { ...base, status: "completed", reason: "stop" } },
    ]);
    for (const { headers, body } of received) {
      const verify = standard(secret, { now: () => bench.clock.now() });
      const delivery = await verify({ headers: new Headers(headers as Record<string, string>) }, Buffer.from(body));
      expect(delivery).toEqual({ id: headers["webhook-id"], value: JSON.parse(body) });
      expect(body).not.toMatch(/Mallory|Paid|Pay\./);
    }
    expect(await bench.outbox.list()).toEqual([]);
    expect(bench.failures()).toEqual([]);
  });

  test("is tried again with the same id, later each time, and is dead after eight attempts", proven, async () => {
    const { received, url } = await startReceiver((count) => (count <= 8 ? 503 : 200));
    const bench = createBench({ url, kinds: ["run.waiting"] });
    await ask(bench);
    for (let attempt = 1; attempt <= 8; attempt += 1) {
      await bench.worker.runUntilIdle();
      expect(received).toHaveLength(attempt);
      const retryInMs = bench.failures().at(-1)?.retryInMs ?? null;
      if (attempt === 8) expect(retryInMs).toBeNull();
      // One millisecond before its time, nobody is told.
      await bench.clock.advance((retryInMs ?? 1) - 1);
      await bench.worker.runUntilIdle();
      expect(received).toHaveLength(attempt);
      await bench.clock.advance(1);
    }
    expect(new Set(received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    const delays = bench.failures().map(({ retryInMs }) => (retryInMs ?? 0) / 1_000);
    for (const [index, least] of [5, 30, 120, 600, 3_600, 21_600, 86_400].entries()) {
      expect(delays[index]).toBeGreaterThanOrEqual(least);
      expect(delays[index]).toBeLessThanOrEqual(least * 1.2);
    }

    const [dead] = await bench.outbox.list({ isDead: true });
    expect(dead).toMatchObject({
      destination: "desk",
      sessionId: "s",
      tries: 8,
      error: "The destination answered 503.",
    });
    await bench.clock.advance(86_400_000);
    await bench.worker.runUntilIdle();
    expect(received).toHaveLength(8);
    // Somebody has repaired the receiver.
    expect(await bench.outbox.retry(dead?.number ?? 0)).toBe(true);
    expect(await bench.outbox.retry(dead?.number ?? 0)).toBe(false);
    await bench.worker.runUntilIdle();
    expect(received[8]?.headers["webhook-id"]).toBe(received[0]?.headers["webhook-id"]);
    expect(await bench.outbox.list()).toEqual([]);
  });

  test("is not sent if its question was answered meanwhile", proven, async () => {
    const { received, url } = await startReceiver();
    const bench = createBench({ url, kinds: ["run.waiting"] });
    await ask(bench);
    const session = bench.agent.session("s");
    const [approval] = await session.pendingApprovals();
    await session.answer(approval?.callKey ?? "", { type: "deny" });
    await session.resume();
    await bench.worker.runUntilIdle();
    expect(received).toEqual([]);
    expect(await bench.outbox.list()).toEqual([]);
  });

  test("goes only to destinations of its kind and agent", proven, async () => {
    const { received, url } = await startReceiver();
    const bench = createBench({ url, agents: ["someone else"] });
    await ask(bench);
    await bench.worker.runUntilIdle();
    expect([received, await bench.outbox.list()]).toEqual([[], []]);
  });

  test("has the signatures of both secrets while one is replaced", proven, async () => {
    const { received, url } = await startReceiver();
    const next = `whsec_${Buffer.alloc(24, 9).toString("base64")}`;
    const bench = createBench({ url, secret: [next, secret] });
    await ask(bench);
    await bench.worker.runUntilIdle();
    const [{ headers, body } = { headers: {}, body: "" }] = received;
    const request = { headers: new Headers(headers as Record<string, string>) };
    for (const one of [next, secret])
      await expect(standard(one, { now: () => bench.clock.now() })(request, Buffer.from(body))).resolves.toBeDefined();
  });

  test("for a destination that no worker has any more is removed after ten days", proven, async () => {
    const { received, url } = await startReceiver();
    const bench = createBench({ url });
    await ask(bench);
    await bench.clock.advance(10 * 86_400_000 + 1);
    await bench.createNoticesWorker({ id: "other" }).runUntilIdle();
    expect([received, await bench.outbox.list()]).toEqual([[], []]);
    expect(await bench.outbox.destinations()).toEqual(["desk", "other"]);
    expect(await bench.outbox.removeDestination("desk")).toBe(true);
    expect(await bench.outbox.destinations()).toEqual(["other"]);
  });

  test("is removed from each store of which the worker delivers the notices", proven, async () => {
    const { url } = await startReceiver();
    const notices = createNotices([{ id: "other", url, secret }], local);
    const clock = createTestClock();
    const stores = [createMemoryStore(), createMemoryStore()];
    for (const store of stores) {
      await store.notices?.addDestination("desk");
      const model = createScriptedModel([{ text: "Done." }]);
      await createAgent({ name: "press", model, store, clock }).run("Go.");
    }
    await clock.advance(10 * 86_400_000 + 1);
    for (const store of stores) {
      const worker = createWorker({ store, agents: [], clock, notices });
      await worker.runUntilIdle();
      await worker.runUntilIdle();
      expect(await createOutbox({ store }).list()).toEqual([]);
    }
  });

  test("that its destination did not get for ten days is delivered, not removed", proven, async () => {
    const { received, url } = await startReceiver();
    const bench = createBench({ url });
    await ask(bench);
    await bench.clock.advance(11 * 86_400_000);
    await bench.worker.runUntilIdle();
    expect(received).toHaveLength(1);
  });

  test("is dead if a worker was killed in each of its attempts", proven, async () => {
    const { received, url } = await startReceiver();
    const bench = createBench({ url });
    await ask(bench);
    const [row] = await bench.outbox.list();
    if (row === undefined) throw new Error("There is no notice.");
    // As eight workers leave it that were killed.
    await bench.store.notices?.replace(row, { notice: row.notice, tries: 8, dueAt: bench.clock.now() });
    await bench.worker.runUntilIdle();
    expect(received).toEqual([]);
    expect(bench.failures()).toMatchObject([{ retryInMs: null }]);
    const error = "The worker ended during the last attempt.";
    expect(await bench.outbox.list({ isDead: true })).toMatchObject([{ tries: 8, error }]);
  });

  test("about a child's question comes from the parent, once", proven, async () => {
    const store = createMemoryStore();
    await store.notices?.addDestination("desk");
    const pay = {
      name: "pay",
      description: "Pays.",
      input: { type: "object" },
      needsApproval: true,
      execute: () => "ok",
    };
    const cashier = createAgent({
      name: "cashier",
      model: createScriptedModel([{ calls: [{ name: "pay" }] }]),
      tools: [pay],
    });
    const tools = [cashier.asTool({ description: "Pays." })];
    const model = createScriptedModel([{ calls: [{ name: "cashier", input: { task: "Pay." } }] }]);
    const agent = createAgent({ name: "boss", model, tools, store });
    expect(await agent.run("Pay.", { sessionId: "top" })).toMatchObject({ status: "awaiting_human" });
    const written = (await store.notices?.list({ limit: 10 })) ?? [];
    expect(written.map(({ notice }) => notice)).toMatchObject([
      { type: "run.waiting", data: { sessionId: "top", agent: "boss", tools: ["cashier"] } },
    ]);
  });
});

describe("missed slots of a schedule", () => {
  async function missSlots(bench: ReturnType<typeof createBench>) {
    const schedules = createSchedules({ store: bench.store, clock: bench.clock });
    await schedules.put({
      id: "tick",
      everyMs: 60_000,
      agent: "cashier",
      input: "Pay Mallory.",
      session: "same",
      principal: "ann",
    });
    await bench.worker.runUntilIdle();
    // Two of the three slots are missed, and the newest runs.
    await bench.clock.advance(180_000);
    await bench.worker.runUntilIdle();
    return schedules;
  }

  test("give one notice with their number, and nothing of the input", proven, async () => {
    const { received, url } = await startReceiver();
    const bench = createBench({ url, kinds: ["schedule.missed"] });
    const schedules = await missSlots(bench);
    const [, missed] = await schedules.slots("tick");
    expect(missed).toMatchObject({ outcome: "missed", count: 2 });
    expect(received.map(({ body }) => JSON.parse(body))).toEqual([
      {
        type: "schedule.missed",
        timestamp: new Date(1_180_000).toISOString(),
        data: {
          scheduleId: "tick",
          agent: "cashier",
          principal: "ann",
          firstSlot: 1_060_000,
          slot: missed?.slot,
          count: 2,
        },
      },
    ]);
    expect(received[0]?.body).not.toMatch(/Mallory/);
    expect(await bench.outbox.list()).toEqual([]);
  });

  test.each<[string, { readonly everyMs: number } | { readonly cron: string }, object]>([
    ["of an interval", { everyMs: 60_000 }, { firstSlot: 1_060_000, slot: 60_940_000, count: 999 }],
    [
      "of a cron expression",
      { cron: "* * * * *" },
      { firstSlot: 1_020_000, slot: 60_900_000, count: 199, isMinimum: true },
    ],
  ])("%s give one notice, and one outcome, however many they are", proven, async (_, time, data) => {
    const { received, url } = await startReceiver();
    const bench = createBench({ url, kinds: ["schedule.missed"] });
    const schedules = createSchedules({ store: bench.store, clock: bench.clock });
    await schedules.put({ id: "tick", ...time, agent: "cashier", input: "Pay." });
    await bench.worker.runUntilIdle();
    await bench.clock.advance(1_000 * 60_000);
    await Promise.all([bench.worker.runUntilIdle(), bench.createNoticesWorker().runUntilIdle()]);
    expect(received.map(({ body }) => JSON.parse(body))).toMatchObject([{ type: "schedule.missed", data }]);
    expect(await schedules.slots("tick")).toMatchObject([{ outcome: "posted" }, { outcome: "missed" }]);
  });

  test("are reported without a session if nobody receives the notice", proven, async () => {
    const { url } = await startReceiver(() => 410);
    const bench = createBench({ url, kinds: ["schedule.missed"] });
    await missSlots(bench);
    expect(bench.failures()).toMatchObject([{ sessionId: null, retryInMs: null }]);
    expect(await bench.outbox.list()).toMatchObject([{ sessionId: null, dueAt: null }]);
    // A session that has the name of the schedule has other notices.
    await deleteSession(bench.store, "tick", { now: bench.clock.now(), force: true });
    expect(await bench.outbox.list()).toHaveLength(1);
  });

  test("are told to destinations of the schedule's agent alone", proven, async () => {
    const { received, url } = await startReceiver();
    await missSlots(createBench({ url, kinds: ["schedule.missed"], agents: ["clerk"] }));
    expect(received).toEqual([]);
  });
});

describe("a destination", () => {
  test.each<[string, Partial<NoticeDestination>, NoticesOptions, RegExp]>([
    ["on this machine", { url: "http://localhost:9/" }, {}, /localhost gets no notices over http/],
    ["on this machine, by https", { url: "https://localhost:9/" }, {}, /localhost is not on the public internet/],
    ["that redirects", {}, local, /answered 302/],
  ])("%s is not reached", proven, async (_, destination, options, message) => {
    const { received, url } = await startReceiver(() => 302);
    const bench = createBench({ url, ...destination }, options);
    await ask(bench);
    await bench.worker.runUntilIdle();
    const [failure] = bench.failures();
    expect(failure).toMatchObject({
      destination: "desk",
      sessionId: "s",
      error: { message: expect.stringMatching(message) },
    });
    expect(received.length).toBe(options === local && destination.url === undefined ? 1 : 0);
    // Neither the secret nor a token in the URL is written anywhere.
    const kept = JSON.stringify([await bench.outbox.list(), String(failure?.error)]);
    expect(kept).not.toMatch(/whsec_|BwcHBw|hidden/);
  });

  test("that is gone (410) gets no second attempt", proven, async () => {
    const { received, url } = await startReceiver(() => 410);
    const bench = createBench({ url });
    await ask(bench);
    await bench.worker.runUntilIdle();
    expect(received).toHaveLength(1);
    expect(bench.failures()).toMatchObject([{ retryInMs: null }]);
    expect(await bench.outbox.list({ isDead: true })).toMatchObject([{ tries: 1 }]);
  });

  test("that does not answer holds up no other destination, and not the end of the worker", proven, async () => {
    const reached = createDeferred();
    const slow = await startReceiver(() => {
      reached.resolve();
      return new Promise<number>(() => {});
    });
    const fast = await startReceiver();
    const store = createMemoryStore();
    const agent = createAgent({ name: "press", model: createScriptedModel(() => ({ text: "Nothing." })), store });
    const destinations = [
      { id: "slow", url: slow.url, secret },
      { id: "fast", url: fast.url, secret },
    ];
    const notices = createNotices(destinations, { ...local, timeoutMs: 600_000 });
    const worker = createWorker({ store, agents: [agent], pollMs: 5, notices });
    const working = worker.run();
    const outbox = createOutbox({ store });
    await expect.poll(() => outbox.destinations()).toEqual(["fast", "slow"]);
    await agent.run("What is new?", { sessionId: "s1" });
    await reached.promise;
    await agent.run("What is new?", { sessionId: "s2" });
    await expect.poll(() => fast.received.length).toBe(2);
    await worker.stop();
    await working;
    // Nobody has to wait for the lease of a worker that has stopped.
    expect(await outbox.list()).toMatchObject([
      { destination: "slow", sessionId: "s1", dueAt: 0, tries: 0 },
      { destination: "slow", sessionId: "s2", dueAt: 0, tries: 0 },
    ]);
  });

  test.each<[string, boolean]>([
    ["is looked up with all others in one query", true],
    ["is looked up alone in a store of your own that has no such query", false],
  ])("%s", proven, async (_, hasQuery) => {
    const { received, url } = await startReceiver();
    const memory = createMemoryStore();
    const rows = memory.notices;
    if (rows?.dueForEach === undefined) throw new Error("The store has no such query.");
    const queries = new Set<string>();
    const { dueForEach, ...others } = rows;
    const due: typeof rows.due = (...given) => {
      queries.add("due");
      return rows.due(...given);
    };
    const countedDueForEach: typeof dueForEach = (...given) => {
      queries.add("dueForEach");
      return dueForEach(...given);
    };
    const store = {
      ...memory,
      notices: { ...others, due, ...(hasQuery ? { dueForEach: countedDueForEach } : {}) },
    };
    const destinations = Array.from({ length: 50 }, (_, index) => ({ id: `desk-${index}`, url, secret }));
    const worker = createWorker({ store, agents: [], notices: createNotices(destinations, local) });
    await worker.runUntilIdle();
    await createAgent({ name: "press", model: createScriptedModel([{ text: "Done." }]), store }).run("Go.");
    await worker.runUntilIdle();
    expect(received).toHaveLength(50);
    expect(await createOutbox({ store }).list()).toEqual([]);
    expect([...queries]).toEqual([hasQuery ? "dueForEach" : "due"]);
  });

  test("that does not answer is given up after the timeout", proven, async () => {
    const { url } = await startReceiver(() => new Promise<number>(() => {}));
    const bench = createBench({ url }, { ...local, timeoutMs: 50 });
    await ask(bench);
    await bench.worker.runUntilIdle();
    expect(bench.failures()).toMatchObject([{ error: { message: "The destination did not answer within 50 ms." } }]);
  });

  test.each<[string, "work: false" | "no agents"]>([
    ["that drives no runs", "work: false"],
    ["without agents", "no agents"],
  ])("of a server %s is written, and a worker delivers it", proven, async (_, kind) => {
    const { received, url } = await startReceiver();
    const { store, agent, worker } = createBench({ url });
    const server = createServer({
      store,
      ...(kind === "no agents" ? { agents: [] } : { agents: [agent], work: false }),
      token: createToken(),
      notices: createNotices([{ id: "desk", secret, url }], local),
    });
    await agent.run("Pay.", { sessionId: "s" });
    expect(received).toEqual([]);
    await worker.runUntilIdle();
    expect(received.map(({ body }) => JSON.parse(body))).toMatchObject([{ type: "run.waiting" }]);
    await server.close();
  });

  test("cannot be written by a server whose store keeps none, which its log says", proven, async () => {
    const { notices: _, ...store } = createMemoryStore();
    const lines: LogLine[] = [];
    const server = createServer({
      ...{ store, agents: [], token: createToken() },
      notices: createNotices([{ id: "desk", secret, url: "https://example.org" }]),
      log: (line) => lines.push(line),
    });
    await server.close();
    expect(lines).toMatchObject([{ action: "notice", error: { code: "store_lacks" } }]);
  });

  test.each<[string, object]>([
    ["no secret", { secret: "" }],
    ["a secret that is too short", { secret: "whsec_AAAA" }],
    ["an invalid id", { id: "a b" }],
    ["a URL with a password", { url: "https://user:pass@example.org" }],
    ["another scheme", { url: "ftp://example.org" }],
    ["an unknown kind", { kinds: ["run.started"] }],
    ["an address of this machine", { url: "https://127.0.0.1:9/" }],
    ["an address of this machine in another notation", { url: "https://0x7f.1/" }],
    ["an address of this machine, as IPv6", { url: "https://[::ffff:127.0.0.1]/" }],
    ["an address of a cloud's metadata", { url: "https://169.254.169.254/" }],
    ["a public address, by http", { url: "http://93.184.216.34/" }],
  ])("with %s is refused", proven, (_, change) => {
    const destination = { id: "desk", url: "https://example.org", secret, ...change };
    expect(() => createNotices([destination])).toThrow(expect.objectContaining({ code: "bad_configuration" }));
  });

  test("with a private address says how to allow it, and is accepted once it is allowed", proven, () => {
    const destination = { id: "desk", url: "http://10.1.2.3/hooks?token=hidden", secret };
    expect(() => createNotices([destination])).toThrow(
      'createNotices(): the destination "desk" cannot be reached: 10.1.2.3 gets no notices over http. Use https, or add its address to allowAddresses if it is private and yours.',
    );
    expect(createNotices([destination], { allowAddresses: ["10.1.0.0/16"] })).toBeDefined();
  });

  test("of the same id as another is refused, and so is a store that keeps no notices", proven, async () => {
    const destination = { id: "desk", url: "https://example.org", secret };
    expect(() => createNotices([destination, destination])).toThrow('two destinations have the id "desk"');
    const { notices: _, ...store } = createMemoryStore();
    expect(() => createOutbox({ store })).toThrow(expect.objectContaining({ code: "store_lacks" }));
  });
});
