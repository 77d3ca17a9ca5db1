/**
 * The idempotency keys of calls: unique in a store, and the same in each attempt, whichever process makes it.
 */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { hasCalls } from "../../src/core/index.js";
import {
  createAgent,
  createClient,
  createWorker,
  defineTool,
  type Store,
  type Tool,
  type ToolContext,
} from "../../src/index.js";
import { createScriptedModel, type Script } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { carryOn } from "../golden/play.js";
import { lastState, loadInto, type Recording } from "../golden/recording.js";
import { type RecordedScenario, scenarios } from "../golden/sessions.js";
import { withServer } from "../server/rig.js";
import { localStores, withStore } from "../support/stores.js";

type Identity = Pick<ToolContext, "sessionId" | "runId" | "callKey" | "idempotencyKey">;

/** A tool that notes its keys, and takes one step. */
function createPayments() {
  const keys: string[] = [];
  const stepKeys: string[] = [];
  const asked: Identity[] = [];
  const step = (context: ToolContext) => context.step("book", (given) => void stepKeys.push(given.idempotencyKey));
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    input: { type: "object" },
    recover: "rerun",
    async execute(_input, context) {
      expect(context.callKey).toBe(`${context.runId}/1/1`);
      keys.push(context.idempotencyKey);
      await step(context);
      return "paid";
    },
  });
  const find = defineTool({
    name: "find",
    description: "Pays, and finds what was paid.",
    input: { type: "object" },
    recover: {
      async reconcile(call) {
        asked.push(call);
        return { status: "not_started" };
      },
    },
    execute(_input, { idempotencyKey }) {
      keys.push(idempotencyKey);
      return "paid";
    },
  });
  return { tools: [pay, find], keys, stepKeys, asked };
}

const payingWith =
  (name: string): Script =>
  ({ messages }) =>
    messages.at(-1)?.role === "user" ? { calls: [{ name }] } : { text: "Paid." };

/** An agent that pays once in each run, in one process or in several. */
function setUp(store: Store, name = "pay") {
  const payments = createPayments();
  const clock = createTestClock(Date.UTC(2026, 2, 1));
  const create = (own = store) =>
    createAgent({
      ...{ name: "clerk", model: createScriptedModel(payingWith(name)), tools: payments.tools, store: own, clock },
    });
  return { ...payments, clock, create, agent: create() };
}

/** The process dies before a result is written. */
function losingResults(store: Store): Store {
  return {
    ...store,
    async commit(lease, commit) {
      if (commit.events.some(({ type }) => type === "tool_finished")) throw new Error("the disk is gone");
      return store.commit(lease, commit);
    },
  };
}

const formatOf = async (store: Store, sessionId: string) => (await store.load(sessionId))?.state.v;

describe.each(localStores)("on $name", ({ open }) => {
  test("two sessions may have runs with the same id: their calls have different keys", () =>
    withStore(open, async (store) => {
      const { agent, keys, stepKeys } = setUp(store);
      for (const sessionId of ["ann", "bob"]) await agent.run("Pay", { sessionId, runId: "2026-03" });
      expect(keys).toEqual(["ann/2026-03/1/1", "bob/2026-03/1/1"]);
      expect(stepKeys).toEqual(["ann/2026-03/1/1/book", "bob/2026-03/1/1/book"]);
      // 0.1 would use other keys.
      expect(await formatOf(store, "ann")).toBe(3);
    }));

  test("also if the ids are parts of each other, and every session's id can be sent in a header", () =>
    withStore(open, async (store) => {
      const { agent, keys } = setUp(store);
      await agent.run("Pay", { sessionId: "a", runId: "b/c" });
      await agent.run("Pay", { sessionId: "a/b", runId: "c" });
      await agent.run("Pay", { sessionId: "客户\n1", runId: "c" });
      expect(new Set(keys).size).toBe(3);
      expect(keys[0]).toBe("a/b/c/1/1");
      for (const key of keys) expect(new Headers({ "idempotency-key": key }).get("idempotency-key")).toBe(key);
    }));

  test("the key of a run whose id Pawl made is that of 0.1, which can carry on its session", () =>
    withStore(open, async (store) => {
      const { agent, keys, stepKeys } = setUp(store);
      const { runId } = await agent.run("Pay", { sessionId: "ann" });
      const sent = await agent.session("bob").send("Pay");
      await agent.session("bob").resume();
      expect(keys).toEqual([`${runId}/1/1`, `${sent.runId}/1/1`]);
      expect(stepKeys).toEqual([`${runId}/1/1/book`, `${sent.runId}/1/1/book`]);
      expect([await formatOf(store, "ann"), await formatOf(store, "bob")]).toEqual([2, 2]);
    }));

  test.for([
    { runId: "2026-03", name: "pay" },
    { runId: "2026-03", name: "find" },
    { runId: undefined, name: "pay" },
    { runId: undefined, name: "find" },
  ])("$name, with the run id $runId: each attempt and each process has the same key", ({ runId, name }) =>
    withStore(open, async (store) => {
      const { create, clock, keys, stepKeys, asked } = setUp(store, name);
      const options = { sessionId: "ann", ...(runId === undefined ? {} : { runId }) };
      const lost = await create(losingResults(store)).run("Pay", options);
      expect(lost).toMatchObject({ status: "interrupted", reason: "store_failed" });
      clock.jump(60_000);
      const resumed = await create().session("ann").resume();
      expect(resumed).toMatchObject({ status: "completed", text: "Paid.", runId: lost.runId });
      const key = `${runId === undefined ? "" : "ann/"}${lost.runId}/1/1`;
      expect(keys).toEqual([key, key]);
      if (name === "pay") expect(stepKeys).toEqual([`${key}/book`]);
      else expect(asked).toMatchObject([{ idempotencyKey: key, callKey: `${lost.runId}/1/1`, sessionId: "ann" }]);
    }),
  );

  test("a run has its key however it was sent: queued, in place of another, as a steer, later, by a client or over HTTP", () =>
    withStore(open, async (store) => {
      const { agent, clock, keys } = setUp(store);
      const session = agent.session("ann");
      await agent.run("Pay", { sessionId: "ann" });
      keys.length = 0;
      const client = createClient({ store, clock }).session("ann");
      const modes = ["queue", "steer", "interrupt", "reject"] as const;
      for (const mode of modes) {
        await session.send("Pay", { runId: `own ${mode}`, mode });
        await session.resume().catch(() => {});
        await client.send("Pay", { runId: `posted ${mode}`, mode });
        await session.resume();
      }
      await session.send("Pay", { runId: "later", afterMs: 1_000 });
      clock.jump(1_000);
      await createWorker({ store, agents: [agent], clock }).runUntilIdle();
      await withServer({ store, agents: [agent] }, async ({ ask }) => {
        await ask("POST", "/v1/sessions/ann/runs", { input: "Pay" }, { "idempotency-key": "over HTTP" });
        await ask("GET", `/v1/sessions/ann/runs/${encodeURIComponent("over HTTP")}?wait=10`);
      });
      const sent = modes.flatMap((mode) => [`own ${mode}`, `posted ${mode}`]);
      expect(keys).toEqual([...sent, "later", "over HTTP"].map((runId) => `ann/${runId}/1/1`));
      expect(await store.verify()).toEqual([]);
    }));

  test("a run that waits for its turn keeps the form of its key, whether the run before it has another or not", () =>
    withStore(open, async (store) => {
      const { create, clock, keys } = setUp(store);
      // Everything is sent before anything runs: the second run is queued by the first.
      const client = createClient({ store, clock }).session("ann");
      const { runId: first } = await client.send("Pay", { agent: "clerk" });
      await client.send("Pay", { runId: "chosen" });
      const { runId: last } = await client.send("Pay");
      await createWorker({ store, agents: [create()], clock }).runUntilIdle();
      expect(keys).toEqual([`${first}/1/1`, "ann/chosen/1/1", `${last}/1/1`]);
      expect(await formatOf(store, "ann")).toBe(3);
      // The fold of the log has the same format in every row.
      expect((await create().session("ann").replay()).difference).toBeNull();
    }));
});

