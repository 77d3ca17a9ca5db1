/**
 * The bounds of tool steps and questions, and what a lost value means.
 */
import { expect, onTestFinished, test } from "vitest";
import { createMemoryStore, type StepContext, type StepError, type Store, type ToolContext } from "../../src/index.js";
import { traceSession } from "../../src/inspect.js";
import { createDeferred } from "../support/agents.js";
import { createDurableAgent, readEvents } from "../support/durable-tool.js";
import { createFailingStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const ids = { sessionId: "s", runId: "r" } as const;

async function outputOf(store: Store): Promise<string> {
  const finished = (await readEvents(store)).find((event) => event.type === "tool_finished");
  return JSON.stringify(finished?.output);
}

test("a call has a thousand steps, and a tool that runs again has no more", verifies("TOOL-12"), async () => {
  const inner = createMemoryStore();
  const { store, failCommits, repair } = createFailingStore(inner);
  let ran = 0;
  const work = async ({ step }: ToolContext) => {
    for (let n = 1; ; n += 1) {
      const failure = await step(`step ${n}`, () => (ran += 1)).then(
        () => undefined,
        (error: StepError) => error,
      );
      if (failure !== undefined) return `${n} ${failure.code}`;
    }
  };
  // Commits: the start, the answer, and so many steps.
  failCommits(602);
  expect(await createDurableAgent(work, {}, { store }).run("Go", ids)).toMatchObject({ status: "interrupted" });
  repair();
  expect(await createDurableAgent(work, {}, { store }).session("s").resume()).toMatchObject({ status: "completed" });
  expect(await outputOf(inner)).toContain("1001 step_too_large");
  expect((await readEvents(inner)).filter(({ type }) => type === "tool_step_finished")).toHaveLength(1_000);
  // One ran without being kept: its commit failed.
  expect(ran).toBe(1_001);
});

test("the values of a call take 32 MiB at most", verifies("TOOL-12"), async () => {
  const store = createMemoryStore();
  const most = "x".repeat(4 * 1024 * 1024 - 2);
  const work = async ({ step }: ToolContext) => {
    for (let n = 1; n <= 8; n += 1) await step(`part ${n}`, () => most);
    const failure = await step("one more", () => 1).catch((error: StepError) => error);
    return typeof failure === "object" ? `${failure.code}: ${failure.message}` : "kept";
  };
  await createDurableAgent(work, {}, { store }).run("Go", ids);
  expect(await outputOf(store)).toMatch(/step_too_large: .*more than 33554432 bytes/);
});

test("sixteen questions of a call are open at once, and the others follow", verifies("TOOL-13#ask"), async () => {
  const store = createMemoryStore();
  const work = ({ ask }: ToolContext) =>
    Promise.all(Array.from({ length: 20 }, (_, n) => ask({ message: `Number ${n}?`, name: `q${n}` })));
  const agent = createDurableAgent(work, {}, { store });
  const session = agent.session("s");
  let result = await agent.run("Go", ids);
  const rounds: number[] = [];
  while (result.status === "awaiting_human") {
    rounds.push(result.approvals.length);
    for (const { callKey, questionId = "" } of result.approvals)
      await session.answer(callKey, { type: "reply", value: questionId }, { questionId });
    result = await session.resume();
  }
  expect(rounds).toEqual([16, 4]);
  for (let n = 0; n < 20; n += 1) expect(await outputOf(store)).toContain(`"q${n}"`);
});

test(
  "a call whose kept value is gone from the store is interrupted, and names the step",
  verifies("TOOL-12"),
  async () => {
    const inner = createMemoryStore();
    const { store, failCommits, repair } = createFailingStore(inner);
    let ran = 0;
    const work = async ({ step }: ToolContext) => {
      const text = await step("read", () => {
        ran += 1;
        return "x".repeat(100_000);
      });
      await step("after", () => 1);
      return text.length;
    };
    failCommits(4);
    await createDurableAgent(work, {}, { store }).run("Go", ids);
    repair();
    const lost: Store = { ...store, getBlob: async () => null };
    const result = await createDurableAgent(work, {}, { store: lost }).session("s").resume();
    expect(result).toMatchObject({ status: "completed" });
    const finished = (await readEvents(inner)).find((event) => event.type === "tool_finished");
    expect(finished).toMatchObject({ outcome: "interrupted" });
    expect(await outputOf(inner)).toMatch(/The result of the tool step \\"read\\" is missing from the store/);
    expect(ran).toBe(1);
  },
);

test("a step that its tool does not wait for is lost, and the trace says so", verifies("TOOL-12"), async () => {
  const store = createMemoryStore();
  const end = createDeferred();
  const work = async ({ step }: ToolContext) => {
    await step("kept", () => 1);
    void step("left", () => end.promise).catch(() => {});
    await new Promise((turn) => setImmediate(turn));
    return "done";
  };
  const agent = createDurableAgent(work, {}, { store });
  expect(await agent.run("Go", ids)).toMatchObject({ status: "completed" });
  end.resolve();
  const [step] = (await traceSession(store, "s")).filter((record) => record.type === "step");
  expect(step?.hooks).toMatchObject([
    { name: "tool step left", outcome: "refused", message: expect.stringContaining("ended without waiting") },
  ]);
  expect(
    (await readEvents(store)).flatMap((event) => (event.type === "tool_step_finished" ? [event.step] : [])),
  ).toEqual(["kept"]);
});

/** What would end a process that does not listen for it. */
function collectUnhandled(): readonly unknown[] {
  const unhandled: unknown[] = [];
  const listen = (reason: unknown) => unhandled.push(reason);
  process.on("unhandledRejection", listen);
  onTestFinished(() => void process.off("unhandledRejection", listen));
  return unhandled;
}

test.each<{ readonly name: string; readonly forget: (context: ToolContext) => unknown }>([
  { name: "step", forget: ({ step }) => step("left", () => 1) },
  { name: "question", forget: ({ ask }) => ask({ name: "left", message: "May it?" }) },
  { name: "sleep", forget: ({ sleep }) => sleep("left", { ms: 60_000 }) },
  { name: "wait", forget: ({ waitFor }) => waitFor("left", { key: "paid" }) },
])("a $name without an await is reported, and does not end the process", async ({ forget }) => {
  const unhandled = collectUnhandled();
  const store = createMemoryStore();
  const work = (context: ToolContext) => {
    void forget(context);
    return "done";
  };
  expect(await createDurableAgent(work, {}, { store }).run("Go", ids)).toMatchObject({ status: "completed" });
  const [step] = (await traceSession(store, "s")).filter((record) => record.type === "step");
  expect(step?.hooks).toMatchObject([{ name: "tool step left", message: expect.stringContaining("Await the step.") }]);
  await new Promise((turn) => setImmediate(turn));
  expect(unhandled).toEqual([]);
});

test("an abort of a tool that awaits two steps one after the other does not end the process", async () => {
  const unhandled = collectUnhandled();
  const begun = createDeferred();
  const agent = createDurableAgent(async ({ step }) => {
    const untilAborted = ({ signal }: StepContext) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
        begun.resolve();
      });
    const [first, second] = [step("first", untilAborted), step("second", untilAborted)];
    return [await first, await second];
  });
  const running = agent.run("Go", ids);
  await begun.promise;
  await agent.session("s").abort();
  expect(await running).toMatchObject({ status: "aborted" });
  await new Promise((turn) => setImmediate(turn));
  expect(unhandled).toEqual([]);
});

test(
  "a call that is tried again keeps its steps that ended well, and runs the others",
  verifies("TOOL-12", "TOOL-15"),
  async () => {
    const store = createMemoryStore();
    const ran: string[] = [];
    const work = async ({ step, attempt }: ToolContext) => {
      const order = await step("order", () => {
        ran.push("order");
        return 17;
      });
      await step("charge", () => {
        ran.push("charge");
        if (attempt < 3) throw new Error("the bank is away");
        return "charged";
      });
      return `order ${order}, attempt ${attempt}`;
    };
    const retry = { attempts: 3, backoff: { baseMs: 0 } };
    expect(await createDurableAgent(work, { retry }, { store }).run("Go", ids)).toMatchObject({ status: "completed" });
    expect(ran).toEqual(["order", "charge", "charge", "charge"]);
    expect(await outputOf(store)).toContain("order 17, attempt 3");
  },
);
