import { describe, expect, test } from "vitest";
import { createAgent, createMemoryStore, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { collect, createEchoTool, createGateTool } from "../support/agents.js";
import { createWatchedClock } from "../support/clock.js";

/** A store that counts who watches it. */
function watched() {
  const inner = createMemoryStore();
  let watchers = 0;
  const store: Store = {
    ...inner,
    watch(listener) {
      watchers += 1;
      const stop = inner.watch(listener);
      return () => {
        watchers -= 1;
        stop();
      };
    },
  };
  return { store, watchers: () => watchers };
}

describe("a session at rest holds nothing: no timer, no lease, no watcher", () => {
  const ways = {
    "after a run": async (agent: ReturnType<typeof createAgent>) => void (await agent.run("Go", { sessionId: "s" })),
    "after a stream": async (agent: ReturnType<typeof createAgent>) =>
      void (await collect(agent.runStream("Go", { sessionId: "s" }))),
    "after a stream that nobody read": async (agent: ReturnType<typeof createAgent>) =>
      void (await agent.runStream("Go", { sessionId: "s" }).result),
    "after views": async (agent: ReturnType<typeof createAgent>) => {
      for await (const _view of agent.iterate("Go", { sessionId: "s" }));
    },
    "after an abort before the run": async (agent: ReturnType<typeof createAgent>) =>
      void (await agent.run("Go", { sessionId: "s", signal: AbortSignal.abort() })),
    "after a run that was known": async (agent: ReturnType<typeof createAgent>) => {
      await agent.run("Go", { sessionId: "s", runId: "r" });
      await agent.run("Go", { sessionId: "s", runId: "r" });
    },
    "after a look at its events": async (agent: ReturnType<typeof createAgent>) => {
      await agent.run("Go", { sessionId: "s" });
      for await (const item of agent.session("s").events()) if (item.type === "final") break;
    },
    "after an abort of nothing": async (agent: ReturnType<typeof createAgent>) => {
      await agent.run("Go", { sessionId: "s" });
      await agent.session("s").abort();
    },
    "after a refusal to resume": async (agent: ReturnType<typeof createAgent>) => {
      await agent.run("Go", { sessionId: "s" });
      await agent
        .session("s")
        .resume()
        .catch(() => {});
    },
  };

  test.each(Object.entries(ways))("%s", async (_, act) => {
    const { store, watchers } = watched();
    const clock = createWatchedClock();
    const model = createScriptedModel((request) =>
      request.messages.length < 2 ? { calls: [{ name: "echo" }] } : { text: "Done." },
    );
    const agent = createAgent({ model, tools: [createEchoTool().tool], store, clock });
    await act(agent);
    // Who follows a log looks up four times a second, and sees that nobody asks any more.
    await clock.advance(250);
    expect(clock.pending()).toBe(0);
    expect(watchers()).toBe(0);
    expect((await store.list()).map((session) => session.holder)).toEqual([null]);
  });

  test("while it waits for a person", async () => {
    const { store, watchers } = watched();
    const clock = createWatchedClock();
    const agent = createAgent({
      model: createScriptedModel([{ calls: [{ name: "echo" }] }]),
      tools: [createEchoTool().tool],
      canExecuteTool: () => "ask",
      store,
      clock,
    });
    expect(await agent.run("Go")).toMatchObject({ status: "awaiting_human" });
    await clock.advance(0);
    expect(clock.pending()).toBe(0);
    expect(watchers()).toBe(0);
    expect((await store.list()).map((session) => session.holder)).toEqual([null]);
  });
});

test("sessions at work share one watcher of their store", async () => {
  const { store, watchers } = watched();
  const gate = createGateTool();
  const agent = createAgent({
    model: createScriptedModel(({ modelCallIndex }) =>
      modelCallIndex === 1 ? { calls: [{ name: "gate" }] } : { text: "Done." },
    ),
    tools: [gate.tool],
    store,
  });
  const runs = Array.from({ length: 20 }, (_, index) => agent.run("Go", { sessionId: `s${index}` }));
  await gate.started;
  expect(watchers()).toBe(1);
  gate.open("open");
  for (const run of runs) expect((await run).status).toBe("completed");
  expect(watchers()).toBe(0);
});
