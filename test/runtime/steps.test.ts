/**
 * The order of a step and of a call, and how a step ends.
 */
import { describe, expect, test } from "vitest";
import { type AgentOptions, createAgent, defineTool, done, TaskComplete } from "../../src/index.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { collect, createEchoTool, createGateTool, filterEventsOfType, listEventTypes } from "../support/agents.js";
import { createLoggedModel, createLoggedStore, createLoggedTool } from "../support/logged.js";
import { verifies } from "../verifies.js";

const anyInput = { type: "object" } as const;

/** A store that notes the kinds of events of each commit, in order. */
test("the order of a step and of a call", verifies("LOOP-13"), async () => {
  const log: string[] = [];
  const tool = createLoggedTool(log, {
    needsApproval() {
      log.push("needs approval?");
      return false;
    },
  });
  const steps: readonly ScriptedStep[] = [{ calls: [{ name: "work", raw: '{"a": 1}' }] }, { text: "Done." }];
  const inner = createScriptedModel(steps);
  const agent = createAgent({
    model: createLoggedModel(
      log,
      inner,
      (request) => `model sees ${request.messages.map((message) => message.role).join(" ")}`,
    ),
    tools: [tool],
    canExecuteTool() {
      log.push("may it?");
      return "allow";
    },
    store: createLoggedStore(log),
  });
  await agent.run("Go");
  expect(log).toEqual([
    "commit session_created run_started prepared",
    "model sees user",
    'validate {"a":1}',
    "may it?",
    "needs approval?",
    "commit model_finished tool_decided",
    "run",
    "commit tool_finished prepared",
    "model sees user assistant tool",
    "commit model_finished run_finished",
  ]);
});

test("what is refused runs nothing further on its way", verifies("LOOP-13", "TOOL-3#issues"), async () => {
  const asked: string[] = [];
  const echo = createEchoTool();
  const strict = {
    ...echo.tool,
    input: { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const,
  };
  const calls = [
    { name: "echo", raw: "{" },
    { name: "echo", input: { n: "one" } },
    { name: "nothing" },
    { name: "echo", input: { n: 1 } },
  ];
  const agent = createAgent({
    model: createScriptedModel([{ calls }, { text: "Done." }]),
    tools: [strict],
    canExecuteTool({ callKey, input }) {
      asked.push(`${callKey} ${JSON.stringify(input)}`);
      return { verdict: "deny", reason: "not today" };
    },
  });
  const stream = agent.runStream("Go", { runId: "r" });
  const results = filterEventsOfType(await collect(stream), "tool_result");
  expect(asked).toEqual(['r/1/4 {"n":1}']);
  expect(echo.inputs).toEqual([]);
  expect(results.map((result) => [result.callKey, result.outcome])).toEqual([
    ["r/1/1", "error"],
    ["r/1/2", "error"],
    ["r/1/3", "error"],
    ["r/1/4", "denied"],
  ]);
});

test(
  "limits are looked at before steered input, and both before the model",
  verifies("LOOP-13", "LOOP-4#counters"),
  async () => {
    const gate = createGateTool();
    const model = createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "Summary." }, { text: "Next." }]);
    const agent = createAgent({ model, tools: [gate.tool], limits: { maxSteps: 1 } });
    const result = agent.run("Go", { sessionId: "s" });
    await gate.started;
    await agent.session("s").steer("And this.");
    gate.open("ok");
    expect(await result).toMatchObject({ reason: "max_steps", text: "Summary." });
    // The last words: asked for after the limit, with the tools as they were.
    expect(model.requests).toHaveLength(2);
    expect(model.requests[1]?.tools).toEqual(model.requests[0]?.tools);
    expect(JSON.stringify(model.requests[1]?.messages)).toContain("And this.");
  },
);

describe("limits", () => {
  test("are reached with >=, and the first step always runs", verifies("LOOP-4#counters"), async () => {
    const call = { calls: [{ name: "echo" }], usage: { inputTokens: 10, outputTokens: 5 } };
    const { tool } = createEchoTool();
    for (const [maxTokens, steps] of [
      [1, 1],
      [15, 1],
      [16, 2],
      [30, 2],
      [31, 3],
    ] as const) {
      const agent = createAgent({ model: createScriptedModel(() => call), tools: [tool], limits: { maxTokens } });
      expect(await agent.run("Go")).toMatchObject({ status: "failed", reason: "max_tokens", steps });
    }
    for (const maxSteps of [1, 2, 3]) {
      const limits = { maxSteps, onMaxSteps: "stop" } as const;
      const agent = createAgent({ model: createScriptedModel(() => call), tools: [tool], limits });
      expect(await agent.run("Go")).toMatchObject({ status: "failed", reason: "max_steps", steps: maxSteps });
    }
  });

  test("of failures count over the whole run", verifies("LOOP-4#counters"), async () => {
    const reset = { error: { kind: "network", message: "reset" } } as const;
    const call = { calls: [{ name: "echo" }] };
    const { tool } = createEchoTool();
    const agent = createAgent({
      model: createScriptedModel([reset, call, reset, call, reset, { text: "Never." }]),
      tools: [tool],
      retry: { baseDelayMs: 0 },
      limits: { maxErrors: 3 },
    });
    const result = await agent.run("Go", { sessionId: "s" });
    expect(result).toMatchObject({ status: "failed", reason: "max_errors", steps: 2, error: { code: "network" } });
    const state = await agent.session("s").state();
    expect(state.status !== "idle" && state.counters).toMatchObject({
      errorCount: 3,
      totalSteps: 2,
      compactionAttempts: 0,
    });
    expect(result.usage).toEqual({ inputTokens: 20, outputTokens: 10, partial: true });
    // The next run counts anew.
    const next = agent.with({ model: createScriptedModel([{ text: "On." }]) });
    expect(await next.run("And?", { sessionId: "s" })).toMatchObject({
      status: "completed",
      usage: { inputTokens: 10 },
    });
  });

  test("of one run can be given with it", async () => {
    const { tool } = createEchoTool();
    const agent = createAgent({ model: createScriptedModel(() => ({ calls: [{ name: "echo" }] })), tools: [tool] });
    const limits = { maxSteps: 2, onMaxSteps: "stop" } as const;
    expect(await agent.run("Go", { limits })).toMatchObject({ reason: "max_steps", steps: 2 });
  });
});

