import { expect, test } from "vitest";
import {
  createAgent,
  createClient,
  createMemoryStore,
  createWorker,
  defineTool,
  PawlError,
  type Store,
  type WorkerReport,
} from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createDeferred } from "../support/agents.js";
import { verifies } from "../verifies.js";

const anHour = 3_600_000;

function payTool(paid: number[]) {
  return defineTool({
    name: "pay",
    description: "Pays.",
    input: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] },
    execute: ({ amount }) => {
      paid.push(Number(amount));
      return "paid";
    },
  });
}

const asks = { calls: [{ name: "pay", input: { amount: 9 } }] };

test("a worker carries on what was posted to a session that nobody holds", async () => {
  const store = createMemoryStore();
  const paid: number[] = [];
  const asking = createAgent({
    model: createScriptedModel([asks]),
    tools: [payTool(paid)],
    canExecuteTool: () => "ask",
    store,
  });
  const waiting = await asking.run("Pay.", { sessionId: "s" });
  if (waiting.status !== "awaiting_human") throw new Error(waiting.status);
  const [approval] = waiting.approvals;

  const body = { type: "answer", callKey: approval?.callKey ?? "", answer: { type: "approve" } } as const;
  await store.post("s", { id: "from another process", at: Date.now(), body });

  const working = createAgent({ model: createScriptedModel([{ text: "Paid." }]), tools: [payTool(paid)], store });
  const reports: WorkerReport[] = [];
  const worker = createWorker({ store, agents: [working], onReport: (report) => reports.push(report) });
  await worker.runUntilIdle();

  expect(paid).toEqual([9]);
  expect(reports.map((report) => report.type)).toEqual(["taken", "left"]);
  expect(await working.session("s").result()).toMatchObject({ status: "completed", text: "Paid." });
});

test("an approval that expired is denied, and the model goes on", async () => {
  const store = createMemoryStore();
  const paid: number[] = [];
  const earlier = { now: () => Date.now() - 2 * anHour, elapsed: () => 0, after: () => () => {} };
  const asking = createAgent({
    model: createScriptedModel([asks]),
    tools: [payTool(paid)],
    canExecuteTool: () => ({ verdict: "ask", expiresInMs: anHour }),
    store,
    clock: earlier,
  });
  expect((await asking.run("Pay.", { sessionId: "s" })).status).toBe("awaiting_human");

  const model = createScriptedModel([{ text: "Not paid." }]);
  const working = createAgent({ model, tools: [payTool(paid)], store });
  await createWorker({ store, agents: [working] }).runUntilIdle();

  expect(paid).toEqual([]);
  expect(await working.session("s").result()).toMatchObject({ status: "completed", text: "Not paid." });
  expect(JSON.stringify(model.requests[0]?.messages.at(-1))).toContain("nobody answered before the approval expired");
});

test("a session that is found while the worker stops is left to others, and not refused", async () => {
  const memory = createMemoryStore();
  const client = createClient({ store: memory });
  await client.session("first").send("Hello.", { agent: "mine", model: "m" });
  const [asked, answered] = [createDeferred(), createDeferred()];
  const store: Store = {
    ...memory,
    async load(sessionId) {
      // The worker asks whose it is and how far it is.
      if (sessionId === "second") {
        asked.resolve();
        await answered.promise;
      }
      return memory.load(sessionId);
    },
  };
  const reports: WorkerReport[] = [];
  const agent = createAgent({ name: "mine", model: createScriptedModel([{ text: "First." }]), store });
  const worker = createWorker({ store, agents: [agent], onReport: (report) => reports.push(report) });
  await worker.runUntilIdle();
  await client.session("second").send("Hello.", { agent: "mine", model: "m" });
  const working = worker.runUntilIdle();
  await asked.promise;
  const stopped = worker.stop();
  answered.resolve();
  await Promise.all([stopped, working]);
  expect(reports.map(({ type }) => type)).toEqual(["taken", "left"]);
  expect(worker.status().refused).toEqual([]);
  expect(await memory.inbox("second")).toHaveLength(1);
});

