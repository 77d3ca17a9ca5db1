/**
 * What a client does in a store without an agent: it begins sessions, sends to them, watches them, and copies them. A
 * worker carries on what it sent.
 */
import { describe, expect, test } from "vitest";
import {
  createAgent,
  createClient,
  createWorker,
  type Store,
  type StreamItem,
  type WorkerReport,
} from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { settled } from "../../src/testing/test-clock.js";
import { collect, createGateTool, filterEventsOfType } from "../support/agents.js";
import { localStores, withStore } from "../support/stores.js";

const agentOf = (store: Store, name = "writer") =>
  createAgent({ name, model: createScriptedModel(({ messages }) => ({ text: `Answer ${messages.length}.` })), store });

describe.each(localStores)("a client, on $name", ({ open }) => {
  test("begins a session of a named agent, which a worker carries out", async () => {
    await withStore(open, async (store) => {
      const session = createClient({ store }).session("s");
      expect(await session.send("Write.", { agent: "writer", runId: "r", by: "ada" })).toEqual({
        runId: "r",
        isNew: true,
      });
      expect(await session.send("Write.", { agent: "writer", runId: "r", by: "ada" })).toEqual({
        runId: "r",
        isNew: false,
      });
      expect(await session.result("r")).toBeNull();
      await createWorker({ store, agents: [agentOf(store)] }).runUntilIdle();
      expect(await session.result("r")).toMatchObject({ status: "completed", text: "Answer 1." });
      expect((await session.state()).session).toMatchObject({ agent: "writer", title: "Write.", principal: "ada" });
      expect(await session.messages()).toHaveLength(2);
      const events = await collect(session.events({ follow: false }));
      expect(filterEventsOfType(events, "run_started")).toMatchObject([{ runId: "r", by: "ada" }]);
      expect(events).toEqual(await collect(agentOf(store).session("s").events({ follow: false })));
    });
  });

  test("begins none without an agent's name, and says so of a run that there is not", async () => {
    await withStore(open, async (store) => {
      const session = createClient({ store }).session("s");
      await expect(session.send("Write.")).rejects.toMatchObject({ code: "no_session" });
      expect(await store.list()).toEqual([]);
      await session.send("Write.", { agent: "writer" });
      await session.send("And more.");
      await expect(session.result("other")).rejects.toMatchObject({ code: "no_such_run" });
      await createWorker({ store, agents: [agentOf(store)] }).runUntilIdle();
      expect(filterEventsOfType(await collect(session.events({ follow: false })), "final")).toHaveLength(2);
      await expect(session.result("other")).rejects.toMatchObject({ code: "no_such_run" });
    });
  });

  test("rejects, steers and aborts as a session does", async () => {
    await withStore(open, async (store) => {
      const gate = createGateTool();
      const model = createScriptedModel([{ calls: [{ name: "gate" }] }]);
      const agent = createAgent({ name: "writer", model, tools: [gate.tool], store });
      const session = createClient({ store }).session("s");
      await session.send("Write.", { agent: "writer", runId: "first" });
      await expect(session.send("Now.", { mode: "reject" })).rejects.toMatchObject({ code: "session_busy" });
      const worker = createWorker({ store, agents: [agent] });
      const working = worker.run();
      await gate.started;
      await session.send("Now.", { mode: "steer", by: "ada" });
      expect(await session.abort({ runId: "never" })).toBe("nothing");
      expect(await session.abort({ runId: "first", by: "ada" })).toBe("asked");
      const items = await collect(session.events({ runId: "first", until: "run" }));
      expect(filterEventsOfType(items, "abort_requested")).toMatchObject([{ by: "ada" }]);
      expect(items.at(-1)).toMatchObject({ type: "final", result: { status: "aborted" } });
      expect(await session.abort({ runId: "first" })).toBe("nothing");
      await worker.stop();
      await working;
      const all = await collect(session.events({ follow: false }));
      expect(filterEventsOfType(all, "steered")).toMatchObject([{ by: "ada" }]);
    });
  });

  test("follows the log of a session that a worker carries on; all watchers share a follower", async () => {
    await withStore(open, async (inner) => {
      let watchers = 0;
      const store: Store = {
        ...inner,
        watch(listener) {
          watchers += 1;
          return inner.watch(listener);
        },
      };
      const client = createClient({ store });
      await client.session("s").send("Write.", { agent: "writer", runId: "r" });
      const watching = [1, 2, 3].map(() => collect(client.session("s").events({ until: "run" })));
      await createWorker({ store: inner, agents: [agentOf(inner)] }).runUntilIdle();
      const log = await collect(client.session("s").events({ follow: false }));
      for (const items of await Promise.all(watching)) expect(items).toEqual(log);
      expect(watchers).toBe(1);
    });
  });

  test("binds a session that it begins to a folder", async () => {
    await withStore(open, async (store) => {
      const session = createClient({ store }).session("s");
      await session.send("Write.", { agent: "writer", root: "/elsewhere" });
      const reports: WorkerReport[] = [];
      const onReport = (report: WorkerReport) => void reports.push(report);
      await createWorker({ store, agents: [agentOf(store).with({ root: "/here" })], onReport }).runUntilIdle();
      // Before it has driven anything.
      expect(reports).toMatchObject([{ type: "refused", error: { code: "root_mismatch" } }]);
      await createWorker({ store, agents: [agentOf(store).with({ root: "/elsewhere" })] }).runUntilIdle();
      expect((await session.state()).session).toMatchObject({ agent: "writer", root: "/elsewhere" });
    });
  });

  test("copies a session", async () => {
    await withStore(open, async (store) => {
      const agent = agentOf(store);
      await agent.run("Write.", { sessionId: "s" });
      const copy = await createClient({ store }).session("s").fork({ sessionId: "copy" });
      expect(copy.id).toBe("copy");
      expect(await copy.messages()).toEqual(await agent.session("s").messages());
      expect(await agent.run("More.", { sessionId: "copy" })).toMatchObject({ text: "Answer 3." });
      expect(await agent.session("s").messages()).toHaveLength(2);
    });
  });
});

