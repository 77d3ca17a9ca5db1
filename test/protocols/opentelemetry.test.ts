/**
 * Spans, exported by the real OTLP exporter to a real HTTP endpoint that decodes what arrives.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createMemoryStore, defineTool, type Hook } from "../../src/index.js";
import { traceSession } from "../../src/inspect.js";
import { createOpenTelemetryObserver, exportTrace } from "../../src/protocols/opentelemetry.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { createEchoTool, createGateTool } from "../support/agents.js";
import { verifies } from "../verifies.js";
import { type ExportedSpan, startCollector } from "./collector.js";

const add = defineTool({
  name: "add",
  description: "Adds.",
  input: { type: "object" },
  execute: ({ a, b }) => Number(a) + Number(b),
});
const fail = defineTool({
  name: "fail",
  description: "Fails.",
  input: { type: "object" },
  execute: () => {
    throw new Error("no");
  },
});

const key = `sk-ant-${"x".repeat(30)}`;
const script = [
  {
    calls: [{ name: "add", input: { a: 1, b: 2, key } }, { name: "fail" }],
    usage: { inputTokens: 12, outputTokens: 5 },
  },
  { error: { kind: "overloaded", message: "529" } },
  { text: `It is three, by ${key}.`, usage: { inputTokens: 30, outputTokens: 4, cacheReadTokens: 10 } },
] as const;

function named(spans: readonly ExportedSpan[], name: string): ExportedSpan {
  const found = spans.find((span) => span.name === name);
  if (found === undefined) throw new Error(`No span is called ${name}: ${spans.map((span) => span.name).join(", ")}.`);
  return found;
}

const namesOf = (spans: readonly ExportedSpan[]) => spans.map((span) => span.name).sort();

describe("spans", () => {
  test("of a run, its model calls and its tool calls, in one tree", verifies("TRC-1"), async () => {
    const { tracer, exported } = await startCollector();
    const hook: Hook = { name: "audit", beforeToolCall: () => {} };
    const clock = createTestClock();
    const agent = createAgent({
      name: "adder",
      model: createScriptedModel(script),
      tools: [add, fail],
      hooks: [hook],
      observers: [createOpenTelemetryObserver({ tracer })],
      clock,
    });
    const running = agent.run("Add 1 and 2.");
    await clock.runUntilIdle();
    const { sessionId, runId } = await running;
    const spans = await exported();
    expect(namesOf(spans)).toEqual([
      "chat scripted",
      "chat scripted",
      "chat scripted",
      "execute_tool add",
      "execute_tool fail",
      "invoke_agent adder",
    ]);
    const run = named(spans, "invoke_agent adder");
    expect(run).toMatchObject({
      kind: "internal",
      error: undefined,
      attributes: {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "adder",
        "gen_ai.conversation.id": sessionId,
        "gen_ai.usage.input_tokens": 42,
        "gen_ai.usage.output_tokens": 9,
        "pawl.run.id": runId,
        "pawl.run.status": "completed",
        "pawl.run.steps": 2,
      },
    });
    expect(run.events.filter((event) => event.name === "pawl.hook")).toMatchObject([
      { attributes: { "pawl.hook.name": "audit", "pawl.hook.point": "beforeToolCall", "pawl.hook.outcome": "ok" } },
      { attributes: { "pawl.call.key": `${runId}/1/2` } },
    ]);
    for (const span of spans) {
      expect(span.traceId).toBe(run.traceId);
      if (span !== run) expect(span.parentSpanId).toBe(run.spanId);
      expect(span.from >= run.from && span.to <= run.to && span.from <= span.to).toBe(true);
    }
  });

  test("have the settings of a model call", verifies("TRC-1", "LOOP-16"), async () => {
    const { tracer, exported } = await startCollector();
    const settings = {
      temperature: 0.2,
      topP: 0.9,
      topK: 40,
      maxOutputTokens: 500,
      stopSequences: ["END", key],
      seed: 7,
      presencePenalty: 0.5,
      frequencyPenalty: -0.5,
      reasoning: "low",
    } as const;
    const model = createScriptedModel([{ calls: [{ name: "add", input: { a: 1, b: 2 } }] }, { text: "Three." }]);
    const observers = [createOpenTelemetryObserver({ tracer })];
    const hook: Hook = {
      name: "warmer",
      beforeLLMCall: ({ modelCallIndex }) => (modelCallIndex === 2 ? { settings: { temperature: 1 } } : {}),
    };
    await createAgent({ model, tools: [add], observers, settings, hooks: [hook] }).run("Add 1 and 2.");
    const calls = (await exported()).filter((span) => span.name.startsWith("chat"));
    expect(calls[0]?.attributes).toMatchObject({
      "gen_ai.request.temperature": 0.2,
      "gen_ai.request.top_p": 0.9,
      "gen_ai.request.top_k": 40,
      "gen_ai.request.max_tokens": 500,
      "gen_ai.request.stop_sequences": ["END", expect.not.stringContaining(key)],
      "gen_ai.request.seed": 7,
      "gen_ai.request.presence_penalty": 0.5,
      "gen_ai.request.frequency_penalty": -0.5,
      "pawl.model_call.reasoning": "low",
    });
    expect(calls[1]?.attributes).toMatchObject({ "gen_ai.request.temperature": 1, "gen_ai.request.seed": 7 });
  });

  test("say what a model call was, and how it failed", verifies("TRC-1"), async () => {
    const { tracer, exported } = await startCollector();
    const clock = createTestClock();
    const model = { ...createScriptedModel(script), id: "google/gemini-3" };
    const observers = [createOpenTelemetryObserver({ tracer })];
    const running = createAgent({ model, tools: [add, fail], observers, clock }).run("Add 1 and 2.");
    await clock.runUntilIdle();
    const { sessionId } = await running;
    const [first, failed, last] = (await exported()).filter((span) => span.name.startsWith("chat"));
    expect(first).toMatchObject({
      name: "chat google/gemini-3",
      kind: "client",
      error: undefined,
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.request.model": "gemini-3",
        "gen_ai.conversation.id": sessionId,
        "gen_ai.response.finish_reasons": ["tool-calls"],
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 5,
        "pawl.model_call.index": 1,
      },
    });
    expect(first?.attributes["gen_ai.response.time_to_first_chunk"]).toBeTypeOf("number");
    expect(failed).toMatchObject({
      error: "529",
      attributes: { "error.type": "overloaded", "pawl.model_call.attempt": 1 },
    });
    expect(last?.attributes).toMatchObject({
      "pawl.model_call.attempt": 2,
      "gen_ai.usage.cache_read.input_tokens": 10,
    });
  });

  test("say what went through the prompt cache, for how long, and what broke it", verifies("COST-2"), async () => {
    const { tracer, exported } = await startCollector();
    const used = (cacheReadTokens: number, cacheWriteTokens: number) => ({
      usage: { inputTokens: 5_000, outputTokens: 5, cacheReadTokens, cacheWriteTokens },
    });
    const call = { calls: [{ name: "add", input: { a: 1, b: 2 } }] };
    const model = createScriptedModel([
      { ...call, ...used(0, 5_000) },
      { ...call, ...used(5_000, 0) },
      { text: "Three.", ...used(0, 5_000) },
    ]);
    const observers = [createOpenTelemetryObserver({ tracer })];
    const hook: Hook = {
      name: "changes",
      beforeLLMCall: ({ modelCallIndex }) => (modelCallIndex === 3 ? { systemPrompt: "Be brief." } : {}),
    };
    const limits = { onRepeatedCall: "ignore" } as const;
    const agent = createAgent({ model, tools: [add], observers, hooks: [hook], limits, promptCache: "1h" });
    await agent.run("Add 1 and 2.");
    const calls = (await exported()).filter((span) => span.name.startsWith("chat"));
    expect(calls.map(({ attributes }) => attributes["pawl.cache.ttl"])).toEqual(["1h", "1h", "1h"]);
    expect(calls.map(({ attributes }) => attributes["pawl.cache.broke"])).toEqual([
      undefined,
      undefined,
      "system_prompt",
    ]);
    expect(calls[1]?.attributes).toMatchObject({
      "gen_ai.usage.cache_read.input_tokens": 5_000,
      "gen_ai.usage.cache_creation.input_tokens": 0,
    });
  });

  test("say how tool calls ended, and what they waited for", verifies("TRC-1"), async () => {
    const { tracer, exported } = await startCollector();
    const clock = createTestClock();
    const { tool } = createEchoTool("risky");
    const calls = [{ name: "risky" }, { name: "fail" }, { name: "unknown" }];
    const agent = createAgent({
      model: createScriptedModel([{ calls }, { text: "Done." }]),
      tools: [{ ...tool, needsApproval: true }, fail],
      observers: [createOpenTelemetryObserver({ tracer, principal: true })],
      clock,
    });
    await agent.run("Go", { sessionId: "s", runId: "r" });
    expect(await exported()).toEqual([]);
    await clock.advance(3_600_000);
    await agent.session("s").answer("r/1/1", { type: "approve" }, { by: "ada" });
    await clock.runUntilIdle();
    const spans = await exported();
    expect(namesOf(spans)).toEqual([
      "chat scripted",
      "chat scripted",
      "execute_tool fail",
      "execute_tool risky",
      "invoke_agent agent",
    ]);
    expect(named(spans, "execute_tool fail")).toMatchObject({
      error: "error",
      attributes: { "error.type": "error", "gen_ai.tool.name": "fail", "pawl.call.key": "r/1/2" },
    });
    const run = named(spans, "invoke_agent agent");
    const eventNamed = (name: string) => run.events.find((event) => event.name === name)?.attributes;
    expect(eventNamed("pawl.wait")).toMatchObject({
      "pawl.call.key": "r/1/1",
      "pawl.wait.for": "person",
      "pawl.wait.by": "ada",
      "pawl.wait.duration_ms": 3_600_000,
    });
    expect(eventNamed("pawl.call_not_run")).toMatchObject({ "gen_ai.tool.name": "unknown" });
  });

  test("of a run that failed say so", verifies("TRC-1"), async () => {
    const { tracer, exported } = await startCollector();
    const model = createScriptedModel([{ error: { kind: "auth", message: "401" } }]);
    await createAgent({ model, observers: [createOpenTelemetryObserver({ tracer })] }).run("Go");
    expect(named(await exported(), "invoke_agent agent")).toMatchObject({
      error: "model_error",
      attributes: { "pawl.run.status": "failed" },
    });
  });

  test("carry nothing of what was said, unless asked for, and no key then", verifies("SEC-14", "TRC-2"), async () => {
    const [silent, telling] = [await startCollector(), await startCollector()];
    const observers = [
      createOpenTelemetryObserver({ tracer: silent.tracer }),
      createOpenTelemetryObserver({ tracer: telling.tracer, captureContent: true }),
    ];
    const clock = createTestClock();
    const running = createAgent({ model: createScriptedModel(script), tools: [add, fail], observers, clock }).run(
      `The secret plan, with ${key}`,
    );
    await clock.runUntilIdle();
    await running;
    const text = (spans: readonly ExportedSpan[]) =>
      JSON.stringify(spans, (_, value) => (typeof value === "bigint" ? "" : value));
    const unsaid = text(await silent.exported());
    for (const words of ["three", "secret plan", "sk-ant", '"3"']) expect(unsaid).not.toContain(words);
    const told = await telling.exported();
    expect(text(told)).not.toContain("xxxxx");
    expect(named(told, "execute_tool add").attributes).toMatchObject({
      "gen_ai.tool.call.arguments": '{"a":1,"b":2,"key":"sk-ant-[redacted]"}',
      "gen_ai.tool.call.result": "3",
    });
    const said = told.map((span) => span.attributes["gen_ai.output.messages"]);
    expect(said.join()).toContain("It is three, by sk-ant-[redacted].");
    expect(named(told, "invoke_agent agent").attributes["gen_ai.input.messages"]).toContain("The secret plan, with");
  });

  test("carry no message of a tool's step that failed, unless asked for", verifies("SEC-14"), async () => {
    const [silent, telling] = [await startCollector(), await startCollector()];
    const charge = defineTool({
      name: "charge",
      description: "Charges a card.",
      input: { type: "object" },
      durable: true,
      execute: (_, { step }) =>
        step("charge", () => {
          throw new Error("The card of Ada was declined.");
        }),
    });
    await createAgent({
      model: createScriptedModel([{ calls: [{ name: "charge" }] }, { text: "Sorry." }]),
      tools: [charge],
      store: createMemoryStore(),
      observers: [
        createOpenTelemetryObserver({ tracer: silent.tracer }),
        createOpenTelemetryObserver({ tracer: telling.tracer, captureContent: true }),
      ],
    }).run("Charge it.");
    expect(named(await silent.exported(), "tool_step charge").error).toBe("error");
    expect(named(await telling.exported(), "tool_step charge").error).toContain("The card of Ada was declined.");
  });

  test("of a run that another process takes up are all there, once, in its trace", verifies("TRC-1"), async () => {
    const clock = createTestClock();
    const store = createMemoryStore();
    const gate = createGateTool("wait");
    const dead = await startCollector();
    const calls = [{ name: "wait" }];
    void createAgent({
      model: createScriptedModel([{ calls: [{ name: "echo" }] }, { calls }]),
      tools: [createEchoTool().tool, { ...gate.tool, recover: "rerun" }],
      store,
      clock,
      observers: [createOpenTelemetryObserver({ tracer: dead.tracer })],
    }).run("Go", { sessionId: "s", runId: "r" });
    await gate.started;
    clock.jump(60_000);
    const heir = await startCollector();
    const agent = createAgent({
      model: createScriptedModel([{ text: "Done." }]),
      tools: [createEchoTool().tool, { ...createEchoTool("wait").tool, recover: "rerun" }],
      store,
      clock,
      observers: [createOpenTelemetryObserver({ tracer: heir.tracer })],
    });
    expect(await agent.session("s").resume()).toMatchObject({ status: "completed" });
    expect(await dead.exported()).toEqual([]);
    const spans = await heir.exported();
    expect(namesOf(spans)).toEqual([
      "chat scripted",
      "chat scripted",
      "chat scripted",
      "execute_tool echo",
      "execute_tool wait",
      "invoke_agent agent",
    ]);
    expect(named(spans, "invoke_agent agent").attributes["pawl.run.restarts"]).toBe(1);
    // Later, from the log, they are the same.
    const later = await startCollector();
    exportTrace(await traceSession(store, "s"), { tracer: later.tracer });
    const plain = ({ spanId: _, parentSpanId: __, ...span }: ExportedSpan) => span;
    expect((await later.exported()).map(plain)).toEqual(spans.map(plain));
  });

  test("of another agent that was asked are linked with the run that asked", verifies("TRC-1"), async () => {
    const { tracer, exported } = await startCollector();
    const observers = [createOpenTelemetryObserver({ tracer })];
    const child = createAgent({ name: "child", model: createScriptedModel([{ text: "It is so." }]), observers });
    const parent = createAgent({
      name: "parent",
      model: createScriptedModel([{ calls: [{ name: "ask", input: { task: "Is it?" } }] }, { text: "It is." }]),
      tools: [child.asTool({ name: "ask", description: "Asks." })],
      observers,
    });
    expect(await parent.run("Find out.", { sessionId: "s", runId: "r" })).toMatchObject({ status: "completed" });
    const spans = await exported();
    const asked = named(spans, "invoke_agent child");
    expect(asked.links).toMatchObject([{ traceId: named(spans, "invoke_agent parent").traceId }]);
    expect(asked.attributes).toMatchObject({ "pawl.parent.session.id": "s", "pawl.parent.call.key": "r/1/1" });
    expect(named(spans, "execute_tool ask").attributes["pawl.child.session.id"]).toBe(
      asked.attributes["gen_ai.conversation.id"],
    );
  });
});