test("a session whose agent is not here is left to others", async () => {
  const store = createMemoryStore();
  const agent = createAgent({ name: "theirs", model: createScriptedModel([]), store });
  const input = [{ role: "user", parts: [{ type: "text", text: "Hello." }] }] as const;
  const body = {
    type: "input",
    mode: "queue",
    runId: "r",
    input,
    limits: agentLimits(),
    session: { agent: "theirs", model: "m" },
  } as const;
  await store.post("s", { id: "m", at: Date.now(), body });
  const reports: WorkerReport[] = [];
  const mine = createAgent({ name: "mine", model: createScriptedModel([]), store });
  await createWorker({ store, agents: [mine], onReport: (report) => reports.push(report) }).runUntilIdle();
  expect(reports).toMatchObject([{ type: "refused", sessionId: "s", error: { code: "agent_mismatch" } }]);
  expect(await store.inbox("s")).toHaveLength(1);
  await agent.shutdown();
});

/** A session that is due, a store whose `name` fails once, and what a worker over it reports until the run has ended. */
async function carriedOnDespite(name: "due" | "load", failure: Error): Promise<readonly WorkerReport[]> {
  const memory = createMemoryStore();
  const script = createScriptedModel([{ text: "Done." }]);
  await createClient({ store: memory }).session("s").send("Hello.", { agent: "mine", model: "m" });
  let failures = 0;
  const failing = async (...given: readonly unknown[]) => {
    failures += 1;
    if (failures === 1) throw failure;
    return (memory[name] as (...all: readonly unknown[]) => Promise<unknown>)(...given);
  };
  const store = { ...memory, [name]: failing } as Store;
  const reports: WorkerReport[] = [];
  const left = createDeferred();
  const agent = createAgent({ name: "mine", model: script, store: memory });
  const worker = createWorker({
    store,
    agents: [agent],
    onReport(report) {
      reports.push(report);
      if (report.type === "left") left.resolve();
    },
  });
  const working = worker.run();
  await left.promise;
  expect(worker.status().refused).toEqual([]);
  await worker.stop();
  await working;
  return reports;
}

test("a worker asks a store again that has failed", verifies("REC-2"), async () => {
  const failure = new PawlError("store_failed", "The disk is gone.");
  expect(await carriedOnDespite("due", failure)).toMatchObject([
    { type: "store_failed", error: failure, retryInMs: 1_000 },
    { type: "taken", sessionId: "s" },
    { type: "left", result: { status: "completed" } },
  ]);
});

test("a session that a worker could not read for a moment is carried on", verifies("REC-2"), async () => {
  const failure = new PawlError("store_failed", "The disk is gone.");
  expect(await carriedOnDespite("load", failure)).toMatchObject([
    { type: "refused", sessionId: "s", error: failure, retryInMs: 1_000 },
    { type: "taken", sessionId: "s" },
    { type: "left", result: { status: "completed" } },
  ]);
});

test("a worker ends when its store is closed", async () => {
  const store: Store = {
    ...createMemoryStore(),
    due: () => Promise.reject(new PawlError("store_closed", "The store is closed.")),
  };
  const worker = createWorker({ store, agents: [] });
  await expect(worker.run()).rejects.toMatchObject({ code: "store_closed" });
});

function agentLimits() {
  return {
    maxSteps: 5,
    maxErrors: 5,
    onMaxSteps: "stop",
    toolConcurrency: 1,
    abortGraceMs: 0,
    maxContinuations: 0,
    maxStopPreventions: 0,
    maxCompactions: 0,
  } as const;
}

/** Sessions that a client began; a worker finds them due. */
async function begun(store: Store, count: number): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, (_, number) => `s${number}`);
  for (const id of ids) await createClient({ store }).session(id).send("Hello.", { agent: "mine", model: "m" });
  return ids;
}

const other = { id: "another process", host: "elsewhere", pid: 1, startedAt: 1 };