describe.each(localStores)("the wanted items of a session, on $name", ({ open }) => {
  test("come in pages, from any place, and each once", async () => {
    await withStore(open, async (store) => {
      const agent = agentOf(store);
      for (const text of ["One", "Two", "Three"]) await agent.run(text, { sessionId: "s", runId: text });
      const session = agent.session("s");
      const all = await collect(session.events({ follow: false }));
      for (const limit of [1, 2, 5, all.length, all.length + 1]) {
        const paged: StreamItem[] = [];
        for (let after = "0"; ; ) {
          const page = await collect(session.events({ after, limit, follow: false }));
          expect(page.length).toBeLessThanOrEqual(limit);
          paged.push(...page);
          const last = page.at(-1);
          if (page.length < limit || last === undefined || !("seq" in last)) break;
          after = `${last.seq}.${last.index}`;
        }
        expect(paged).toEqual(all);
      }
      const two = await collect(session.events({ follow: false, runId: "Two" }));
      expect(two).toEqual(all.filter((item) => !("runId" in item) || item.runId === "Two"));
      // A page of a session that goes on ends as well.
      expect(await collect(session.events({ limit: 3 }))).toEqual(all.slice(0, 3));
    });
  });

  test("end with the run, whenever the watcher comes", async () => {
    await withStore(open, async (store) => {
      const gate = createGateTool();
      const model = createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "First." }, { text: "Second." }]);
      const agent = createAgent({ model, tools: [gate.tool], store });
      const session = agent.session("s");
      const first = agent.run("One", { sessionId: "s", runId: "first" });
      await gate.started;
      const second = agent.run("Two", { sessionId: "s", runId: "second" });
      const watching = session.events({ until: "run" })[Symbol.asyncIterator]();
      // The run under way is the one that goes on when the watcher has come, which is shown by its first item.
      await watching.next();
      const present = collect({ [Symbol.asyncIterator]: () => watching });
      const queued = collect(session.events({ until: "run", runId: "second" }));
      gate.open("ok");
      await Promise.all([first, second]);
      expect((await present).at(-1)).toMatchObject({ type: "final", runId: "first" });
      expect((await queued).at(-1)).toMatchObject({ type: "final", runId: "second" });
      // The run is over: the items end with the log, also behind its end.
      const { seq } = await session.state();
      const late = [
        { runId: "first" },
        { runId: "second", after: seq },
        { after: seq + 100 },
        { runId: "unknown" },
        {},
      ];
      for (const options of late) await collect(session.events({ until: "run", ...options }));
      expect(await collect(session.events({ until: "run", live: "only" }))).toEqual([]);
    });
  });

  test("end with the run, although the given place is beyond its end", async () => {
    await withStore(open, async (store) => {
      const gate = createGateTool();
      const model = createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "Done." }]);
      const agent = createAgent({ model, tools: [gate.tool], store });
      const running = agent.run("Go", { sessionId: "s" });
      await gate.started;
      const items = collect(agent.session("s").events({ until: "run", after: 10_000, live: false }));
      gate.open("ok");
      await running;
      expect(await items).toEqual([]);
    });
  });

  test("are those of the log alone, or what it does not keep alone", async () => {
    await withStore(open, async (store) => {
      const gate = createGateTool();
      const model = createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "One two three." }]);
      const agent = createAgent({ model, tools: [gate.tool], store });
      const running = agent.run("Go", { sessionId: "s" });
      await gate.started;
      const options = { until: "run" } as const;
      const both = collect(agent.session("s").events(options));
      const logged = collect(agent.session("s").events({ ...options, live: false }));
      const live = collect(agent.session("s").events({ ...options, live: "only" }));
      await settled();
      gate.open("ok");
      await running;
      const isLogged = (item: StreamItem) => "seq" in item;
      expect(await logged).toEqual((await both).filter(isLogged));
      expect(await live).toEqual((await both).filter((item) => !isLogged(item)));
      expect((await live).map(({ type }) => type)).toContain("delta");
    });
  });

  test("of a session with its children are all: the other filters do not go with them", async () => {
    await withStore(open, async (store) => {
      const agent = agentOf(store);
      await agent.run("Go", { sessionId: "s" });
      const others = [{ limit: 1 }, { live: false }, { runId: "r" }, { until: "run" }] as const;
      for (const other of others)
        await expect(collect(agent.session("s").events({ children: true, ...other }))).rejects.toMatchObject({
          code: "bad_input",
        });
    });
  });
});

