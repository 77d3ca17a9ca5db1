/**
 * `run`, `runStream` and `iterate` are one path; agents are made from agents.
 */
import { describe, expect, test } from "vitest";
import { type AgentOptions, createAgent, createMemoryStore, type RunResult, type RunView } from "../../src/index.js";
import { createScriptedModel, type Script } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { collect, createEchoTool, filterEventsOfType, listEventTypes } from "../support/agents.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const script: Script = [
  { reasoning: "Two calls.", text: "Let me see.", calls: [{ name: "echo", input: { n: 1 } }, { name: "echo" }] },
  { text: "Half of an ans", error: { kind: "network", message: "connection reset" } },
  { text: "Now I know." },
];

function optionsOf(options: Partial<AgentOptions>): AgentOptions {
  return {
    model: createScriptedModel(script),
    tools: [createEchoTool().tool],
    retry: { baseDelayMs: 0 },
    clock: createTestClock(),
    ...options,
  };
}

async function iterated(views: AsyncGenerator<RunView, RunResult, undefined>) {
  const seen: RunView[] = [];
  for (;;) {
    const next = await views.next();
    if (next.done === true) return { seen, result: next.value };
    seen.push(next.value);
  }
}

const ids = { sessionId: "s", runId: "r" } as const;

describe.each(localStores)("on $name", ({ open }) => {
  test("three ways to run give the same result and leave the same log", verifies("LOOP-1", "LOOP-5"), async () => {
    const logs: unknown[] = [];
    const results: RunResult[] = [];
    const ways = [
      (agent: ReturnType<typeof createAgent>) => agent.run("Go", ids),
      async (agent: ReturnType<typeof createAgent>) => {
        const stream = agent.runStream("Go", ids);
        const items = await collect(stream);
        const final = filterEventsOfType(items, "final")[0];
        expect(final?.result).toEqual(await stream.result);
        return stream.result;
      },
      async (agent: ReturnType<typeof createAgent>) => (await iterated(agent.iterate("Go", ids))).result,
    ];
    for (const way of ways)
      await withStore(open, async (store) => {
        results.push(await way(createAgent(optionsOf({ store }))));
        logs.push(await store.read("s"));
      });
    expect(results[0]).toMatchObject({ status: "completed", reason: "stop", text: "Now I know.", steps: 2 });
    for (const result of results) expect(result).toEqual(results[0]);
    for (const log of logs) expect(log).toEqual(logs[0]);
  });
});

test(
  "the loop is handed its parts: it calls the model, then the tools, then the model",
  verifies("LOOP-1"),
  async () => {
    const model = createScriptedModel(script);
    const echo = createEchoTool();
    const agent = createAgent(optionsOf({ model, tools: [echo.tool], systemPrompt: "Be brief." }));
    await agent.run("Go");
    expect(model.requests.map((request) => request.messages.map((message) => message.role))).toEqual([
      ["user"],
      ["user", "assistant", "tool"],
      ["user", "assistant", "tool"],
    ]);
    expect(model.requests.map((request) => request.tools.map((tool) => tool.name))).toEqual([
      ["echo"],
      ["echo"],
      ["echo"],
    ]);
    expect(model.requests.map((request) => request.systemPrompt)).toEqual(["Be brief.", "Be brief.", "Be brief."]);
    expect(echo.inputs).toEqual([{ n: 1 }, {}]);
    // Nothing that was not handed in can be called.
    const bare = createAgent({ model: createScriptedModel([{ text: "Alone." }]) });
    expect(bare.options.tools).toBeUndefined();
    expect(await bare.run("Go")).toMatchObject({ text: "Alone." });
  },
);

