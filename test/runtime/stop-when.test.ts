/**
 * Stop conditions: when they are looked at, what they see, and that every process decides alike.
 */
import { describe, expect, expectTypeOf, onTestFinished, test } from "vitest";
import {
  type AgentOptions,
  createAgent,
  createMemoryStore,
  defineTool,
  done,
  type PublicEvent,
  type RunResult,
  type StepView,
  type StopCondition,
  stepCount,
  textMatches,
  toolCalled,
} from "../../src/index.js";
import { traceSession } from "../../src/inspect.js";
import { crashTest, createScriptedModel } from "../../src/testing/index.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { collect, createDeferred, createEchoTool, createGateTool } from "../support/agents.js";
import { verifies } from "../verifies.js";

const echoes = (text = "", n = 0) => ({ text, calls: [{ name: "echo", input: { n } }] });

/** Calls a tool in each step, until somebody stops it. */
const busy = () => createScriptedModel(({ modelCallIndex }) => echoes(`Step ${modelCallIndex}.`, modelCallIndex));

function agentWith(options: Partial<AgentOptions> = {}) {
  const store = createMemoryStore();
  const model = busy();
  return { store, model, agent: createAgent({ model, tools: [createEchoTool().tool], store, ...options }) };
}

async function eventsIn(store: ReturnType<typeof createMemoryStore>, sessionId: string) {
  const session = createAgent({ model: busy(), store }).session(sessionId);
  return collect(session.events({ follow: false })) as Promise<PublicEvent[]>;
}

const failures = (events: readonly PublicEvent[]) => events.filter((event) => event.type === "hook_failed");

