/**
 * When the store gives out, when another takes over, when a run is aborted: nothing is lost, nothing happens twice.
 */
import { describe, expect, test } from "vitest";
import {
  type AgentOptions,
  createAgent,
  createMemoryStore,
  defineTool,
  type RunResult,
  type Store,
  type StreamItem,
} from "../../src/index.js";
import { createScriptedModel, type Script } from "../../src/testing/scripted-model.js";
import { createTestClock, settled } from "../../src/testing/test-clock.js";
import {
  collect,
  createDeferred,
  createEchoTool,
  createGateTool,
  filterEvents,
  filterEventsOfType,
} from "../support/agents.js";
import { createWatchedClock } from "../support/clock.js";
import { createFailingStore, localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const code = (code: string) => expect.objectContaining({ name: "PawlError", code });

/** What a model answers depends on the conversation alone, so that it can be asked again. */
const steady: Script = ({ messages }) => {
  const results = messages.filter((message) => message.role === "tool").length;
  if (results === 0)
    return {
      calls: [
        { name: "add", input: { n: 1 } },
        { name: "add", input: { n: 2 } },
      ],
    };
  return results === 1 ? { calls: [{ name: "add", input: { n: 3 } }] } : { text: "All added." };
};

function createCounter() {
  const ran: string[] = [];
  const tool = defineTool({
    name: "add",
    description: "Adds to a list.",
    input: { type: "object" },
    execute(_input, { callKey }) {
      ran.push(callKey);
      return `ran ${callKey}`;
    },
  });
  return { tool, ran };
}

describe.each(localStores)("a store on $name that fails", ({ open }) => {
  const ids = { sessionId: "s", runId: "r" } as const;

  async function commitsOfWholeRun(): Promise<number> {
    let commits = 0;
    await withStore(open, async (inner) => {
      const store: Store = {
        ...inner,
        commit: (lease, commit) => inner.commit(lease, commit).finally(() => (commits += 1)),
      };
      await createAgent({ model: createScriptedModel(steady), tools: [createCounter().tool], store }).run("Go", ids);
    });
    return commits;
  }

  for (const afterWriting of [false, true])
    test(
      `at any commit${afterWriting ? ", having written" : ""}: the run stops there, and goes on from there`,
      verifies("REC-1", "REC-2"),
      async () => {
        const commits = await commitsOfWholeRun();
        expect(commits).toBeGreaterThan(3);
        for (let failing = 1; failing <= commits; failing += 1)
          await withStore(open, async (inner) => {
            const { store, failCommits, repair } = createFailingStore(inner);
            const counter = createCounter();
            const model = createScriptedModel(steady);
            const agent = createAgent({ model, tools: [counter.tool], store });
            failCommits(failing, { afterWriting });
            const stream = agent.runStream("Go", ids);
            const items = await collect(stream);
            expect(await stream.result).toMatchObject({ status: "interrupted", reason: "store_failed", ...ids });

            // Nothing was told, started or counted that is not in the store.
            const written = await collect(agent.session("s").events({ follow: false }));
            expect(written.slice(0, filterEvents(items).length)).toEqual(filterEvents(items));
            const ran = [...counter.ran];
            const asked = model.requests.length;
            await settled();
            expect([counter.ran, model.requests.length]).toEqual([ran, asked]);

            repair();
            const session = agent.session("s");
            const result = await session.resume().catch(async (error: unknown) => {
              expect(error).toEqual(code("run_finished"));
              return session.result();
            });
            expect(result).toMatchObject({ status: "completed", text: "All added.", runId: "r" });
            // A call that had a result is not run again; one that was cut off is not either, as nobody said that it may be.
            expect(new Set(counter.ran).size).toBe(counter.ran.length);
            const results = filterEventsOfType(await collect(session.events({ follow: false })), "tool_result");
            expect(results.map((event) => event.callKey).sort()).toEqual(["r/1/1", "r/1/2", "r/2/1"]);
            for (const { callKey, outcome } of results)
              expect(outcome).toBe(counter.ran.includes(callKey) && outcome === "ok" ? "ok" : "interrupted");
            expect(await store.verify()).toEqual([]);
            expect(await agent.run("Once more", { sessionId: "s" })).toMatchObject({ status: "completed" });
          });
      },
    );

  test("altogether is no exception for a run", verifies("REC-2", "LOOP-7"), async () => {
    await withStore(open, async (inner) => {
      const { store, failAll, repair } = createFailingStore(inner);
      const model = createScriptedModel(steady);
      const agent = createAgent({ model, tools: [createCounter().tool], store });
      failAll();
      const failed = {
        status: "interrupted",
        reason: "store_failed",
        resumable: false,
        error: { code: "store_failed" },
      };
      expect(await agent.run("Go", ids)).toMatchObject(failed);
      const stream = agent.runStream("Go", ids);
      expect(await collect(stream)).toEqual([]);
      expect(await stream.result).toMatchObject(failed);
      await expect(agent.session("s").send("Go")).rejects.toThrow(/disk/);
      await expect(agent.session("s").state()).rejects.toThrow(/disk/);
      expect(model.requests).toHaveLength(0);
      repair();
      expect(await agent.run("Go", ids)).toMatchObject({ status: "completed", ...ids });
    });
  });

  test("makes `send` fail, which would otherwise have promised too much", verifies("REC-2"), async () => {
    await withStore(open, async (inner) => {
      const { store, failCommits, repair } = createFailingStore(inner);
      const agent = createAgent({ model: createScriptedModel(steady), tools: [createCounter().tool], store });
      failCommits();
      await expect(agent.session("s").send("Go")).rejects.toThrow(code("store_failed"));
      repair();
      expect(await store.load("s")).toBeNull();
      expect((await agent.run("Go", { sessionId: "s" })).status).toBe("completed");
    });
  });

  test("to answer for a while is asked again", verifies("REC-2"), async () => {
    await withStore(open, async (inner) => {
      const clock = createWatchedClock();
      let busy = 3;
      const store: Store = {
        ...inner,
        commit: async (lease, commit) => (busy-- > 0 ? { type: "busy" } : inner.commit(lease, commit)),
      };
      const model = createScriptedModel(steady);
      const result = createAgent({ model, tools: [createCounter().tool], store, clock }).run("Go");
      for (let retry = 1; retry <= 3; retry += 1) {
        await clock.waitFor(50);
        expect(model.requests).toHaveLength(0);
        await clock.advance(50);
      }
      expect(await result).toMatchObject({ status: "completed" });
      expect(clock.waits).toEqual([50, 50, 50]);

      busy = 100;
      const stuck = createAgent({ model, store, clock }).run("Go");
      for (let retry = 1; retry <= 20; retry += 1) {
        await clock.waitFor(50);
        await clock.advance(50);
      }
      expect(await stuck).toMatchObject({ status: "interrupted", reason: "store_failed" });
    });
  });

  test("under a reader that never sees what is not written", verifies("REC-1"), async () => {
    await withStore(open, async (inner) => {
      const written = new Set<number>();
      const store: Store = {
        ...inner,
        async commit(lease, commit) {
          const result = await inner.commit(lease, commit);
          await settled();
          if (result.type === "ok")
            for (let seq = commit.expectedSeq + 1; seq <= result.seq; seq += 1) written.add(seq);
          return result;
        },
      };
      const early: string[] = [];
      const check = (what: string, seq: number) => {
        if (!written.has(seq)) early.push(what);
      };
      const agent = createAgent({
        model: {
          id: "m",
          async *stream(request) {
            check("a model call", (await inner.load("s"))?.seq ?? 0);
            yield* createScriptedModel(steady).stream(request, new AbortController().signal);
          },
        },
        tools: [
          defineTool({
            name: "add",
            description: "Adds.",
            input: { type: "object" },
            execute(_input, { callKey }) {
              check(callKey, Math.max(...written));
              return "added";
            },
          }),
        ],
        store,
        observers: [{ onEvent: (event) => check(event.type, event.seq) }],
      });
      expect(await agent.run("Go", { sessionId: "s" })).toMatchObject({ status: "completed" });
      expect(early).toEqual([]);
    });
  });
});

describe.each(localStores)("a driver on $name whose session another took over", ({ open }) => {
  test("writes nothing, tells its caller, and its calls are not repeated", verifies("REC-1", "REC-3"), async () => {
    await withStore(open, async (store) => {
      const clock = createTestClock(0);
      const stuck = createGateTool("stuck", { heedsSignal: false });
      const old = createAgent({
        model: createScriptedModel([{ calls: [{ name: "stuck" }] }, { text: "By the old one." }]),
        tools: [stuck.tool],
        store,
        clock,
      });
      const lost = old.run("Go", { sessionId: "s", runId: "r" });
      await stuck.started;

      const model = createScriptedModel([{ text: "By the new one." }]);
      const next = createAgent({ model, tools: [createGateTool("stuck").tool], store, clock: createTestClock(60_000) });
      expect(await next.session("s").resume()).toMatchObject({ status: "completed", text: "By the new one." });
      const log = await store.read("s");
      stuck.open("late, from the old one");
      expect(await lost).toMatchObject({ status: "interrupted", reason: "lease_lost", runId: "r" });
      expect(await store.read("s")).toEqual(log);
      // Its caller can attach to what the other did.
      expect(await old.run("Go", { sessionId: "s", runId: "r" })).toMatchObject({ text: "By the new one." });
    });
  });
});

describe("resume", () => {
  const gone = (): AgentOptions => ({ model: createScriptedModel([{ text: "Never." }]) });

  test("on a run that has ended runs nothing", verifies("REC-5"), async () => {
    const model = createScriptedModel([{ text: "Done." }, { error: { kind: "auth", message: "no" } }]);
    const agent = createAgent({ model });
    await agent.run("Go", { sessionId: "s" });
    await expect(agent.session("s").resume()).rejects.toThrow(code("run_finished"));
    await agent.run("Go", { sessionId: "s" });
    await expect(agent.session("s").resume()).rejects.toThrow(code("run_finished"));
    await expect(agent.session("none").resume()).rejects.toThrow(code("no_session"));
    expect(model.requests).toHaveLength(2);
  });

  test("with another agent, or in another folder, is refused, as is all else", verifies("REC-5"), async () => {
    for (const { open } of localStores)
      await withStore(open, async (store) => {
        const holder = createAgent({
          model: createScriptedModel([{ calls: [{ name: "echo" }] }]),
          tools: [createEchoTool().tool],
          canExecuteTool: () => "ask",
          store,
          name: "holder",
          root: "/home/me/project",
        });
        await holder.run("Go", { sessionId: "s", runId: "r" });
        const log = await store.read("s");
        for (const [options, error] of [
          [{ name: "stranger", root: "/home/me/project" }, "agent_mismatch"],
          [{ name: "holder", root: "/home/me" }, "root_mismatch"],
        ] as const) {
          const other = createAgent({ ...gone(), store, ...options });
          const session = other.session("s");
          await expect(session.resume()).rejects.toThrow(code(error));
          await expect(other.run("Go", { sessionId: "s" })).rejects.toThrow(code(error));
          await expect(other.run("Go", { sessionId: "s", runId: "mine" })).rejects.toThrow(code(error));
          await expect(session.send("Go")).rejects.toThrow(code(error));
          await expect(session.answer("r/1/1", { type: "approve" })).rejects.toThrow(code(error));
          await expect(session.abort()).rejects.toThrow(code(error));
        }
        expect(await store.inbox("s")).toEqual([]);
        expect(await store.read("s")).toEqual(log);
        // An agent of no folder may go on with the session; the holder finds it as it was.
        expect(
          await createAgent({ ...gone(), store, name: "holder" })
            .session("s")
            .resume(),
        ).toMatchObject({
          status: "awaiting_human",
        });
        expect(await holder.session("s").resume()).toMatchObject({ status: "awaiting_human" });
      });
  });

  test("of a session that another holds is refused to another agent too", verifies("REC-5"), async () => {
    const store = createMemoryStore();
    const gate = createGateTool();
    const holder = createAgent({
      model: createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "Mine." }]),
      tools: [gate.tool],
      store,
    });
    const result = holder.run("Go", { sessionId: "s" });
    await gate.started;
    const stranger = createAgent({ ...gone(), store, name: "stranger" });
    await expect(stranger.session("s").resume()).rejects.toThrow(code("agent_mismatch"));
    await expect(stranger.run("Go", { sessionId: "s" })).rejects.toThrow(code("agent_mismatch"));
    expect(await store.inbox("s")).toEqual([]);
    gate.open("ok");
    expect(await result).toMatchObject({ text: "Mine." });
  });

  test("attaches to a run that another agent drives, and gives its result", verifies("REC-5"), async () => {
    const store = createMemoryStore();
    const gate = createGateTool();
    const holder = createAgent({
      model: createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "Held." }]),
      tools: [gate.tool],
      store,
    });
    const result = holder.run("Go", { sessionId: "s" });
    await gate.started;
    const other = createAgent({ ...gone(), store });
    const attached = [other.session("s").resume(), other.session("s").resume()];
    await settled();
    gate.open("ok");
    expect(await result).toMatchObject({ text: "Held." });
    for (const one of attached) expect(await one).toEqual(await result);
  });
});