test("views come after each step, after each error and once at the end, frozen", verifies("LOOP-5"), async () => {
  const agent = createAgent(optionsOf({}));
  const { seen } = await iterated(agent.iterate("Go", ids));
  expect(seen.map((view) => [view.state.status, view.messages.length])).toEqual([
    ["preparing", 3],
    ["model_running", 3],
    ["completed", 4],
  ]);
  for (const view of seen) {
    expect(Object.isFrozen(view)).toBe(true);
    expect(() => (view.messages as unknown[]).push("more")).toThrow(TypeError);
    expect(() => Object.assign(view.messages[0] ?? {}, { role: "system" })).toThrow(TypeError);
    expect(() => Object.assign(view.state, { status: "idle" })).toThrow(TypeError);
  }
  expect(await agent.run("Again", { sessionId: "s" })).toMatchObject({ status: "failed", reason: "model_error" });
});

test("views of a run that waits end where it waits", verifies("LOOP-5"), async () => {
  const agent = createAgent(optionsOf({ canExecuteTool: () => "ask" }));
  const { seen, result } = await iterated(agent.iterate("Go", ids));
  expect(seen.map((view) => view.state.status)).toEqual(["awaiting_human"]);
  expect(result.status).toBe("awaiting_human");
});

test("a loop over views that is left does not end the run", verifies("LOOP-5"), async () => {
  const agent = createAgent(optionsOf({}));
  for await (const view of agent.iterate("Go", ids)) {
    expect(view.state.status).toBe("preparing");
    break;
  }
  expect(await agent.run("Go", ids)).toMatchObject({ status: "completed", text: "Now I know." });
});

test("a stream that nobody reads costs nothing and ends", async () => {
  const agent = createAgent(optionsOf({}));
  const stream = agent.runStream("Go", ids);
  expect(await stream.result).toMatchObject({ status: "completed" });
  expect(listEventTypes(await collect(stream)).at(-1)).toBe("final");
});

test("a run of the same agent in another session is apart", verifies("LOOP-5"), async () => {
  const agent = createAgent(optionsOf({ model: createScriptedModel(() => ({ text: "Same." })) }));
  const streams = ["a", "b", "c"].map((sessionId) => agent.runStream("Go", { sessionId }));
  for (const stream of streams) {
    const items = await collect(stream);
    expect(new Set(items.flatMap((item) => ("sessionId" in item ? [item.sessionId] : [])))).toEqual(
      new Set([stream.sessionId]),
    );
  }
});

describe("with", () => {
  test("gives a new agent and leaves the old one as it was", verifies("LOOP-6"), async () => {
    const first = createScriptedModel([{ text: "First." }]);
    const second = createScriptedModel([{ text: "Second." }]);
    const { tool } = createEchoTool();
    const agent = createAgent({ model: first, systemPrompt: "One.", name: "worker" });
    const before = { ...agent.options };
    const other = agent.with({ model: second, tools: [tool], systemPrompt: "Two." });

    expect(other).not.toBe(agent);
    expect(agent.options).toEqual(before);
    expect(other.options).toEqual({ ...before, model: second, tools: [tool], systemPrompt: "Two." });
    expect(other.options.model).toBe(second);
    expect(await agent.run("Go")).toMatchObject({ text: "First." });
    expect(await other.run("Go")).toMatchObject({ text: "Second." });
    expect(first.requests[0]).toMatchObject({ systemPrompt: "One.", tools: [] });
    expect(second.requests[0]).toMatchObject({
      systemPrompt: "Two.",
      tools: [{ name: "echo" }],
    });
    expect(() => agent.with({ limits: { maxSteps: 0 } })).toThrow(/maxSteps/);
  });

  test(
    "shares the store that was given, so that a session can go on under other parts",
    verifies("LOOP-6"),
    async () => {
      const store = createMemoryStore();
      const agent = createAgent({ model: createScriptedModel([{ text: "First." }]), store });
      await agent.run("One", { sessionId: "s" });
      const model = createScriptedModel([{ text: "Second." }]);
      await agent.with({ model }).run("Two", { sessionId: "s" });
      expect(model.requests[0]?.messages).toHaveLength(3);
    },
  );
});
