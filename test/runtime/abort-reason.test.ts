/**
 * The reason of an abort reaches the signals of what it ends.
 */
import { describe, expect, test } from "vitest";
import {
  createAgent,
  createClient,
  createMemoryStore,
  defineTool,
  type Hook,
  type Model,
  type ToolContext,
} from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createDeferred, createGateTool } from "../support/agents.js";
import { createWatchedClock } from "../support/clock.js";
import { verifies } from "../verifies.js";

const proven = verifies("LOOP-10#signal");

/** A run in a tool that waits for its signal. */
async function runInTool(options: { readonly signal?: AbortSignal; readonly maxWallClockMs?: number } = {}) {
  const { signal, maxWallClockMs } = options;
  const gate = createGateTool();
  const clock = createWatchedClock();
  const store = createMemoryStore();
  const agent = createAgent({
    model: createScriptedModel([{ calls: [{ name: "gate" }] }]),
    tools: [gate.tool],
    store,
    clock,
  });
  const result = agent.run("Go", {
    sessionId: "s",
    ...(signal === undefined ? {} : { signal }),
    ...(maxWallClockMs === undefined ? {} : { limits: { maxWallClockMs } }),
  });
  const context = await gate.started;
  return { agent, store, clock, result, signal: context.signal };
}

async function reasonWhen(aborted: AbortSignal): Promise<unknown> {
  if (!aborted.aborted) await new Promise<void>((resolve) => aborted.addEventListener("abort", () => resolve()));
  return aborted.reason;
}

describe("the signal of a tool", proven, () => {
  test("is aborted with the very reason that the caller's signal had, and the log tells it", async () => {
    const controller = new AbortController();
    const run = await runInTool({ signal: controller.signal });
    const reason = new Error("the user left");
    controller.abort(reason);
    expect(await reasonWhen(run.signal)).toBe(reason);
    expect(await run.result).toMatchObject({ status: "aborted" });
    const log = await run.store.read("s");
    expect(log.find(({ event }) => event.type === "abort_requested")?.event).toMatchObject({
      note: "its signal was aborted: the user left",
    });
  });

  test("says the words of session.abort(), and who said them", async () => {
    const run = await runInTool();
    await run.agent.session("s").abort({ note: "wrong account", by: "Ada" });
    expect(await reasonWhen(run.signal)).toMatchObject({
      name: "AbortError",
      message: "The run was aborted by Ada: wrong account",
    });
  });

  test("says those of an abort from another process, too", async () => {
    const run = await runInTool();
    await createClient({ store: run.store }).session("s").abort({ note: "wrong account" });
    await run.clock.advance(2_000);
    expect(await reasonWhen(run.signal)).toMatchObject({ message: "The run was aborted: wrong account" });
  });

  test("is a TimeoutError at the limit of time", async () => {
    const run = await runInTool({ maxWallClockMs: 1_000 });
    await run.clock.advance(1_000);
    expect(await reasonWhen(run.signal)).toMatchObject({
      name: "TimeoutError",
      message: "The run reached its limit of time.",
    });
  });

  test("says that the process shuts down", async () => {
    const run = await runInTool();
    void run.agent.shutdown({ graceMs: 1 });
    await run.clock.advance(1);
    expect(await reasonWhen(run.signal)).toMatchObject({
      name: "AbortError",
      message: "The process is shutting down.",
    });
    await run.result;
  });

  test("has its reason where the tool asks for the signal only afterwards", async () => {
    const started = createDeferred<ToolContext>();
    const end = createDeferred();
    const late = defineTool({
      name: "late",
      description: "Looks at its signal late.",
      input: { type: "object" },
      execute: async (_input, context) => {
        started.resolve(context);
        await end.promise;
        return String(context.signal.reason);
      },
    });
    const store = createMemoryStore();
    const agent = createAgent({ model: createScriptedModel([{ calls: [{ name: "late" }] }]), tools: [late], store });
    const result = agent.run("Go", { sessionId: "s" });
    await started.promise;
    await agent.session("s").abort({ note: "enough" });
    end.resolve();
    await result;
    const log = await store.read("s");
    expect(log.find(({ event }) => event.type === "tool_finished")?.event).toMatchObject({
      output: { text: "AbortError: The run was aborted: enough" },
    });
  });
});

test("the signal of a model has the reason of the abort", proven, async () => {
  const streaming = createDeferred<AbortSignal>();
  const model: Model = {
    id: "m",
    async *stream(_request, signal) {
      yield { kind: "start" };
      streaming.resolve(signal);
      await new Promise(() => {});
    },
  };
  const controller = new AbortController();
  const result = createAgent({ model }).run("Go", { signal: controller.signal });
  const signal = await streaming.promise;
  controller.abort("enough");
  expect(await result).toMatchObject({ status: "aborted" });
  expect(signal.reason).toBe("enough");
});

test("the signal of a hook has the reason of the abort", proven, async () => {
  const asked = createDeferred<AbortSignal>();
  const hook: Hook = {
    name: "slow",
    beforeLLMCall: (_call, { signal }) => {
      asked.resolve(signal);
      return new Promise(() => {});
    },
  };
  const agent = createAgent({ model: createScriptedModel([{ text: "Never." }]), hooks: [hook] });
  const result = agent.run("Go", { sessionId: "s" });
  const signal = await asked.promise;
  await agent.session("s").abort({ note: "enough" });
  expect(await result).toMatchObject({ status: "aborted" });
  expect(signal.reason).toMatchObject({ message: "The run was aborted: enough" });
});