describe("an abort leaves a session that can be used, in every state", () => {
  type Stage = {
    readonly state: string;
    readonly options: () => { readonly options: AgentOptions; readonly reached: Promise<unknown> };
    readonly ends: RunResult["status"];
  };

  const asked = () => {
    const reached = createDeferred();
    return {
      reached: reached.promise,
      model: createScriptedModel((request) => {
        if (request.messages.length > 1) return { text: "Next." };
        reached.resolve();
        return { text: "Never.", wait: new Promise(() => {}) };
      }),
    };
  };

  const stages: readonly Stage[] = [
    {
      state: "model_running",
      options: () => {
        const { reached, model } = asked();
        return { options: { model }, reached };
      },
      ends: "aborted",
    },
    {
      state: "model_running",
      options: () => {
        const clock = createWatchedClock();
        const slow = { error: { kind: "rate_limit", message: "slow", retryAfterMs: 9_000 } } as const;
        const model = createScriptedModel((request) => (request.runId === "r" ? slow : { text: "Next." }));
        return { options: { model, clock }, reached: clock.waitFor(9_000) };
      },
      ends: "aborted",
    },
    {
      state: "tool_running",
      options: () => {
        const gate = createGateTool();
        const model = createScriptedModel([{ calls: [{ name: "gate" }, { name: "gone" }] }, { text: "Next." }]);
        return { options: { model, tools: [gate.tool] }, reached: gate.started };
      },
      ends: "aborted",
    },
    {
      state: "awaiting_human",
      options: () => {
        const { tool } = createEchoTool();
        const model = createScriptedModel([{ calls: [{ name: "echo" }, { name: "echo" }] }, { text: "Next." }]);
        return { options: { model, tools: [tool], canExecuteTool: () => "ask" }, reached: settled() };
      },
      ends: "awaiting_human",
    },
    {
      state: "completed",
      options: () => ({
        options: { model: createScriptedModel([{ text: "Done." }, { text: "Next." }]) },
        reached: settled(),
      }),
      ends: "completed",
    },
    {
      state: "failed",
      options: () => ({
        options: { model: createScriptedModel([{ error: { kind: "auth", message: "no" } }, { text: "Next." }]) },
        reached: settled(),
      }),
      ends: "failed",
    },
  ];

  test.each(stages)("$state", verifies("REC-8", "LOOP-10#intent"), async ({ state, options: make, ends }) => {
    const { options, reached } = make();
    const agent = createAgent(options);
    const result = agent.run("Go", { sessionId: "s", runId: "r" });
    await reached;
    await settled();
    const session = agent.session("s");
    expect((await session.state()).status).toBe(state);
    await Promise.all([session.abort(), session.abort()]);
    expect((await result).status).toBe(ends);
    const resting = state === "completed" || state === "failed";
    expect((await session.state()).status).toBe(resting ? state : "aborted");
    await session.abort();

    expect(await agent.run("On", { sessionId: "s" })).toMatchObject({ status: "completed", text: "Next." });
    const messages = await session.messages();
    messages.forEach((message, index) => {
      if (message.role !== "assistant") return;
      const calls = message.parts.flatMap((part) => (part.type === "tool_call" ? [part.toolCallId] : []));
      const next = messages[index + 1];
      expect(next?.role === "tool" ? next.parts.map((part) => part.toolCallId) : []).toEqual(calls);
    });
  });

  test("unknown: it is refused, and nothing is made", verifies("REC-8"), async () => {
    const store = createMemoryStore();
    const agent = createAgent({ model: createScriptedModel([{ text: "First." }]), store });
    await expect(agent.session("s").abort()).rejects.toThrow(expect.objectContaining({ code: "no_session" }));
    expect(await store.list()).toEqual([]);
    expect(await agent.run("Go", { sessionId: "s" })).toMatchObject({ text: "First." });
  });
});

test("shutdown gives sessions back, and what is cut off can be resumed", verifies("LOOP-7"), async () => {
  for (const { open } of localStores)
    await withStore(open, async (store) => {
      const clock = createTestClock();
      const gate = createGateTool("gate", { heedsSignal: false });
      const model = createScriptedModel([{ calls: [{ name: "gate" }] }]);
      const agent = createAgent({ model, tools: [gate.tool], store, clock });
      const result = agent.run("Go", { sessionId: "s" });
      await gate.started;
      const down = agent.shutdown({ graceMs: 2_000 });
      await clock.advance(2_000);
      await down;
      expect(await result).toMatchObject({ status: "interrupted", reason: "shutdown", resumable: true });
      const items: StreamItem[] = [];
      const next = createAgent({
        model: createScriptedModel([{ text: "On." }]),
        tools: [createGateTool().tool],
        store,
        clock,
      });
      expect(await next.session("s").resume()).toMatchObject({ status: "completed", text: "On." });
      items.push(...(await collect(next.session("s").events({ follow: false }))));
      expect(filterEventsOfType(items, "tool_result").map((event) => event.outcome)).toEqual(["interrupted"]);
    });
});
