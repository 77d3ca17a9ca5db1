import { describe, expect, test } from "vitest";
import {
  createAgent,
  createMemoryStore,
  done,
  type Limits,
  type PriceTable,
  type Reason,
  type RunResult,
} from "../../src/index.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { awaitFinalResult, createEchoTool, createGateTool, filterEventsOfType } from "../support/agents.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

/** A dollar for each token that comes out, a cent for each that goes in. */
const prices: PriceTable = { scripted: { input: 10_000, output: 1_000_000 } };
const usage = { inputTokens: 100, outputTokens: 2 };
const costOfCall = 3;

/** Asks for something else each time. */
function asking(more: Partial<ScriptedStep> = {}) {
  let count = 0;
  return (): ScriptedStep => {
    count += 1;
    return { calls: [{ name: "echo", input: { count } }], usage, ...more };
  };
}

const reset: ScriptedStep = { error: { kind: "network", message: "reset" }, usage };

type Budget = { readonly reason: Reason; readonly limits: Limits; readonly steps: number };

const budgets: readonly Budget[] = [
  { reason: "max_steps", limits: { maxSteps: 3, onMaxSteps: "stop" }, steps: 3 },
  { reason: "max_tokens", limits: { maxTokens: 300 }, steps: 3 },
  { reason: "max_cost", limits: { maxCostUsd: 9 }, steps: 3 },
];

describe("a budget", () => {
  test.each(budgets)(
    "$reason: ends the run before the call that would be too much, and the session can go on",
    verifies("LIM-1", "LIM-3"),
    async ({ reason, limits, steps }) => {
      const { tool, inputs } = createEchoTool();
      const agent = createAgent({ model: createScriptedModel(asking()), tools: [tool], limits, usage: { prices } });
      const result = await agent.run("Go", { sessionId: "s" });
      expect(result).toMatchObject({ status: "failed", reason, steps });
      expect(inputs).toHaveLength(steps);
      const next = agent.with({ model: createScriptedModel([{ text: "On we go.", usage }]) });
      expect(await next.run("Go on", { sessionId: "s" })).toMatchObject({
        status: "completed",
        text: "On we go.",
        steps: 1,
      });
    },
  );

  describe.each(localStores)("in $name", ({ open }) => {
    test.each(budgets)("$reason survives a restart", verifies("LIM-1"), ({ reason, limits, steps }) =>
      withStore(open, async (store) => {
        const gate = createGateTool("echo");
        const options = { store, limits, usage: { prices } };
        const model = asking();
        const first = createAgent({
          ...options,
          model: createScriptedModel([model(), model()]),
          tools: [createEchoTool().tool],
        });
        const stopped = first.with({ tools: [gate.tool] });
        const cut = stopped.run("Go", { sessionId: "s" });
        await gate.started;
        await stopped.shutdown({ graceMs: 0 });
        expect(await cut).toMatchObject({ status: "interrupted", steps: 1 });
        const second = first.with({ model: createScriptedModel(asking()) });
        expect(await second.session("s").resume()).toMatchObject({ status: "failed", reason, steps });
      }),
    );
  });

  test("counts failed attempts, and is looked at before another one", verifies("LIM-1"), async () => {
    for (const [limits, reason] of [
      [{ maxTokens: 204 }, "max_tokens"],
      [{ maxCostUsd: 2 * costOfCall }, "max_cost"],
    ] as const) {
      const model = createScriptedModel(() => reset);
      const agent = createAgent({ model, limits, usage: { prices }, retry: { baseDelayMs: 0 } });
      expect(await agent.run("Go")).toMatchObject({
        status: "failed",
        reason,
        steps: 0,
        usage: { inputTokens: 200, outputTokens: 4, costUsd: 6, partial: true },
      });
      expect(model.requests).toHaveLength(2);
    }
  });

  test("of cost takes a model with a price only", verifies("LIM-1", "CTX-9"), async () => {
    const unpriced = createScriptedModel([{ text: "Hi." }]);
    const limits = { maxCostUsd: 1 };
    const refusal = expect.objectContaining({
      code: "bad_configuration",
      message: expect.stringContaining("no price"),
    });
    expect(() => createAgent({ model: unpriced, limits })).toThrow(refusal);
    expect(() => createAgent({ model: unpriced, limits, usage: null })).toThrow("usage is null");
    await expect(createAgent({ model: unpriced }).run("Go", { limits })).rejects.toThrow(refusal);
    const child = createAgent({ name: "child", model: unpriced, usage: { prices: {} } });
    const tools = [child.asTool({ description: "Helps." })];
    expect(() => createAgent({ model: unpriced, tools, limits, usage: { prices } })).toThrow(refusal);
    for (const maxCostUsd of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => createAgent({ model: unpriced, limits: { maxCostUsd }, usage: { prices } })).toThrow("maxCostUsd");
  });
});