test(
  "a session that another process claims first keeps no place, and is nothing to report",
  verifies("DIST-2"),
  async () => {
    const memory = createMemoryStore();
    await begun(memory, 2);
    // The other process claims the first session between this worker's question and its own claim.
    const store: Store = {
      ...memory,
      async due(...given) {
        const due = await memory.due(...given);
        await memory.claim("s0", { holder: other, now: Date.now(), leaseMs: anHour });
        return due;
      },
    };
    const reports: WorkerReport[] = [];
    const agent = createAgent({ name: "mine", model: createScriptedModel(() => ({ text: "Done." })), store: memory });
    const worker = createWorker({ store, agents: [agent], concurrency: 1, onReport: (report) => reports.push(report) });
    await worker.runUntilIdle();
    expect(reports).toMatchObject([
      { type: "taken", sessionId: "s1" },
      { type: "left", sessionId: "s1", result: { status: "completed" } },
    ]);
    expect(worker.status()).toEqual({ running: 0, refused: [] });
    expect(await memory.describe("s0")).toMatchObject({ holder: other, inbox: 1 });
    await expect(agent.session("s0").resume({ follow: false })).rejects.toMatchObject({ code: "session_busy" });
  },
);

test("workers begin at different places among what is due", verifies("DIST-2"), async () => {
  const store = createMemoryStore();
  const ids = await begun(store, 24);
  const taken: string[] = [];
  const agent = createAgent({ name: "mine", model: createScriptedModel(() => ({ text: "Done." })), store });
  const onReport = (report: WorkerReport) => {
    if (report.type === "taken") taken.push(report.sessionId);
  };
  await createWorker({ store, agents: [agent], concurrency: 1, onReport }).runUntilIdle();
  expect(taken.toSorted()).toEqual([...ids].toSorted());
  // By chance alone this is not so once in 4 to the power of 20.
  expect(taken).not.toEqual(ids);
});

test("a worker asks what is due when a message comes, not at each commit", verifies("DIST-2"), async () => {
  const memory = createMemoryStore();
  let asked = 0;
  const store: Store = {
    ...memory,
    async due(...given) {
      asked += 1;
      return await memory.due(...given);
    },
  };
  const left = createDeferred();
  const agent = createAgent({ name: "mine", model: createScriptedModel(() => ({ text: "Done." })), store: memory });
  const onReport = ({ type }: WorkerReport) => (type === "left" ? left.resolve() : undefined);
  const worker = createWorker({ store, agents: [agent], pollMs: anHour, onReport });
  const working = worker.run();
  const calls = Array.from({ length: 20 }, (_, amount) => ({ calls: [{ name: "pay", input: { amount } }] }));
  const busy = createAgent({
    name: "busy",
    model: createScriptedModel([...calls, { text: "Done." }]),
    tools: [payTool([])],
    store: memory,
  });
  expect((await busy.run("Pay.", { sessionId: "busy" })).status).toBe("completed");
  expect(asked).toBeLessThan(5);
  const askedBefore = asked;
  await begun(memory, 1);
  await left.promise;
  await new Promise(setImmediate);
  // Nor when it has left a session with nothing to do.
  expect(asked - askedBefore).toBe(1);
  await worker.stop();
  await working;
});

/** The same store, and how often it was asked for each of these. */
function counted(inner: Store): { readonly store: Store; readonly counts: Readonly<Record<string, number>> } {
  const counts = { claim: 0, load: 0, read: 0 };
  const store: Store = {
    ...inner,
    claim: (...given) => {
      counts.claim += 1;
      return inner.claim(...given);
    },
    load: (...given) => {
      counts.load += 1;
      return inner.load(...given);
    },
    read: (...given) => {
      counts.read += 1;
      return inner.read(...given);
    },
  };
  return { store, counts };
}

test("a worker loads a session once, and claims it once", verifies("DIST-2"), async () => {
  const memory = createMemoryStore();
  await begun(memory, 5);
  const { store, counts } = counted(memory);
  const agent = createAgent({ name: "mine", model: createScriptedModel(() => ({ text: "Done." })), store });
  await createWorker({ store, agents: [agent] }).runUntilIdle();
  expect(await memory.list({ status: ["completed"] })).toHaveLength(5);
  expect(counts).toEqual({ claim: 5, load: 5, read: 0 });
});

