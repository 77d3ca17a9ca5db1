/**
 * Sessions that do not exist, runs of which nothing was kept, runs that another process ended, ids that are none, and
 * agents made from agents.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createClient, createMemoryStore, pendingApprovals, type RunResult } from "../../src/index.js";
import { modelRequests, traceSession } from "../../src/inspect.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { collect, createEchoTool, createGateTool, listEventTypes } from "../support/agents.js";
import { createFailingStore, localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const code = (code: string) => expect.objectContaining({ name: "PawlError", code });
const ids = { sessionId: "s", runId: "r" } as const;
const steady = () => createScriptedModel(() => ({ text: "Done." }));

describe.each(localStores)("a session that does not exist, on $name", ({ open }) => {
  test("is an error for whoever reads, steers, aborts or answers, and is not made", verifies("STRM-6"), async () => {
    await withStore(open, async (store) => {
      const model = steady();
      const session = createAgent({ model, store }).session("never");
      const client = createClient({ store }).session("never");
      const calls = [
        () => collect(session.events()),
        () => collect(session.events({ follow: false })),
        () => session.messages(),
        () => session.state(),
        () => session.result(),
        () => session.result("r"),
        () => session.pendingApprovals(),
        () => session.resume(),
        () => session.replay(),
        () => session.fork(),
        () => session.abort(),
        () => session.abort({ runId: "r" }),
        () => session.steer("Mind that."),
        () => session.send("Mind that.", { mode: "steer" }),
        () => session.answer("r/1/1", { type: "approve" }),
        () => session.provideResult("r/1/1", "given"),
        () => client.pendingApprovals(),
        () => client.abort(),
        () => client.steer("Mind that."),
        () => client.answer("r/1/1", { type: "approve" }),
        () => client.provideResult("r/1/1", "given"),
        () => client.answerTo("r/1/1"),
        () => client.hasAnswerFrom("m"),
        () => client.tools(),
        () => client.send("Go on."),
        () => client.send("Mind that.", { mode: "steer" }),
        () => collect(client.events()),
        () => collect(client.events({ follow: false })),
        () => client.messages(),
        () => client.state(),
        () => client.result(),
        () => client.result("r"),
        () => client.fork(),
        () => collect(modelRequests(store, "never")),
      ];
      for (const call of calls) await expect(call(), call.toString()).rejects.toThrow(code("no_session"));
      expect(await store.list()).toEqual([]);
      expect(model.requests).toEqual([]);
    });
  });

  test("can be read as soon as this process starts it", verifies("STRM-6"), async () => {
    await withStore(open, async (store) => {
      const agent = createAgent({ model: steady(), store });
      const session = agent.session("s");
      const leave = new AbortController();
      const events = collect(session.events({ signal: leave.signal }));
      expect(await agent.run("Go", ids)).toMatchObject({ status: "completed" });
      leave.abort();
      expect(listEventTypes(await events).at(0)).toBe("session_created");
    });
  });
});

describe.each(localStores)("a run that is interrupted, on $name", ({ open }) => {
  test("before its first commit says that nothing was kept, and the same id starts it", verifies("REC-2"), async () => {
    await withStore(open, async (inner) => {
      for (const sessionId of ["one", "two"]) {
        const { store, failAll, failCommits, repair } = createFailingStore(inner);
        const agent = createAgent({ model: steady(), store });
        if (sessionId === "one") failAll();
        else failCommits();
        const request = sessionId === "one" ? { sessionId, runId: "r" } : { sessionId };
        const result = await agent.run("Go", request);
        expect(result).toMatchObject({ status: "interrupted", reason: "store_failed", resumable: false });
        repair();
        await expect(agent.session(sessionId).resume()).rejects.toThrow(/resumable: false/);
        expect(await agent.run("Go", { sessionId, runId: result.runId })).toMatchObject({ status: "completed" });
      }
    });
  });

  test("after it was kept can be resumed, also if the store's answer was lost", verifies("REC-2"), async () => {
    await withStore(open, async (inner) => {
      for (const [sessionId, from, afterWriting] of [
        ["one", 1, true],
        ["two", 2, false],
      ] as const) {
        const { store, failCommits, repair } = createFailingStore(inner);
        const { tool } = createEchoTool();
        const model = createScriptedModel([
          { calls: [{ name: "echo", input: {} }] },
          { text: "Done." },
          { text: "Done." },
        ]);
        const agent = createAgent({ model, tools: [tool], store });
        failCommits(from, { afterWriting });
        const result = await agent.run("Go", { sessionId });
        expect(result).toMatchObject({ status: "interrupted", reason: "store_failed", resumable: true });
        repair();
        expect(await agent.session(sessionId).resume()).toMatchObject({ runId: result.runId });
      }
    });
  });

  test("and that another process ended meanwhile: resume gives its result", verifies("LOOP-7"), async () => {
    await withStore(open, async (store) => {
      const gate = createGateTool();
      const first = createAgent({
        model: createScriptedModel([{ calls: [{ name: "gate", input: {} }] }]),
        tools: [{ ...gate.tool, recover: "rerun" }],
        store,
      });
      const run = first.run("Go", ids);
      await gate.started;
      await first.shutdown({ graceMs: 0 });
      const interrupted: RunResult = await run;
      expect(interrupted).toMatchObject({ status: "interrupted", reason: "shutdown", resumable: true });

      const second = createAgent({
        model: createScriptedModel([{ text: "Ended elsewhere." }]),
        tools: [{ ...createEchoTool("gate").tool }],
        store,
      });
      expect(await second.session("s").resume()).toMatchObject({ status: "completed", text: "Ended elsewhere." });
      expect(await first.session("s").resume()).toMatchObject({
        status: "completed",
        runId: "r",
        text: "Ended elsewhere.",
      });
      await expect(first.session("s").resume()).rejects.toThrow(code("run_finished"));
    });
  });
});

describe.each(localStores)("an id that is none, on $name", ({ open }) => {
  test.each([[5], [null], [{}], [["s"]], [""], ["a\0b"], ["\ud800"], ["x".repeat(513)]])(
    "%j is refused",
    verifies("LOOP-11", "SEC-12"),
    async (id) => {
      await withStore(open, async (store) => {
        const agent = createAgent({ model: steady(), store });
        const sessionId = id as string;
        await expect(agent.run("Go", { sessionId })).rejects.toThrow(code("bad_input"));
        expect(() => agent.runStream("Go", { sessionId })).toThrow(code("bad_input"));
        expect(() => agent.iterate("Go", { sessionId })).toThrow(code("bad_input"));
        expect(() => agent.session(sessionId)).toThrow(code("bad_input"));
        expect(() => createClient({ store }).session(sessionId)).toThrow(code("bad_input"));
        await expect(traceSession(store, sessionId)).rejects.toThrow(code("bad_input"));
        await expect(collect(modelRequests(store, sessionId))).rejects.toThrow(code("bad_input"));
        await expect(store.claim(sessionId, { holder, now: 1, leaseMs: 1_000 })).rejects.toThrow(code("bad_input"));
        expect(await store.load(sessionId)).toBeNull();
        await agent.run("Go", { sessionId: "s" });
        await expect(agent.session("s").fork({ sessionId })).rejects.toThrow(code("bad_input"));
      });
    },
  );

  test("a run's id must be a text, too", verifies("LOOP-11"), async () => {
    await withStore(open, async (store) => {
      const agent = createAgent({ model: steady(), store });
      for (const runId of [5, null, {}, ""])
        await expect(agent.run("Go", { runId: runId as string })).rejects.toThrow(code("bad_input"));
    });
  });
});

const holder = { id: "h", host: "h", pid: 1, startedAt: 1 };

test("with() keeps the store, and everything else that it does not name", verifies("LOOP-21", "LOOP-6"), async () => {
  const { tool } = createEchoTool();
  const agent = createAgent({ name: "keeper", model: steady(), systemPrompt: "Be kind.", tools: [tool] });
  await agent.run("One", ids);
  const other = createScriptedModel(() => ({ text: "Other." }));
  const changed = agent.with({ model: other });
  expect(changed.options).toEqual({ ...agent.options, model: other });
  expect(changed.options.store).toBe(agent.options.store);
  expect(await changed.run("Two", { sessionId: "s" })).toMatchObject({ text: "Other." });
  expect(other.requests[0]).toMatchObject({ systemPrompt: "Be kind.", tools: [{ name: "echo" }] });
  expect(await agent.session("s").messages()).toHaveLength(4);
  const apart = createMemoryStore();
  expect(agent.with({ store: apart }).options.store).toBe(apart);
});

test("what an author changes later changes no agent", verifies("LOOP-21"), async () => {
  const tools = [createEchoTool("one").tool];
  const limits = { maxSteps: 3 };
  const agent = createAgent({ model: steady(), tools, limits });
  tools.push(createEchoTool("two").tool);
  limits.maxSteps = 0;
  expect(() => Object.assign(agent.options, { systemPrompt: "Changed." })).toThrow(TypeError);
  expect(agent.with({ systemPrompt: "New." }).options).toMatchObject({
    tools: [{ name: "one" }],
    limits: { maxSteps: 3 },
  });
});

test(
  "ids that the library makes are random: 130 bits, also of children and approvals",
  verifies("SEC-3#library"),
  async () => {
    const store = createMemoryStore();
    const asking = { ...createEchoTool("pay").tool, needsApproval: true };
    const child = createAgent({
      name: "child",
      model: createScriptedModel(() => ({ calls: [{ name: "pay", input: {} }] })),
      tools: [asking],
    });
    const parent = createAgent({
      name: "parent",
      model: createScriptedModel(() => ({ calls: [{ name: "child", input: { task: "Pay." } }] })),
      tools: [child.asTool({ description: "Pays." })],
      store,
    });
    const results = [await parent.run("Go"), await parent.run("Go")];
    const made: string[] = [];
    for (const { sessionId, runId } of results) made.push(sessionId, runId);
    for await (const approval of pendingApprovals(store)) {
      made.push(approval.sessionId, approval.runId);
      // An approval is known by its call, which begins with the id of its run.
      expect(approval.callKey.startsWith(`${approval.runId}/`)).toBe(true);
    }
    expect(new Set(made).size).toBe(8);
    for (const id of made) expect(id).toMatch(/^([0-9a-z]{26}|[0-9a-f]{32})$/);
    // Nothing of one id is in another: no counter, no time, no name.
    for (const id of made)
      for (const other of made)
        if (id !== other) expect(other.startsWith(id.slice(0, 8)), `${id} ${other}`).toBe(false);
  },
);