describe.each(localStores)("one run, on $name", ({ open }) => {
  test("is aborted by its id while it waits in the queue, and the run under way goes on", async () => {
    await withStore(open, async (store) => {
      const gate = createGateTool();
      const model = createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "First." }]);
      const agent = createAgent({ model, tools: [gate.tool], store });
      const session = agent.session("s");
      const first = agent.run("One", { sessionId: "s", runId: "first" });
      await gate.started;
      await session.send("Two", { runId: "second" });
      expect(await session.abort({ runId: "second" })).toBe("asked");
      expect(await session.result("second")).toMatchObject({ status: "aborted" });
      expect(await session.abort({ runId: "second" })).toBe("nothing");
      gate.open("ok");
      expect(await first).toMatchObject({ status: "completed", text: "First." });
      expect(await session.abort()).toBe("nothing");
    });
  });

  test("is aborted before it is durable", async () => {
    await withStore(open, async (store) => {
      const model = createScriptedModel(() => ({ text: "Never said.", wait: new Promise(() => {}) }));
      const agent = createAgent({ model, store });
      for (const runId of ["named", undefined]) {
        const sessionId = `s-${runId}`;
        const running = agent.run("Go", { sessionId, runId: "named" });
        expect(await agent.session(sessionId).abort(runId === undefined ? {} : { runId })).toBe("asked");
        expect(await running).toMatchObject({ status: "aborted" });
      }
    });
  });

  test("is aborted while its request waits in the inbox for a worker", async () => {
    await withStore(open, async (store) => {
      const session = createClient({ store }).session("s");
      await session.send("Go", { agent: "writer", runId: "r" });
      expect(await session.abort()).toBe("asked");
      await createWorker({ store, agents: [agentOf(store)] }).runUntilIdle();
      expect(await session.result("r")).toMatchObject({ status: "aborted" });
      await expect(session.abort({ runId: "" })).rejects.toMatchObject({ code: "bad_input" });
    });
  });
});