test("a claim that is lost is followed by no reads", verifies("DIST-2"), async () => {
  const memory = createMemoryStore();
  await begun(memory, 1);
  const { store, counts } = counted(memory);
  await memory.claim("s0", { holder: other, now: Date.now(), leaseMs: anHour });
  const agent = createAgent({ name: "mine", model: createScriptedModel([]), store });
  const blind: Store = { ...store, due: async () => ["s0"] };
  await createWorker({ store: blind, agents: [agent] }).runUntilIdle();
  expect(counts).toEqual({ claim: 1, load: 1, read: 0 });
});

test("a run that another process ends between the look and the claim is nothing to report", async () => {
  const memory = createMemoryStore();
  await begun(memory, 1);
  const model = createScriptedModel(() => ({ text: "Done." }));
  const quicker = createAgent({ name: "mine", model, store: memory });
  const store: Store = {
    ...memory,
    async claim(...given) {
      expect((await quicker.session("s0").resume()).status).toBe("completed");
      return memory.claim(...given);
    },
  };
  const reports: WorkerReport[] = [];
  const agent = createAgent({ name: "mine", model, store });
  await createWorker({ store, agents: [agent], onReport: (report) => reports.push(report) }).runUntilIdle();
  expect(reports).toEqual([]);
  expect(model.requests).toHaveLength(1);
  expect(await memory.describe("s0")).toMatchObject({ status: "completed", holder: null });
});

test("a worker carries on the runs that wait in the queue, too", async () => {
  const store = createMemoryStore();
  await begun(store, 1);
  await createClient({ store }).session("s0").send("And then?");
  const results: WorkerReport[] = [];
  const agent = createAgent({ name: "mine", model: createScriptedModel(() => ({ text: "Done." })), store });
  const onReport = (report: WorkerReport) => void (report.type === "left" && results.push(report));
  await createWorker({ store, agents: [agent], onReport }).runUntilIdle();
  expect(results).toHaveLength(2);
  expect((await store.load("s0"))?.state.queue).toEqual([]);
});

test("a worker reports a run that waits for its subagent once", async () => {
  const memory = createMemoryStore();
  const look = createDeferred();
  // A child is due between its first message and its claim. Here it stays due until the worker has asked again.
  let asked = 0;
  const store: Store = {
    ...memory,
    async due(...given) {
      const children = (await memory.list({ parent: "top" })).filter(({ activity }) => activity === "active");
      if (children.length > 0 && ++asked === 3) look.resolve();
      return [...(await memory.due(...given)), ...children.map(({ sessionId }) => sessionId)];
    },
  };
  const child = createAgent({
    name: "child",
    model: createScriptedModel([{ calls: [{ name: "look" }] }, { text: "Seen." }]),
    tools: [
      defineTool({
        name: "look",
        description: "Looks.",
        input: { type: "object" },
        execute: () => look.promise.then(() => "seen"),
      }),
    ],
  });
  const asksChild = { calls: [{ name: "child", input: { task: "Look." } }] };
  const boss = createAgent({
    name: "boss",
    model: createScriptedModel([asksChild, { text: "Done." }]),
    tools: [child.asTool({ description: "Looks." })],
    store: memory,
  });
  const reports: string[] = [];
  const worker = createWorker({
    store,
    agents: [boss],
    pollMs: 1,
    onReport: (report) => {
      if ("sessionId" in report) reports.push(`${report.type} ${report.sessionId === "top" ? "top" : "child"}`);
    },
  });
  await createClient({ store: memory }).session("top").send("Go.", { agent: "boss" });
  const working = worker.run();
  for await (const event of createClient({ store: memory }).session("top").events()) if (event.type === "final") break;
  await worker.stop();
  await working;
  expect(reports.filter((report) => report.endsWith("top"))).toEqual(["taken top", "left top"]);
});
