/**
 * The options of tool steps, and what steps and questions mean for the calls and restarts around them.
 */
import { tool as aiTool } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { toolCallsOf } from "../../src/core/data/message.js";
import { createAgent, createMemoryStore, defineTool, type ToolContext, type ToolRetry } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { collect, createDeferred, filterEventsOfType } from "../support/agents.js";
import { createWatchedClock } from "../support/clock.js";
import { createDurableAgent, readEvents } from "../support/durable-tool.js";
import { createFailingStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const ids = { sessionId: "s", runId: "r" } as const;

async function stepsIn(store: Parameters<typeof readEvents>[0]) {
  return (await readEvents(store)).filter((event) => event.type === "tool_step_finished");
}

async function outputIn(store: Parameters<typeof readEvents>[0]): Promise<unknown> {
  const output = (await readEvents(store)).find((event) => event.type === "tool_finished")?.output;
  return output?.type === "json" ? output.value : output?.type === "text" ? output.text : undefined;
}

/** Runs one step that always throws; gives how often it ran, and the waits in between. */
async function failingStep(retry: ToolRetry) {
  const clock = createWatchedClock();
  const store = createMemoryStore();
  let [tries, isOver] = [0, false];
  const work = ({ step }: ToolContext) =>
    step(
      "charge",
      () => {
        tries += 1;
        throw new Error(`no answer, try ${tries}`);
      },
      { retry },
    );
  const running = createDurableAgent(work, {}, { store, clock })
    .run("Go", ids)
    .finally(() => {
      isOver = true;
    });
  while (!isOver) await clock.advance(1_000);
  await running;
  const [kept] = await stepsIn(store);
  return { tries, waits: clock.waits, kept };
}

describe("a step that is tried again", () => {
  test("waits as a tool does: twice as long each time, and up to half of it is cut", verifies("TOOL-12"), async () => {
    const { tries, waits, kept } = await failingStep({ attempts: 4, backoff: { maxMs: 1_500 } });
    expect(tries).toBe(4);
    expect(kept).toMatchObject({ outcome: "error", tries: 4, fault: { message: "no answer, try 4" } });
    for (const [index, whole] of [500, 1_000, 1_500].entries()) {
      expect(waits[index]).toBeGreaterThanOrEqual(whole / 2);
      expect(waits[index]).toBeLessThanOrEqual(whole);
    }
    expect((await failingStep({ attempts: 4, backoff: { maxMs: 1_500 } })).waits).toEqual(waits);
  });

  test("is tried three times by default, and only while `when` says so", verifies("TOOL-12"), async () => {
    expect((await failingStep({})).tries).toBe(3);
    expect((await failingStep({ when: (error) => String(error).includes("try 1") })).tries).toBe(2);
    const thrown = await failingStep({
      when: () => {
        throw new Error("cannot tell");
      },
    });
    expect(thrown).toMatchObject({ tries: 1, kept: { outcome: "error", fault: { message: "no answer, try 1" } } });
  });

  test("has the bounds of a tool's retry", verifies("TOOL-12"), async () => {
    const store = createMemoryStore();
    const wrong = [{ attempts: 21 }, { backoff: { baseMs: 86_400_001 } }, { backoff: { maxMs: 86_400_001 } }];
    const told: string[] = [];
    const work = async ({ step }: ToolContext) => {
      for (const retry of wrong) await step("a", () => 1, { retry }).catch((error) => told.push(error.message));
      return "ended";
    };
    await createDurableAgent(work, {}, { store }).run("Go", ids);
    expect(told).toEqual([
      expect.stringContaining("1 to 20"),
      expect.stringContaining("86,400,000"),
      expect.stringContaining("86,400,000"),
    ]);
    expect(await stepsIn(store)).toEqual([]);
  });
});

test("a step whose time is up has its signal aborted, and is not tried again", verifies("TOOL-12"), async () => {
  const clock = createWatchedClock();
  const store = createMemoryStore();
  const reasons: unknown[] = [];
  const work = ({ step }: ToolContext) =>
    step(
      "slow",
      ({ signal }) => {
        signal.addEventListener("abort", () => reasons.push(signal.reason.name));
        return new Promise(() => {});
      },
      { timeoutMs: 7_000, retry: {} },
    );
  const running = createDurableAgent(work, {}, { store, clock }).run("Go", ids);
  await clock.waitFor(7_000);
  await clock.advance(7_000);
  expect(await running).toMatchObject({ status: "completed" });
  expect(reasons).toEqual(["TimeoutError"]);
  const [kept] = await stepsIn(store);
  expect(kept).toMatchObject({ outcome: "error", fault: { code: "step_timeout" } });
  expect(kept?.tries).toBeUndefined();
});

test("a step's value is shown if it takes at most 4,096 characters", verifies("TOOL-12"), async () => {
  const store = createMemoryStore();
  const work = async ({ step }: ToolContext) => {
    await step("shown", () => "x".repeat(4_094));
    await step("too long", () => "x".repeat(4_095));
    return "ended";
  };
  const items = await collect(createDurableAgent(work, {}, { store }).runStream("Go", ids));
  const shown = filterEventsOfType(items, "tool_step").map((item) => [item.step, "output" in item]);
  expect(shown).toEqual([
    ["shown", true],
    ["too long", false],
  ]);
  // The tool gets it all the same.
  expect((await stepsIn(store)).map(({ value }) => String(value).length)).toEqual([4_094, 4_095]);
});

describe("a process that dies again and again", () => {
  /** Each life of the process ends at its third commit: that it goes on, and one step. */
  async function manyLives(work: (context: ToolContext) => unknown) {
    const { store, failCommits, repair } = createFailingStore(createMemoryStore());
    failCommits(4);
    let result = await createDurableAgent(work, {}, { store }).run("Go", ids);
    for (let life = 0; life < 20 && result.status === "interrupted"; life += 1) {
      repair();
      failCommits(3);
      result = await createDurableAgent(work, {}, { store }).session("s").resume();
    }
    repair();
    return {
      result:
        result.status === "interrupted" ? await createDurableAgent(work, {}, { store }).session("s").resume() : result,
    };
  }

  test("makes progress with each step, and is no crash loop", verifies("TOOL-12"), async () => {
    const ran: number[] = [];
    const { result } = await manyLives(async ({ step }) => {
      for (let page = 1; page <= 10; page += 1) await step(`page ${page}`, () => void ran.push(page));
      return "ended";
    });
    expect(result).toMatchObject({ status: "completed" });
    // In each life one step more was kept, and the step after it ran once more.
    expect(new Set(ran).size).toBe(10);
    expect(ran.length).toBeLessThanOrEqual(20);
  });
});

test(
  "a generator that runs again shows what it yields, and repeats no step",
  verifies("TOOL-12", "TOOL-14"),
  async () => {
    const inner = createMemoryStore();
    const { store, failCommits, repair } = createFailingStore(inner);
    const ran: string[] = [];
    const seen = createDeferred();
    async function* work({ step, attempt }: ToolContext) {
      const pages = await step("pages", () => {
        ran.push(`pages in ${attempt}`);
        return 2;
      });
      yield `${pages} pages found`;
      return step("read", async () => {
        if (attempt === 2) await seen.promise;
        return `read ${pages} pages in ${attempt}`;
      });
    }
    // Commits: the start, the answer, the first step, the second step.
    failCommits(4);
    expect(await createDurableAgent(work, {}, { store }).run("Go", ids)).toMatchObject({ status: "interrupted" });
    repair();
    const session = createDurableAgent(work, {}, { store }).session("s");
    const resumed = session.resume();
    for await (const item of session.events()) {
      if (item.type !== "preliminary") continue;
      expect(item.output).toEqual({ type: "text", text: "2 pages found" });
      break;
    }
    seen.resolve();
    expect(await resumed).toMatchObject({ status: "completed" });
    expect(ran).toEqual(["pages in 1"]);
    expect(await outputIn(inner)).toBe("read 2 pages in 2");
  },
);

describe("a sequential tool that asks", () => {
  test("frees the way for other calls, and runs alone again afterwards", verifies("TOOL-13#ask"), async () => {
    const store = createMemoryStore();
    const order: string[] = [];
    const [slow, begun] = [createDeferred(), createDeferred()];
    const asking = defineTool({
      name: "asking",
      description: "Asks.",
      input: { type: "object" },
      durable: true,
      sequential: true,
      async execute(_input, { ask }) {
        order.push("asking");
        await ask({ message: "Really?" });
        order.push("answered");
        return "ended";
      },
    });
    const plain = defineTool({
      name: "plain",
      description: "Works.",
      input: { type: "object" },
      readOnly: true,
      async execute() {
        order.push("plain begins");
        begun.resolve();
        await slow.promise;
        order.push("plain ends");
        return "ended";
      },
    });
    const model = createScriptedModel([{ calls: [{ name: "asking" }, { name: "plain" }] }, { text: "Done." }]);
    const agent = createAgent({ model, tools: [asking, plain], store });
    const running = agent.run("Go", ids);
    await begun.promise;
    // The call that asked has its answer, and waits until the other one has ended.
    expect(await agent.session("s").answer("r/1/1", { type: "reply", value: true })).toBe("first");
    await expect.poll(async () => (await readEvents(store)).some(({ type }) => type === "answered")).toBe(true);
    expect(order).toEqual(["asking", "plain begins"]);
    slow.resolve();
    expect(await running).toMatchObject({ status: "completed" });
    expect(order).toEqual(["asking", "plain begins", "plain ends", "asking", "answered"]);
  });
});

test(
  "a session with steps and a question can be forked at each of its entries, and goes on",
  verifies("TOOL-12"),
  async () => {
    const store = createMemoryStore();
    const work = async ({ step, ask }: ToolContext) => {
      await step("one", () => "x".repeat(70_000));
      const said = await ask({ message: "Go on?" });
      return step("two", () => said.type);
    };
    const agent = createDurableAgent(work, {}, { store });
    await agent.run("Go", ids);
    await agent.session("s").answer("r/1/1", { type: "reply", value: true });
    await agent.session("s").resume();
    const log = await store.read("s");
    for (const { seq } of log) {
      const id = `fork-${seq}`;
      await agent.session("s").fork({ sessionId: id, at: seq });
      let result = await agent.run("And now?", { sessionId: id });
      if (result.status === "awaiting_human") {
        // The fork ends before the call: the model asks for it again.
        for (const { callKey } of result.approvals)
          await agent.session(id).answer(callKey, { type: "reply", value: true });
        result = await agent.session(id).resume();
      }
      expect(result).toMatchObject({ status: "completed" });
      // A call that was cut off by the fork has a result, too.
      const events = (await store.read(id)).map(({ event }) => event);
      const calls = events.flatMap((event) => (event.type === "model_finished" ? toolCallsOf(event.message) : []));
      expect(events.filter(({ type }) => type === "tool_finished")).toHaveLength(calls.length);
      expect(calls.length).toBeGreaterThan(0);
    }
  },
);

describe("a tool of the AI SDK", () => {
  const input = z.object({ cents: z.int() });
  const theirs = aiTool({
    description: "Charges a card.",
    inputSchema: input,
    execute: async ({ cents }) => `charged ${cents}`,
  });

  test("gets steps in a tool of one's own that calls it", verifies("TOOL-12", "TOOL-1"), async () => {
    const store = createMemoryStore();
    const { description = "", execute } = theirs;
    const charge = defineTool({
      name: "charge",
      description,
      input,
      durable: true,
      execute: (given, { step, toolCallId, signal: abortSignal }) =>
        step("charge", async () => execute?.(given, { toolCallId, abortSignal, messages: [] })),
    });
    const model = createScriptedModel([{ calls: [{ name: "charge", input: { cents: 5 } }] }, { text: "Done." }]);
    await createAgent({ model, tools: [charge], store }).run("Go", ids);
    expect(await stepsIn(store)).toMatchObject([{ step: "charge", outcome: "ok", value: "charged 5" }]);
    expect(await outputIn(store)).toBe("charged 5");
  });

  test("is refused with an option that only tools of Pawl have", verifies("TOOL-1"), () => {
    for (const option of [{ durable: true }, { readOnly: true }, { retry: {} }])
      expect(() =>
        createAgent({ model: createScriptedModel([]), tools: { charge: { ...theirs, ...option } } }),
      ).toThrow(new RegExp(`"charge" is a tool of the AI SDK, which has no option ${Object.keys(option)[0]}`));
  });
});
