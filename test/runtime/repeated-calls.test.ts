import { describe, expect, test } from "vitest";
import { createAgent, createMemoryStore, type Limits, type StreamItem } from "../../src/index.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { awaitFinalResult, collect, createEchoTool, createGateTool, filterEventsOfType } from "../support/agents.js";
import { verifies } from "../verifies.js";

const same: ScriptedStep = { calls: [{ name: "echo", input: { a: 1, b: [2] } }] };
/** The same input, its keys in another order. */
const turned: ScriptedStep = { calls: [{ name: "echo", input: { b: [2], a: 1 } }] };
const other: ScriptedStep = { calls: [{ name: "echo", input: { a: 2 } }] };
const end: ScriptedStep = { text: "Done." };

async function runOf(script: readonly ScriptedStep[], limits: Limits = {}) {
  const { tool, inputs } = createEchoTool();
  const model = createScriptedModel(script);
  const run = createAgent({ model, tools: [tool], limits }).runStream("Go");
  const items: readonly StreamItem[] = await collect(run);
  const outcomes = filterEventsOfType(items, "tool_result").map((result) => result.outcome);
  return { result: await run.result, outcomes, inputs, model, items };
}

describe("a call that is asked for again and again", verifies("TOOL-10"), () => {
  test("is not run the third time: the model is told, and may do something else", async () => {
    const { result, outcomes, inputs, model } = await runOf([same, turned, same, other, end]);
    expect(result).toMatchObject({ status: "completed", text: "Done." });
    expect(outcomes).toEqual(["ok", "ok", "blocked", "ok"]);
    expect(inputs).toHaveLength(3);
    const told = JSON.stringify(model.requests[3]?.messages.at(-1));
    expect(told).toContain("3 times in a row");
  });

  test("ends the run where telling the model did not help", async () => {
    const { result, outcomes } = await runOf([same, same, same, same, end]);
    expect(result).toMatchObject({ status: "failed", reason: "repeated_call", steps: 4 });
    expect(outcomes).toEqual(["ok", "ok", "blocked", "blocked"]);
  });

  test("is told of once in a run", async () => {
    const { result, outcomes } = await runOf([same, same, same, other, other, other, end]);
    expect(result).toMatchObject({ status: "failed", reason: "repeated_call", steps: 6 });
    expect(outcomes).toEqual(["ok", "ok", "blocked", "ok", "ok", "blocked"]);
  });

  test("counts within a message as across messages, and the run goes on: the model has not been told yet", async () => {
    const call = { name: "echo", input: {} };
    const { result, outcomes } = await runOf([{ calls: [call, call, call, call] }, end]);
    expect(result).toMatchObject({ status: "completed", text: "Done." });
    expect(outcomes.toSorted()).toEqual(["blocked", "blocked", "ok", "ok"]);
  });

  test("counts where it fails and where its tool is unknown", async () => {
    const unknown: ScriptedStep = { calls: [{ name: "nothing" }] };
    const { result, outcomes } = await runOf([unknown, unknown, unknown, unknown]);
    expect(result).toMatchObject({ reason: "repeated_call" });
    expect(outcomes).toEqual(["error", "error", "blocked", "blocked"]);
  });

  test("is no repetition with another input or another call between", async () => {
    const { outcomes } = await runOf([same, same, other, same, same, other, same, end]);
    expect(outcomes).toEqual(Array.from({ length: 7 }, () => "ok"));
  });

  test("asks a person where that is wanted", async () => {
    const { tool, inputs } = createEchoTool();
    const model = createScriptedModel([same, same, same, end]);
    const agent = createAgent({ model, tools: [tool], limits: { onRepeatedCall: "ask" } });
    const waiting = await agent.run("Go", { sessionId: "s" });
    expect(waiting).toMatchObject({
      status: "awaiting_human",
      approvals: [{ name: "echo", question: expect.stringContaining("3 times in a row") }],
    });
    expect(inputs).toHaveLength(2);
    const approval = waiting.status === "awaiting_human" ? waiting.approvals[0] : undefined;
    await agent.session("s").answer(approval?.callKey ?? "", { type: "approve" });
    expect(await awaitFinalResult(agent.session("s"))).toMatchObject({ status: "completed", text: "Done." });
    expect(inputs).toHaveLength(3);
  });

  test("is run where that is wanted", async () => {
    const { result, outcomes } = await runOf([same, same, same, same, same, end], { onRepeatedCall: "ignore" });
    expect(result.status).toBe("completed");
    expect(outcomes).toEqual(Array.from({ length: 5 }, () => "ok"));
  });

  test("is counted across a restart", async () => {
    const gate = createGateTool("other");
    const store = createMemoryStore();
    const { tool } = createEchoTool();
    const model = createScriptedModel([same, same, same, { calls: [{ name: "other" }] }]);
    const first = createAgent({ model, tools: [tool, gate.tool], store });
    void first.run("Go", { sessionId: "s" });
    await gate.started;
    await first.shutdown({ graceMs: 0 });
    const second = createAgent({ model: createScriptedModel([same, same, same]), tools: [tool], store });
    expect(await second.session("s").resume()).toMatchObject({ reason: "repeated_call", steps: 7 });
  });
});
