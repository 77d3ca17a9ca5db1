import { expect, test } from "vitest";
import {
  createAgent,
  createClient,
  createEngine,
  createMemoryStore,
  createWorker,
  PawlError,
  type Store,
  type WorkerReport,
} from "../../src/index.js";
import { pawlObject } from "../../src/restate/index.js";
import { createServer, createToken } from "../../src/server/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";

const hello = () => createScriptedModel([{ text: "Hello." }]);
const refusal = { code: "bad_configuration", message: expect.stringContaining("createAgent({ store })") };

test.each([
  ["no store", () => createAgent({ name: "writer", model: hello() })],
  ["another store", () => createAgent({ name: "writer", model: hello(), store: createMemoryStore() })],
])("an agent with %s is refused by a worker, a server and a Restate object, with what to do", async (_, made) => {
  const store = createMemoryStore();
  const agents = [made()];
  const token = createToken();
  expect(() => createWorker({ store, agents })).toThrow(expect.objectContaining(refusal));
  expect(() => createServer({ store, agents, token })).toThrow(expect.objectContaining(refusal));
  expect(() => createServer({ store, agents, token, work: false })).toThrow(expect.objectContaining(refusal));
  await expect(pawlObject({ store, agents })).rejects.toMatchObject(refusal);
});

test("two agents of one name are refused by a worker and a server, and the same agent twice is not", () => {
  const store = createMemoryStore();
  const unnamed = () => createAgent({ model: hello(), store });
  const agents = [unnamed(), unnamed()];
  const taken = { code: "bad_configuration", message: expect.stringContaining('Two agents are named "agent"') };
  expect(() => createWorker({ store, agents })).toThrow(expect.objectContaining(taken));
  expect(() => createServer({ store, agents, token: createToken() })).toThrow(expect.objectContaining(taken));
  const [first] = agents;
  createWorker({ store, agents: first === undefined ? [] : [first, first] });
});

test("a store that was made from the agent's, with some members replaced, is the agent's", async () => {
  const memory = createMemoryStore();
  const agent = createAgent({ model: hello(), store: memory });
  await createClient({ store: memory }).session("s").send("Hi.", { agent: "agent" });
  await createWorker({ store: { ...memory, due: async () => ["s"] }, agents: [agent], pollMs: 10 }).runUntilIdle();
  expect(await agent.session("s").result()).toMatchObject({ text: "Hello." });
});

test("an agent of an engine that has a store of its own is refused", async () => {
  const agent = { name: "writer", model: hello(), store: createMemoryStore() };
  await expect(createEngine({ agents: [agent] })).rejects.toMatchObject({
    code: "bad_configuration",
    message: expect.stringContaining('"writer"'),
  });
});

test("a worker whose function gives an agent with another store refuses the session, and carries on the others", async () => {
  const store = createMemoryStore();
  const good = createAgent({ name: "good", model: hello(), store });
  const bad = createAgent({ name: "bad", model: hello() });
  const client = createClient({ store });
  await client.session("lost").send("Hi.", { agent: "bad" });
  await client.session("found").send("Hi.", { agent: "good" });
  const reports: WorkerReport[] = [];
  await createWorker({
    store,
    agents: async ({ agent }) => (agent === "good" ? good : bad),
    onReport: (report) => reports.push(report),
  }).runUntilIdle();
  expect(await good.session("found").result()).toMatchObject({ text: "Hello." });
  expect(reports.filter(({ type }) => type === "refused")).toMatchObject([
    { sessionId: "lost", error: refusal, retryInMs: null },
  ]);
});

test("a session that its agent does not find is driven again only after pauses, and the worker's other work goes on", async () => {
  const store = createMemoryStore();
  const elsewhere = createAgent({ name: "elsewhere", model: hello() });
  const good = createAgent({ name: "good", model: hello(), store });
  // Says nothing of its store, as an agent of somebody's own may.
  let tries = 0;
  const silent = {
    options: { name: "elsewhere" },
    session(sessionId: string) {
      tries += 1;
      if (tries > 100) throw new Error("The worker spins.");
      return elsewhere.session(sessionId);
    },
    shutdown: elsewhere.shutdown,
  };
  const client = createClient({ store });
  await client.session("lost").send("Hi.", { agent: "elsewhere" });
  const reports: WorkerReport[] = [];
  const agents = { elsewhere: silent, good } as const;
  const worker = createWorker({
    store,
    agents: async ({ agent }) => agents[agent as keyof typeof agents] ?? null,
    onReport(report) {
      reports.push(report);
      // The second pause: by then the session was driven twice.
      if (report.type === "refused" && report.retryInMs === 2_000) void worker.stop();
    },
  });
  const working = worker.run();
  await client.session("found").send("Hi.", { agent: "good" });
  await working;
  expect(await good.session("found").result()).toMatchObject({ text: "Hello." });
  expect(tries).toBe(2);
  expect(reports.filter(({ type }) => type === "refused")).toMatchObject([
    { sessionId: "lost", error: { code: "no_session" }, retryInMs: 1_000 },
    { sessionId: "lost", error: { code: "no_session" }, retryInMs: 2_000 },
  ]);
  // The message is still there for a worker that has the session's agent.
  const right = createAgent({ name: "elsewhere", model: hello(), store });
  await createWorker({ store, agents: [right] }).runUntilIdle();
  expect(await right.session("lost").result()).toMatchObject({ text: "Hello." });
});

test("a store that fails while a session is driven is not taken for another store: the worker says what failed, and tries again", async () => {
  const memory = createMemoryStore();
  const failure = new PawlError("store_failed", "The disk is away.");
  let failures = 1;
  const store: Store = {
    ...memory,
    async commit(...given) {
      if (failures > 0) {
        failures -= 1;
        throw failure;
      }
      return memory.commit(...given);
    },
  };
  const agent = createAgent({ name: "writer", model: hello(), store });
  await createClient({ store }).session("s").send("Hi.", { agent: "writer" });
  const reports: WorkerReport[] = [];
  const worker = createWorker({
    store,
    agents: [agent],
    onReport(report) {
      reports.push(report);
      if (report.type === "left" && report.result.status === "completed") void worker.stop();
    },
  });
  await worker.run();
  expect(await agent.session("s").result()).toMatchObject({ text: "Hello." });
  const refusals = reports.filter(({ type }) => type === "refused");
  expect(refusals.length).toBeGreaterThan(0);
  for (const refusal of refusals)
    expect(refusal).toMatchObject({
      error: { code: "store_failed", message: expect.stringContaining("The disk is away.") },
    });
});