describe("the wall clock", () => {
  test("stops a model that is talking, and keeps what it used", verifies("LIM-1", "LIM-3", "CTX-9"), async () => {
    const clock = createTestClock();
    const model = createScriptedModel([{ wait: new Promise(() => {}) }, { text: "On we go." }]);
    const agent = createAgent({ model, clock, limits: { maxWallClockMs: 60_000 } });
    const run = agent.run("Go", { sessionId: "s" });
    await clock.advance(60_000);
    expect(await run).toMatchObject({ status: "failed", reason: "max_wall_clock", usage: { partial: true } });
    expect(await agent.run("Go on", { sessionId: "s" })).toMatchObject({ status: "completed", text: "On we go." });
  });

  test("counts downtime: who takes the run up late ends it, and calls nobody", verifies("LIM-1"), async () => {
    const clock = createTestClock();
    const store = createMemoryStore();
    const gate = createGateTool();
    const options = { store, clock, limits: { maxWallClockMs: 60_000 } };
    const model = createScriptedModel([{ calls: [{ name: "gate" }] }]);
    const first = createAgent({ ...options, model, tools: [gate.tool] });
    const cut = first.run("Go", { sessionId: "s" });
    await gate.started;
    const shutDown = first.shutdown({ graceMs: 0 });
    await clock.advance(1);
    await shutDown;
    expect(await cut).toMatchObject({ status: "interrupted" });
    clock.jump(3_600_000);
    const late = createScriptedModel([{ text: "Never." }]);
    const second = createAgent({ ...options, model: late, tools: [gate.tool] });
    expect(await second.session("s").resume()).toMatchObject({ status: "failed", reason: "max_wall_clock" });
    expect(late.requests).toHaveLength(0);
  });

  test.each([
    { name: "stands still while a person is waited for", wallClockIncludesWaiting: false },
    { name: "goes on then where it is told to", wallClockIncludesWaiting: true },
  ])("$name", verifies("LIM-1"), async ({ wallClockIncludesWaiting }) => {
    const clock = createTestClock();
    const agent = createAgent({
      model: createScriptedModel([{ calls: [{ name: "echo" }] }, { text: "Done." }]),
      tools: [createEchoTool().tool],
      canExecuteTool: () => "ask",
      clock,
      limits: { maxWallClockMs: 60_000, wallClockIncludesWaiting },
    });
    const waiting = await agent.run("Go", { sessionId: "s" });
    expect(waiting.status).toBe("awaiting_human");
    await clock.advance(3_600_000);
    const session = agent.session("s");
    if (wallClockIncludesWaiting) {
      const result = session.resume();
      await clock.advance(1);
      expect(await result).toMatchObject({ status: "failed", reason: "max_wall_clock" });
      return;
    }
    await session.answer(keyOf(waiting), { type: "approve" });
    expect(await awaitFinalResult(session)).toMatchObject({ status: "completed", text: "Done." });
  });
});

function keyOf(result: RunResult): string {
  if (result.status !== "awaiting_human") throw new Error(`The run is ${result.status}.`);
  return result.approvals[0]?.callKey ?? "";
}