describe("a step ends", () => {
  const { tool: echo } = createEchoTool();
  const run = (script: readonly ScriptedStep[], options: Partial<AgentOptions> = {}) => {
    const model = createScriptedModel(script);
    const agent = createAgent({ model, tools: [echo], ...options });
    return { model, result: agent.run("Go", { sessionId: "s" }), session: agent.session("s") };
  };

  test(
    "with stop and no calls: the run's text is its text parts, as they came, trimmed",
    verifies("FIN-1"),
    async () => {
      const deltas = [
        { kind: "text-delta", id: "1", text: "\n One " },
        { kind: "reasoning-delta", id: "2", text: "hm" },
        { kind: "text-delta", id: "3", text: "two.\n\n" },
        { kind: "done", finishReason: { unified: "stop" }, usage: {} },
      ] as const;
      expect(await run([{ deltas }]).result).toMatchObject({ status: "completed", reason: "stop", text: "One two." });
    },
  );

  test.each(["stop", "tool-calls"] as const)("with %s and calls: they are run", verifies("FIN-2"), async (finish) => {
    const { result, model } = run([{ text: "See.", calls: [{ name: "echo" }], finish }, { text: "Done." }]);
    expect(await result).toMatchObject({ status: "completed", text: "Done.", steps: 2 });
    expect(JSON.stringify(model.requests[1]?.messages)).toContain("echo {}");
  });

  test.each(["length", "content-filter", "error"] as const)(
    "with %s: its calls are not run",
    verifies("FIN-2"),
    async (finish) => {
      const { result, session } = run([{ text: "See.", calls: [{ name: "echo" }], finish }, { text: "Done." }]);
      await result;
      const results = filterEventsOfType(await collect(session.events({ follow: false })), "tool_result");
      expect(results).toMatchObject([{ outcome: "not_run", isError: true }]);
      expect(JSON.stringify(results[0]?.output)).toContain("Not run");
    },
  );

  test("with tool-calls and none for us to run: as with stop", verifies("FIN-2"), async () => {
    const deltas = [
      { kind: "tool-call", id: "p", name: "web_search", input: "{}", providerExecuted: true },
      { kind: "tool-result", id: "p", name: "web_search", output: { type: "text", text: "found" } },
      { kind: "text-delta", id: "1", text: "Found it." },
      { kind: "done", finishReason: { unified: "tool-calls" }, usage: {} },
    ] as const;
    const { result, session } = run([{ deltas }]);
    expect(await result).toMatchObject({ status: "completed", reason: "stop", text: "Found it.", steps: 1 });
    expect(listEventTypes(await collect(session.events({ follow: false })))).not.toContain("tool_call");
  });

  test("calls of an attempt that failed are never run", verifies("FIN-2", "RTRY-6"), async () => {
    const reset = { kind: "network", message: "reset" } as const;
    const own = createEchoTool();
    const { result } = run([{ calls: [{ name: "echo", input: { a: 1 } }], error: reset }, { text: "Without." }], {
      tools: [own.tool],
      retry: { baseDelayMs: 0 },
    });
    expect(await result).toMatchObject({ status: "completed", text: "Without.", steps: 1 });
    expect(own.inputs).toEqual([]);
  });

  test("by a tool that says so, siblings being finished or skipped", async () => {
    const gate = createGateTool();
    const finish = (name: string, act: () => unknown) =>
      defineTool({ name, description: "Ends.", input: anyInput, execute: act });
    for (const [name, act, text] of [
      ["returns", () => done("Message."), "Message."],
      ["returns", () => done(), "Words of the step."],
      [
        "throws",
        () => {
          throw new TaskComplete("Thrown.");
        },
        "Thrown.",
      ],
    ] as const) {
      const { result } = run([{ text: "Words of the step.", calls: [{ name }] }], { tools: [finish(name, act)] });
      expect(await result).toMatchObject({ status: "completed", reason: "done", text });
    }
    const { result, session } = run([{ calls: [{ name: "gate" }, { name: "end" }, { name: "late" }] }], {
      tools: [gate.tool, finish("end", () => done("Over.")), createEchoTool("late").tool],
      limits: { toolConcurrency: 2 },
    });
    await gate.started;
    gate.open("finished");
    expect(await result).toMatchObject({ reason: "done", text: "Over." });
    const results = filterEventsOfType(await collect(session.events({ follow: false })), "tool_result");
    expect(new Map(results.map(({ name, outcome }) => [name, outcome]))).toEqual(
      new Map([
        ["end", "ok"],
        ["late", "skipped"],
        ["gate", "ok"],
      ]),
    );
  });

  test("empty: it is asked again once under the same index", async () => {
    const { result, model } = run([{}, { text: "Now." }]);
    expect(await result).toMatchObject({ text: "Now.", steps: 1 });
    expect(model.requests.map((request) => [request.modelCallIndex, request.attempt])).toEqual([
      [1, 1],
      [1, 2],
    ]);
  });
});