describe("a stop condition", verifies("LOOP-18"), () => {
  test.for<[string, StopCondition, number, string]>([
    ["stepCount", stepCount(3), 3, "stepCount(3)"],
    ["toolCalled", toolCalled("echo"), 1, "toolCalled(echo)"],
    ["toolCalled with an outcome", toolCalled("echo", { outcome: "ok" }), 1, "toolCalled(echo, ok)"],
    ["textMatches", textMatches(/step 2/i), 2, "textMatches(/step 2/i)"],
    ["a function", ({ steps }) => steps === 2, 2, "function 1"],
    [
      "a named function",
      async function isEnough({ calls }: StepView) {
        return calls[0]?.callKey.includes("/4/") === true;
      },
      4,
      "function isEnough",
    ],
  ])("%s completes the run, of an agent and of a run", async ([, stopWhen, steps, condition]) => {
    const ended = { status: "completed", reason: "stop_condition", text: `Step ${steps}.`, steps };
    const ofAgent = agentWith({ stopWhen });
    expect(await ofAgent.agent.run("Go")).toMatchObject(ended);
    const ofRun = agentWith();
    const result = await ofRun.agent.run("Go", { stopWhen: [stepCount(99), stopWhen] });
    expect(result).toMatchObject(ended);
    expect("condition" in result && result.condition?.replace("function 2", "function 1")).toBe(condition);
    expect(ofRun.model.requests).toHaveLength(steps);
  });

  test("of a run replaces those of its agent; without any, nothing stops the run", async () => {
    const { agent } = agentWith({ stopWhen: stepCount(1), limits: { maxSteps: 3, onMaxSteps: "stop" } });
    expect(await agent.run("Go", { stopWhen: stepCount(2) })).toMatchObject({ condition: "stepCount(2)", steps: 2 });
    expect(await agent.run("Go", { stopWhen: [] })).toMatchObject({ reason: "max_steps", steps: 3 });
  });

  test("is looked at after all calls of a step, and sees their outcomes; never within the step", async () => {
    const gate = createGateTool();
    const views: StepView[] = [];
    const model = createScriptedModel([
      { text: "Both.", calls: [{ name: "echo", input: { n: 1 } }, { name: "gate" }], usage: { inputTokens: 7 } },
    ]);
    const stopWhen = (view: StepView) => {
      views.push(view);
      return true;
    };
    const agent = createAgent({ model, tools: [createEchoTool().tool, gate.tool], stopWhen });
    const running = agent.run("Go", { sessionId: "s", runId: "r" });
    await gate.started;
    expect(views).toHaveLength(0);
    gate.fail(new Error("no"));
    expect(await running).toMatchObject({ reason: "stop_condition", text: "Both." });
    expect(views).toMatchObject([
      {
        sessionId: "s",
        runId: "r",
        steps: 1,
        text: "Both.",
        calls: [
          { callKey: "r/1/1", name: "echo", input: { n: 1 }, outcome: "ok" },
          { callKey: "r/1/2", name: "gate", outcome: "error" },
        ],
        usage: { inputTokens: 7 },
      },
    ]);
    expect(views[0]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    expect(Object.isFrozen(views[0]) && Object.isFrozen(views[0]?.calls)).toBe(true);
  });

  test("cannot stop a run that ends by itself, and comes after the limits", async () => {
    const asked: number[] = [];
    const stopWhen = ({ steps }: StepView) => {
      asked.push(steps);
      return false;
    };
    const model = createScriptedModel([echoes(), { text: "Done." }]);
    const agent = createAgent({ model, tools: [createEchoTool().tool], stopWhen });
    expect(await agent.run("Go")).toMatchObject({ reason: "stop" });
    expect(asked).toEqual([1]);
    const limited = agentWith({ stopWhen: stepCount(1), limits: { maxSteps: 1, onMaxSteps: "stop" } });
    expect(await limited.agent.run("Go")).toMatchObject({ reason: "max_steps" });
    const summing = agentWith({ stopWhen: stepCount(1), limits: { maxSteps: 1 } });
    expect(await summing.agent.run("Go")).toMatchObject({ reason: "max_steps", steps: 2 });
    const finishes = defineTool({
      name: "echo",
      description: "Ends.",
      input: { type: "object" },
      execute: () => done(),
    });
    const finished = createAgent({ model: busy(), tools: [finishes], stopWhen: stepCount(1) });
    expect(await finished.run("Go")).toMatchObject({ reason: "done" });
  });

  test("comes before the hooks of the next step; the hooks of the last step and of the run's end are called", async () => {
    const called: string[] = [];
    const hook = (point: string) => () => void called.push(point);
    const hooks = [
      {
        name: "watch",
        beforeStep: hook("beforeStep"),
        afterStep: hook("afterStep"),
        beforeStop: hook("beforeStop"),
        afterRun: hook("afterRun"),
      },
    ];
    const { agent } = agentWith({ hooks, stopWhen: stepCount(1) });
    await agent.run("Go");
    expect(called).toEqual(["beforeStep", "afterStep", "afterRun"]);
  });

  test("starts the next queued run, as every completed run does", async () => {
    const { agent } = agentWith({ stopWhen: stepCount(1) });
    const session = agent.session("s");
    const { runId } = await session.send("First");
    const second = await session.send("Second");
    const finals = [];
    for await (const event of session.events()) {
      if (event.type === "final") finals.push(event.runId);
      if (finals.length === 2) break;
    }
    expect(finals).toEqual([runId, second.runId]);
  });

  test("that throws, takes too long or gives no answer counts as false, and events and traces say so", async () => {
    const clock = createTestClock();
    const asked = createDeferred();
    const stopWhen: StopCondition[] = [
      function throws() {
        throw new Error("no idea");
      },
      function isSlow() {
        asked.resolve();
        return new Promise<boolean>(() => {});
      },
      (() => "yes") as unknown as StopCondition,
      textMatches(/^(a+)+$/),
      stepCount(1),
    ];
    const store = createMemoryStore();
    const model = createScriptedModel([echoes(`${"a".repeat(40)}!`)]);
    const agent = createAgent({ model, tools: [createEchoTool().tool], store, stopWhen, clock });
    const running = agent.run("Go", { sessionId: "s" });
    await asked.promise;
    await clock.advance(10_000);
    expect(await running).toMatchObject({ condition: "stepCount(1)" });
    expect(failures(await eventsIn(store, "s"))).toMatchObject([
      { name: "stopWhen function throws", hook: "beforeStep", outcome: "threw", message: "no idea" },
      { name: "stopWhen function isSlow", outcome: "timed_out" },
      { name: "stopWhen function 3", outcome: "refused" },
      { name: "stopWhen textMatches(/^(a+)+$/)", outcome: "timed_out" },
    ]);
    const trace = await traceSession(store, "s");
    const end = trace.find((record) => record.type === "run_finished");
    expect(end).toMatchObject({ reason: "stop_condition", condition: "stepCount(1)" });
    expect(end?.type === "run_finished" && end.hooks.map(({ outcome }) => outcome)).toEqual([
      "threw",
      "timed_out",
      "refused",
      "timed_out",
    ]);
  });

  test("ends a run that asks for a shape only with an answer that fits", async () => {
    const output = {
      type: "object",
      properties: { total: { type: "number" } },
      required: ["total"],
    } as const;
    const ask = (text: string) => {
      const agent = createAgent({
        model: createScriptedModel([echoes(text)]),
        tools: [createEchoTool().tool],
        stopWhen: stepCount(1),
      });
      return agent.run("Go", { output });
    };
    expect(await ask('{"total":3}')).toMatchObject({ reason: "stop_condition", output: { total: 3 } });
    expect(await ask("Three.")).toMatchObject({
      status: "failed",
      reason: "invalid_output",
      error: { message: expect.stringContaining("stepCount(1)") },
    });
  });

  test("gives its fixed sentence if the last step has no text", async () => {
    const model = createScriptedModel([echoes("Words of an earlier step."), echoes()]);
    const agent = createAgent({ model, tools: [createEchoTool().tool], stopWhen: stepCount(2) });
    const result = await agent.run("Go");
    expect(result.text).toBe("The run stopped: a stop condition held.");
    expectTypeOf<Extract<RunResult, { status: "completed" }>["condition"]>().toEqualTypeOf<string | undefined>();
  });

  test("that cannot be used is refused at once", async () => {
    const { agent } = agentWith();
    const make = (stopWhen: unknown) => createAgent({ model: busy(), stopWhen: stopWhen as StopCondition });
    expect(() => stepCount(0)).toThrow(expect.objectContaining({ code: "bad_configuration" }));
    expect(() => stepCount(1.5)).toThrow("whole number");
    expect(() => toolCalled("")).toThrow("the name of a tool");
    expect(() => toolCalled("x", { outcome: "fine" as never })).toThrow("unknown outcome");
    expect(() => toolCalled("x", { outcom: "ok" } as never)).toThrow("no option");
    expect(() => textMatches("DONE" as never)).toThrow("regular expression");
    expect(() => make("stepCount")).toThrow(expect.objectContaining({ code: "bad_configuration" }));
    expect(() => make({ steps: 1, tool: "x" })).toThrow("not a condition");
    expect(() => make({ stepz: 1 })).toThrow('"stepz"');
    expect(() => make({ text: "(" })).toThrow("cannot be used");
    expect(() => make(Array.from({ length: 21 }, () => stepCount(1)))).toThrow("the maximum is 20");
    await expect(agent.run("Go", { stopWhen: { text: "(" } })).rejects.toMatchObject({ code: "bad_input" });
    await expect(agent.session("s").send("Go", { stopWhen: (() => true) as never })).rejects.toMatchObject({
      code: "bad_input",
    });
  });
});

describe("another process decides alike", verifies("LOOP-18"), () => {
  /** A run whose first process is shut down within its first step. */
  async function leftBehind(stopWhen: StopCondition | readonly StopCondition[], options: Partial<AgentOptions> = {}) {
    const store = createMemoryStore();
    const gate = createGateTool("echo");
    const first = createAgent({ model: busy(), tools: [gate.tool], store, ...options });
    const running = first.run("Go", { sessionId: "s", runId: "r", stopWhen });
    await gate.started;
    await first.shutdown({ graceMs: 0 });
    expect(await running).toMatchObject({ status: "interrupted" });
    const echo = { ...createEchoTool().tool, recover: "rerun" } as const;
    return { store, second: createAgent({ model: busy(), tools: [echo], store, ...options }) };
  }

  test("by the conditions in the log", async () => {
    const { second } = await leftBehind([stepCount(2), toolCalled("echo", { outcome: "error" })]);
    expect(await second.session("s").resume()).toMatchObject({ condition: "stepCount(2)", steps: 2 });
  });

  test("without the run's function, the agent's conditions count, and that is said once", async () => {
    const { store, second } = await leftBehind([({ steps }) => steps === 5, stepCount(9)], { stopWhen: stepCount(4) });
    expect(await second.session("s").resume()).toMatchObject({ condition: "stepCount(4)", steps: 4 });
    expect(failures(await eventsIn(store, "s"))).toMatchObject([
      { name: "stopWhen 1", outcome: "refused", message: expect.stringContaining("does not have the function") },
    ]);
  });

  test("with the run's function, given again", async () => {
    const isThird = ({ steps }: StepView) => steps === 3;
    const { store, second } = await leftBehind(isThird, { stopWhen: stepCount(1) });
    const resumed = await second.session("s").resume({ stopWhen: isThird });
    expect(resumed).toMatchObject({ condition: "function isThird", steps: 3 });
    expect(failures(await eventsIn(store, "s"))).toEqual([]);
  });

  test.for<[string, readonly StopCondition[]]>([
    ["data", [stepCount(3)]],
    ["functions", [({ steps, calls, text }) => steps === 3 && calls.length === 1 && text === "Step 3."]],
  ])("after a crash before and after every commit: %s", { timeout: 60_000 }, async ([, stopWhen]) => {
    const ends: unknown[] = [];
    const { plays } = await crashTest({
      agent: () => createAgent({ model: busy(), tools: [createEchoTool().tool], stopWhen }),
      input: "Go",
      pairs: true,
      check: ({ result }) => void ends.push([result.status, result.steps, result.text]),
    });
    expect(plays).toBeGreaterThan(20);
    for (const end of ends) expect(end).toEqual(["completed", 3, "Step 3."]);
  });

  test("a step is asked about once, also if a compaction or a failed attempt comes between", async () => {
    const asked: number[] = [];
    const words = "A sentence of some length that fills the window. ".repeat(12);
    const overflow = { error: { kind: "context_overflow", message: "too long", statusCode: 400 } } as const;
    const talks = ({ modelCallIndex }: { readonly modelCallIndex: number }) => echoes(words, modelCallIndex);
    const model = createScriptedModel(({ modelCallIndex, attempt }) => {
      if (modelCallIndex === 3 && attempt === 1) return overflow;
      return modelCallIndex < 9 ? talks({ modelCallIndex }) : { text: "Done." };
    });
    const summaries = createScriptedModel(() => ({ text: "It was talked about." }), { id: "summarizer" });
    const stopWhen = ({ steps }: StepView) => {
      asked.push(steps);
      return false;
    };
    const compaction = { contextWindow: 2_000, model: summaries };
    const agent = createAgent({ model, tools: [createEchoTool().tool], stopWhen, compaction });
    expect(await agent.run("Go")).toMatchObject({ reason: "stop", text: "Done." });
    expect(summaries.requests.length).toBeGreaterThan(0);
    expect(asked).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  test("a replay asks the conditions that are data, and takes what functions said from the log", async () => {
    const store = createMemoryStore();
    const tools = [createEchoTool().tool];
    const plain = createAgent({ model: busy(), tools, store, stopWhen: stepCount(2) });
    await plain.run("Go", { sessionId: "plain" });
    expect((await plain.session("plain").replay()).difference).toBeNull();
    const later = createAgent({ model: busy(), tools, store, stopWhen: stepCount(3) });
    expect((await later.session("plain").replay()).difference).not.toBeNull();
    let calls = 0;
    const own = ({ steps }: StepView) => {
      calls += 1;
      return steps === 2;
    };
    const dynamic = createAgent({ model: busy(), tools, store, stopWhen: own });
    await dynamic.run("Go", { sessionId: "own" });
    await dynamic.run("Go", { sessionId: "of run", stopWhen: [stepCount(7), own] });
    const before = calls;
    for (const id of ["own", "of run"]) expect((await dynamic.session(id).replay()).difference).toBeNull();
    expect(calls).toBe(before);
    onTestFinished(() => dynamic.shutdown());
  });
});