describe("children", () => {
  function family(limits: Limits, count: number) {
    const child = createAgent({
      name: "child",
      model: createScriptedModel(() => ({ text: "Found.", usage })),
      usage: { prices },
    });
    const store = createMemoryStore();
    const calls = Array.from({ length: count }, (_, n) => ({ name: "child", input: { task: `${n}` } }));
    const model = createScriptedModel([
      { calls, usage },
      { text: "Done.", usage },
    ]);
    const tools = [child.asTool({ description: "Helps." })];
    return { agent: createAgent({ name: "parent", model, tools, store, limits, usage: { prices } }), store };
  }

  test("count for the parent's budgets", verifies("LIM-1", "CTX-9"), async () => {
    for (const [limits, reason] of [
      [{ maxTokens: 306 }, "max_tokens"],
      [{ maxCostUsd: 9 }, "max_cost"],
    ] as const) {
      const { agent } = family(limits, 2);
      expect(await agent.run("Go")).toMatchObject({
        status: "failed",
        reason,
        steps: 1,
        usage: { inputTokens: 300, outputTokens: 6, costUsd: 9 },
      });
    }
  });

  test("that start together are given no more than there is", verifies("LIM-1"), async () => {
    const { agent, store } = family({ maxTokens: 902, maxCostUsd: 83 }, 3);
    expect(await agent.run("Go", { sessionId: "p" })).toMatchObject({ status: "completed" });
    const kept: (readonly [number | undefined, number | undefined])[] = [];
    for (const { sessionId } of await store.list()) {
      const state = (await store.load(sessionId))?.state;
      if (sessionId !== "p" && state !== undefined && state.status !== "idle")
        kept.push([state.limits.maxTokens, state.limits.maxCostUsd]);
    }
    expect(kept.sort(([a = 0], [b = 0]) => b - a)).toEqual([
      [400, 40],
      [200, 20],
      [100, 10],
    ]);
  });
});

describe("calls of a step", () => {
  test("above maxToolCallsPerStep are blocked, and the model is told", verifies("LIM-2", "LIM-3"), async () => {
    const { tool, inputs } = createEchoTool();
    const calls = [1, 2, 3, 4].map((count) => ({ name: "echo", input: { count } }));
    const model = createScriptedModel([{ calls }, { text: "Done." }]);
    const agent = createAgent({ model, tools: [tool], limits: { maxToolCallsPerStep: 2 } });
    const run = agent.runStream("Go");
    const items = [];
    for await (const item of run) items.push(item);
    expect(await run.result).toMatchObject({ status: "completed", text: "Done." });
    expect(inputs).toEqual([{ count: 1 }, { count: 2 }]);
    expect(
      filterEventsOfType(items, "tool_result")
        .map((result) => result.outcome)
        .sort(),
    ).toEqual(["blocked", "blocked", "ok", "ok"]);
    const blocked = filterEventsOfType(items, "tool_result").find((result) => result.outcome === "blocked");
    expect(blocked?.output).toMatchObject({
      text: expect.stringContaining("4 calls were asked for at once, and 2 may be"),
    });
  });
});

