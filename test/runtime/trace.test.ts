import { describe, expect, test } from "vitest";
import { createAgent, createMemoryStore, type Hook } from "../../src/index.js";
import { type TraceRecord, traceSession } from "../../src/inspect.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { createEchoTool, createGateTool } from "../support/agents.js";
import { verifies } from "../verifies.js";

const typesOf = (records: readonly TraceRecord[]) => records.map((record) => record.type);

function stepsOf(records: readonly TraceRecord[]) {
  return records.filter((record) => record.type === "step");
}

describe("the trace of a session", () => {
  test("has a record for each step, with attempts, calls, hooks and states", verifies("TRC-1", "HOOK-6"), async () => {
    const clock = createTestClock();
    const store = createMemoryStore();
    const slow: Hook = {
      name: "slow",
      beforeToolCall: () => new Promise((resolve) => void clock.after(40, () => resolve(undefined))),
      beforeLLMCall: () => {
        throw new Error(`no sk-ant-${"k".repeat(30)}`);
      },
    };
    const { tool } = createEchoTool("look");
    const agent = createAgent({
      name: "looker",
      model: createScriptedModel([
        { calls: [{ name: "look", input: { a: 1 } }], usage: { inputTokens: 9, outputTokens: 3 } },
        { error: { kind: "overloaded", message: "529" } },
        { text: "Done." },
      ]),
      tools: [tool],
      hooks: [slow],
      store,
      clock,
    });
    const run = agent.run("Look around.", { sessionId: "s", runId: "r" });
    await clock.runUntilIdle();
    expect((await run).status).toBe("completed");
    const records = await traceSession(store, "s");
    expect(typesOf(records)).toEqual(["run_started", "step", "step", "run_finished"]);
    expect(records[0]).toMatchObject({ agent: "looker", input: "Look around.", sessionId: "s", runId: "r" });
    const [first, second] = stepsOf(records);
    expect(first).toMatchObject({
      modelCallIndex: 1,
      purpose: "step",
      messages: 1,
      attempts: [{ attempt: 1, model: "scripted", finishReason: { unified: "tool-calls" }, usage: { inputTokens: 9 } }],
      calls: [{ callKey: "r/1/1", name: "look", outcome: "ok", ran: { attempt: 1 }, waits: [] }],
      hooks: expect.arrayContaining([
        expect.objectContaining({
          name: "slow",
          hook: "beforeLLMCall",
          outcome: "threw",
          message: expect.stringContaining("[redacted]"),
        }),
        expect.objectContaining({
          name: "slow",
          hook: "beforeToolCall",
          durationMs: 40,
          outcome: "ok",
          callKey: "r/1/1",
        }),
      ]),
    });
    expect(first?.states.map(({ from, to }) => `${from} ${to}`)).toContain("model_running tool_running");
    expect(second).toMatchObject({
      messages: 3,
      attempts: [
        { attempt: 1, failure: { kind: "overloaded" } },
        { attempt: 2, finishReason: { unified: "stop" } },
      ],
    });
    expect(records.at(-1)).toMatchObject({
      type: "run_finished",
      status: "completed",
      reason: "stop",
      steps: 2,
      restarts: 0,
    });
  });

  test("is the one that observers are told of while it happens", verifies("TRC-1", "HOOK-5"), async () => {
    const store = createMemoryStore();
    const seen: TraceRecord[] = [];
    const { tool } = createEchoTool("look");
    const model = createScriptedModel([{ calls: [{ name: "look" }] }, { text: "Done." }, { text: "More." }]);
    const agent = createAgent({ model, tools: [tool], store, observers: [{ onTrace: (record) => seen.push(record) }] });
    await agent.run("One", { sessionId: "s" });
    await agent.run("Two", { sessionId: "s" });
    expect(seen).toEqual(await traceSession(store, "s"));
    expect(typesOf(seen)).toEqual([
      "run_started",
      "step",
      "step",
      "run_finished",
      "run_started",
      "step",
      "run_finished",
    ]);
  });

  test("says how long a call waited for a person, and who answered", verifies("TRC-1"), async () => {
    const clock = createTestClock();
    const store = createMemoryStore();
    const { tool } = createEchoTool("risky");
    const model = createScriptedModel([{ calls: [{ name: "risky" }] }, { text: "Done." }]);
    const agent = createAgent({ model, tools: [{ ...tool, needsApproval: true }], store, clock });
    await agent.run("Go", { sessionId: "s" });
    await clock.advance(3_600_000);
    const session = agent.session("s");
    const [asked] = await session.pendingApprovals();
    await session.answer(asked?.callKey ?? "", { type: "approve" }, { by: "ada" });
    await clock.runUntilIdle();
    const [step] = stepsOf(await traceSession(store, "s"));
    expect(step?.calls).toMatchObject([
      { name: "risky", outcome: "ok", waits: [{ for: "person", durationMs: 3_600_000, by: "ada" }] },
    ]);
  });

  test("goes on where another process takes the run up", verifies("TRC-1"), async () => {
    const clock = createTestClock();
    const store = createMemoryStore();
    const gate = createGateTool("wait");
    const model = createScriptedModel([{ calls: [{ name: "wait" }] }]);
    void createAgent({ model, tools: [gate.tool], store, clock }).run("Go", { sessionId: "s" });
    await gate.started;
    clock.jump(60_000);
    const seen: TraceRecord[] = [];
    const heir = createAgent({
      model: createScriptedModel([{ text: "Done." }]),
      tools: [gate.tool],
      store,
      clock,
      observers: [{ onTrace: (record) => seen.push(record) }],
    });
    await heir.session("s").resume();
    const whole = await traceSession(store, "s");
    expect(seen).toEqual(whole.slice(1));
    expect(whole.at(-1)).toMatchObject({ restarts: 1 });
  });
});