const released = new URL("../golden/released/0.1.0/", import.meta.url);

/** The sessions of 0.1 that were recorded with open calls: some had begun. */
const unfinished = readdirSync(released).flatMap((file) => {
  const recording: Recording = JSON.parse(readFileSync(new URL(file, released), "utf8"));
  const scenario = scenarios.find(({ name }) => `${name}.json` === file);
  const isOpen = recording.sessions.some((session) => hasCalls(lastState(session)));
  return isOpen && scenario !== undefined ? [{ name: scenario.name, recording, scenario }] : [];
});

/** Notes what the tool is called with. */
function noteKeys(tool: Tool, seen: Identity[]): Tool {
  const { execute, recover } = tool;
  if (execute === undefined) return tool;
  const noted: Tool = {
    ...tool,
    execute(input, context) {
      seen.push(context);
      return execute(input, context);
    },
  };
  if (typeof recover !== "object") return noted;
  return {
    ...noted,
    recover: {
      reconcile(call) {
        seen.push(call);
        return recover.reconcile(call);
      },
    },
  };
}

describe.each(localStores)("on $name", ({ open }) => {
  test.for(unfinished)("the log $name of 0.1: its calls keep the keys that 0.1 gave them", (one) =>
    withStore(open, async (store) => {
      const { name, recording, scenario } = one;
      const seen: Identity[] = [];
      const noting: RecordedScenario = {
        ...scenario,
        parts(bench) {
          const { tools = [], ...parts } = scenario.parts(bench);
          return { ...parts, tools: (tools as readonly Tool[]).map((tool) => noteKeys(tool, seen)) };
        },
      };
      await loadInto(store, recording);
      await carryOn(store, noting, recording.sessions);
      for (const { callKey, idempotencyKey, runId, sessionId } of seen)
        expect(idempotencyKey).toBe(runId === "now" ? `${sessionId}/${callKey}` : callKey);
      // It had begun, and runs again.
      if (name === "interrupted-in-tool")
        expect(seen).toContainEqual(expect.objectContaining({ callKey: "r/1/1", idempotencyKey: "r/1/1" }));
    }),
  );

  test("a request that 0.1 has posted has the keys of 0.1", () =>
    withStore(open, async (store) => {
      const { create, clock, keys } = setUp(store);
      const input = [{ role: "user", parts: [{ type: "text", text: "Pay" }] }] as const;
      const body = { type: "input", mode: "queue", runId: "2026-03", input, session: { agent: "clerk" } } as const;
      await store.post("ann", { id: "run/2026-03", at: clock.now(), body });
      expect(await create().session("ann").send("Pay", { runId: "2026-03" })).toEqual({
        runId: "2026-03",
        isNew: false,
      });
      await createWorker({ store, agents: [create()], clock }).runUntilIdle();
      expect(keys).toEqual(["2026-03/1/1"]);
      expect(await formatOf(store, "ann")).toBe(2);
    }));
});

test("there are such logs", () => expect(unfinished.map(({ name }) => name)).toContain("interrupted-in-tool"));