describe("usage", () => {
  const price = {
    scripted: { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5, long: { over: 1_000, input: 4, output: 15 } },
  };

  test("has all counts, by step and by run, and what they cost", verifies("CTX-9"), async () => {
    const told = {
      inputTokens: 1_000,
      outputTokens: 100,
      reasoningTokens: 40,
      cacheReadTokens: 600,
      cacheWriteTokens: 200,
    };
    const model = createScriptedModel([
      { error: { kind: "overloaded", message: "busy" }, usage: { inputTokens: 1_000, outputTokens: 0 } },
      { calls: [{ name: "echo" }], usage: told },
      { text: "Done.", usage: { inputTokens: 2_000, outputTokens: 0 } },
    ]);
    const agent = createAgent({
      model,
      tools: [createEchoTool().tool],
      usage: { prices: price },
      retry: { baseDelayMs: 0 },
    });
    const run = agent.runStream("Go");
    const items = [];
    for await (const item of run) items.push(item);
    const first = (200 * 2 + 600 * 0.2 + 200 * 2.5 + 100 * 10) / 1_000_000;
    expect(filterEventsOfType(items, "attempt_failed")[0]?.usage).toEqual({
      inputTokens: 1_000,
      outputTokens: 0,
      costUsd: 0.002,
      partial: true,
    });
    const [step, last] = filterEventsOfType(items, "step_finished").map((event) => event.usage);
    expect(step).toEqual({ ...told, inputTokens: 2_000, costUsd: expect.closeTo(0.002 + first, 10), partial: true });
    expect(last).toEqual({ inputTokens: 2_000, outputTokens: 0, costUsd: 0.008 });
    expect((await run.result).usage).toEqual({
      ...told,
      inputTokens: 4_000,
      costUsd: expect.closeTo(0.01 + first, 10),
      partial: true,
    });
  });

  test("that nobody knows is not zero", verifies("CTX-9"), async () => {
    const say = (step: ScriptedStep) => createScriptedModel(() => step);
    const agent = createAgent({ model: say({ text: "Hi." }), usage: { prices } });
    expect((await agent.with({ usage: { prices: {} } }).run("Go")).usage).not.toHaveProperty("costUsd");
    expect((await agent.with({ usage: null }).run("Go")).usage).toEqual({ inputTokens: 10, outputTokens: 5 });
    const untold = agent.with({ model: say({ text: "Hi.", usage: {} }) });
    expect((await untold.run("Go")).usage).toEqual({ partial: true });
    const half = agent.with({ model: say({ text: "Hi.", usage: { inputTokens: 10 } }) });
    expect((await half.run("Go")).usage).toEqual({ inputTokens: 10, partial: true });
    const own = agent.with({ model: say({ text: "Hi.", usage: { ...usage, costUsd: 0.5 } }) });
    expect((await own.run("Go")).usage).toEqual({ ...usage, costUsd: 0.5 });
  });

  test("of what was cut off is known in part", verifies("CTX-9"), async () => {
    const store = createMemoryStore();
    let asked = () => {};
    const talking = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const silent = {
      id: "scripted",
      async *stream() {
        yield { kind: "start" } as const;
        asked();
        await new Promise(() => {});
      },
    };
    const first = createAgent({ model: silent, store, usage: { prices } });
    void first.run("Go", { sessionId: "s" });
    await talking;
    await first.shutdown({ graceMs: 0 });
    const second = first.with({ model: createScriptedModel([{ text: "Done.", usage }]) });
    expect(await second.session("s").resume()).toMatchObject({
      usage: { ...usage, costUsd: costOfCall, partial: true },
    });
  });

  test("is priced by a service that is given, whatever it does", verifies("CTX-9", "LOOP-12#services"), async () => {
    const seen: unknown[] = [];
    const tool = {
      name: "look",
      description: "Looks.",
      input: { type: "object" },
      execute: (_: unknown, { services }: { readonly services: { readonly [name: string]: unknown } }) => {
        seen.push(services.clockwork, services.usage, services.output);
        return done("Seen.");
      },
    };
    const broken = {
      isPriced: () => true,
      costOf: () => {
        throw new Error("no");
      },
    };
    const capped = { cap: async () => ({ type: "text", text: "cut" }) as const };
    const agent = createAgent({
      model: createScriptedModel(() => ({ calls: [{ name: "look" }], usage })),
      tools: [tool],
      services: { usage: { isPriced: () => true, costOf: () => 7 }, output: capped, clockwork: "tick" },
    });
    expect(await agent.run("Go")).toMatchObject({ text: "cut", usage: { ...usage, costUsd: 7 } });
    expect(seen).toEqual(["tick", expect.objectContaining({ costOf: expect.any(Function) }), capped]);
    const other = agent.with({ services: { usage: broken, output: capped } });
    expect((await other.run("Go")).usage).toEqual(usage);
  });

  test("is off where it is null, and outputs are whole", verifies("LOOP-12#services"), async () => {
    const long = "a line\n".repeat(20_000);
    const seen: unknown[] = [];
    const tool = {
      name: "look",
      description: "Looks.",
      input: { type: "object" },
      execute: (_: unknown, { services }: { readonly services: unknown }) => {
        seen.push(services);
        return long;
      },
    };
    const script: readonly ScriptedStep[] = [{ calls: [{ name: "look" }] }, { text: "Done." }];
    const outputOf = async (options: object) => {
      const model = createScriptedModel(script);
      await createAgent({ model, tools: [tool], ...options }).run("Go");
      return JSON.stringify(model.requests[1]?.messages.at(-1));
    };
    expect((await outputOf({ usage: null, toolOutput: null })).length).toBeGreaterThan(long.length);
    const own = expect.anything();
    expect(seen).toEqual([{ usage: null, output: null, compaction: own, tokens: own }]);
    expect((await outputOf({})).length).toBeLessThan(60_000);
    expect((await outputOf({ toolOutput: { maxBytes: 1_000 } })).length).toBeLessThan(2_000);
    expect(() => createAgent({ model: createScriptedModel([]), toolOutput: { maxBytes: 0 } })).toThrow("maxBytes");
  });
});
