/**
 * Questions of tools: the tool is let go, and runs again with the answer, here or in another process.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  createAgent,
  createClient,
  createMemoryStore,
  type PendingApproval,
  pendingApprovals,
  type RunResult,
  type StepError,
  type Store,
  type ToolContext,
} from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { askPerson } from "../../src/tools/index.js";
import { collect, createDeferred, filterEventsOfType } from "../support/agents.js";
import { createDurableAgent, readEvents } from "../support/durable-tool.js";
import { createPausingStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const ids = { sessionId: "s", runId: "r" } as const;
const proven = verifies("TOOL-13#ask");

function approvalsIn(result: RunResult): readonly PendingApproval[] {
  return result.status === "awaiting_human" ? result.approvals : [];
}

async function outputOf(store: Store): Promise<unknown> {
  const finished = (await readEvents(store)).find((event) => event.type === "tool_finished");
  const output = finished?.output;
  return output?.type === "json" ? output.value : output?.type === "text" ? output.text : undefined;
}

const callKey = "r/1/1";

test("a model asks a person with askPerson()", proven, async () => {
  const store = createMemoryStore();
  const model = createScriptedModel(({ messages }) =>
    messages.some(({ role }) => role === "tool")
      ? { text: "Thank you." }
      : { calls: [{ name: "ask_person", input: { question: "Which colour?", options: ["red", "blue"] } }] },
  );
  const agent = createAgent({ model, tools: [askPerson()], store });
  expect(approvalsIn(await agent.run("Go", ids))).toMatchObject([
    { name: "ask_person", question: "Which colour?", schema: { enum: ["red", "blue"] } },
  ]);
  await expect(agent.session("s").answer(callKey, { type: "reply", value: "green" })).rejects.toThrow(/does not match/);
  await agent.session("s").answer(callKey, { type: "reply", value: "blue" });
  expect(await agent.session("s").resume()).toMatchObject({ status: "completed" });
  expect(await outputOf(store)).toBe("blue");
});

describe("a tool that asks", () => {
  test("asks nobody while its run is being aborted, and is told", proven, async () => {
    const { store, reached, release } = createPausingStore("abort_requested");
    const [begun, goesOn, asked] = [createDeferred(), createDeferred(), createDeferred()];
    const said: unknown[] = [];
    const agent = createDurableAgent(
      async ({ ask }) => {
        begun.resolve();
        await goesOn.promise;
        const answer = ask({ message: "Really?" });
        asked.resolve();
        return answer.catch((error) => {
          said.push(error);
          return "nobody was asked";
        });
      },
      {},
      { store, limits: { abortGraceMs: 60_000 } },
    );
    const running = agent.run("Go", ids);
    await begun.promise;
    const aborting = agent.session("s").abort();
    await reached;
    goesOn.resolve();
    await asked.promise;
    // The question goes to the log in the next turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    release();
    await aborting;
    expect(await running).toMatchObject({ status: "aborted" });
    expect(said).toMatchObject([{ name: "AbortError" }]);
    expect((await readEvents(store)).filter(({ type }) => type === "tool_asked")).toEqual([]);
    expect(await outputOf(store)).toBe("nobody was asked");
  });

  test("is let go, and runs again with the answer in another process", proven, async () => {
    const store = createMemoryStore();
    const ran: string[] = [];
    const work = async ({ step, ask, attempt }: ToolContext) => {
      const account = await step("look", () => {
        ran.push(`look in ${attempt}`);
        return "DE01";
      });
      const said = await ask({ message: `Pay from ${account}?`, schema: z.object({ amount: z.number() }) });
      ran.push(`answered in ${attempt}`);
      return said;
    };
    const waiting = await createDurableAgent(work, {}, { store }).run("Go", ids);
    expect(approvalsIn(waiting)).toMatchObject([
      { callKey, name: "work", why: "tool", question: "Pay from DE01?", questionId: "ask", schema: { type: "object" } },
    ]);
    expect((await store.load("s"))?.state).toMatchObject({ status: "awaiting_human" });
    // The lease is free: this store gives it to anybody.
    expect(await collect(pendingApprovals(store))).toMatchObject([{ why: "tool", questionId: "ask" }]);

    const person = createClient({ store }).session("s");
    expect(await person.answer(callKey, { type: "reply", value: { amount: 7 } }, { by: "Ada" })).toBe("first");
    expect(await person.answer(callKey, { type: "reply", value: { amount: 8 } })).toBe("second");
    expect(await person.answerTo(callKey)).toMatchObject({ type: "reply", value: { amount: 7 }, by: "Ada" });
    const result = await createDurableAgent(work, {}, { store }).session("s").resume();
    expect(result).toMatchObject({ status: "completed" });
    expect(await outputOf(store)).toEqual({ type: "answered", value: { amount: 7 }, by: "Ada" });
    expect(ran).toEqual(["look in 1", "answered in 2"]);
  });

  test("shows its question and the answer as events", proven, async () => {
    const store = createMemoryStore();
    const agent = createDurableAgent(
      ({ ask }) => ask({ message: "Which?", url: "https://example.org/pay" }),
      {},
      { store },
    );
    await agent.run("Go", ids);
    await agent.session("s").answer(callKey, { type: "decline", note: "not now" });
    await agent.session("s").resume();
    const items = await collect(agent.session("s").events({ follow: false }));
    expect(filterEventsOfType(items, "approval_requested")).toMatchObject([
      { why: "tool", question: "Which?", questionId: "ask", url: "https://example.org/pay" },
    ]);
    expect(filterEventsOfType(items, "suspended")).toHaveLength(1);
    expect(filterEventsOfType(items, "approval_answered")).toMatchObject([
      { answer: "decline", note: "not now", questionId: "ask" },
    ]);
    expect(await outputOf(store)).toEqual({ type: "declined", note: "not now" });
  });

  test("runs again only when all its questions are answered", proven, async () => {
    const store = createMemoryStore();
    let runs = 0;
    const agent = createDurableAgent(
      async ({ ask, step }) => {
        runs += 1;
        const [one, two, three] = await Promise.all([
          ask({ message: "One?", name: "one" }),
          ask({ message: "Two?", name: "two" }),
          step("beside", () => 3),
        ]);
        return [one, two, three];
      },
      {},
      { store },
    );
    const session = agent.session("s");
    const waiting = await agent.run("Go", ids);
    expect(approvalsIn(waiting).map(({ questionId }) => questionId)).toEqual(["one", "two"]);
    await expect(session.answer(callKey, { type: "reply", value: 1 })).rejects.toThrow(/questionId: "one", "two"/);
    expect(await session.answer(callKey, { type: "reply", value: 2 }, { questionId: "two" })).toBe("first");
    expect(await session.resume()).toMatchObject({ status: "awaiting_human" });
    expect(runs).toBe(1);
    expect(await session.answer(callKey, { type: "reply", value: 2 }, { questionId: "two" })).toBe("second");
    expect(await session.answer(callKey, { type: "reply", value: 1 })).toBe("first");
    expect(await session.resume()).toMatchObject({ status: "completed" });
    expect(runs).toBe(2);
    expect(await outputOf(store)).toEqual([{ type: "answered", value: 1 }, { type: "answered", value: 2 }, 3]);
    const log = await readEvents(store);
    expect(log.filter(({ type }) => type === "tool_step_finished")).toHaveLength(1);
  });

  test("is told when its question expires, and when nobody can be asked", proven, async () => {
    const store = createMemoryStore();
    const clock = createTestClock();
    const agent = createDurableAgent(({ ask }) => ask({ message: "Now?", expiresInMs: 1_000 }), {}, { store, clock });
    expect(await agent.run("Go", ids)).toMatchObject({ status: "awaiting_human" });
    await clock.advance(2_000);
    expect(await agent.session("s").answer(callKey, { type: "reply", value: 1 })).toBe("second");
    const resumed = agent.session("s").resume();
    await clock.advance(10);
    await resumed;
    expect(await outputOf(store)).toEqual({ type: "expired" });

    const other = createMemoryStore();
    await createDurableAgent(({ ask }) => ask({ message: "Now?" }), {}, { store: other }).run("Go", {
      ...ids,
      interactive: false,
    });
    expect(await outputOf(other)).toMatchObject({ type: "declined", note: expect.stringContaining("nobody") });
  });

  test("gets no answer that does not fit", proven, async () => {
    const store = createMemoryStore();
    const agent = createDurableAgent(
      ({ ask }) => ask({ message: "How many?", schema: { type: "number" } }),
      {},
      { store },
    );
    await agent.run("Go", ids);
    const session = agent.session("s");
    const wrong = [
      [{ type: "reply", value: "seven" }, /does not match/],
      [{ type: "reply", value: undefined }, /cannot be accepted/],
      [{ type: "reply", value: "x".repeat(70_000) }, /cannot be accepted/],
      [{ type: "approve" }, /answer reply, decline or abort/],
    ] as const;
    for (const [decision, message] of wrong)
      await expect(session.answer(callKey, decision as never)).rejects.toThrow(message);
    expect(await session.answer(callKey, { type: "reply", value: 7 })).toBe("first");
    await session.resume();
    expect(await outputOf(store)).toMatchObject({ value: 7 });
  });

  test("must be durable, and may not ask within a step", proven, async () => {
    const store = createMemoryStore();
    const ask = ({ ask }: ToolContext) => ask({ message: "?" }).catch((error: StepError) => error.code);
    await createDurableAgent(ask, { durable: false }, { store }).run("Go", ids);
    expect(await outputOf(store)).toBe("not_durable");
    const other = createMemoryStore();
    await createDurableAgent(
      ({ ask, step }) => step("outer", () => ask({ message: "?" }).catch((error: StepError) => error.code)),
      {},
      { store: other },
    ).run("Go", ids);
    expect(await outputOf(other)).toBe("step_nested");
  });

  test("ends interrupted if the run is aborted", proven, async () => {
    const store = createMemoryStore();
    const agent = createDurableAgent(({ ask }) => ask({ message: "?" }), {}, { store });
    await agent.run("Go", ids);
    await agent.session("s").answer(callKey, { type: "abort" });
    expect(await agent.session("s").result()).toMatchObject({ status: "aborted" });
    expect((await readEvents(store)).find(({ type }) => type === "tool_finished")).toMatchObject({
      outcome: "interrupted",
    });
  });

  test("waits for a step that is under way", proven, async () => {
    const store = createMemoryStore();
    const slow = createDeferred<string>();
    const begun = createDeferred();
    const agent = createDurableAgent(
      async ({ ask, step }) => {
        const both = [
          step("slow", () => {
            begun.resolve();
            return slow.promise;
          }),
          ask({ message: "?" }),
        ];
        return Promise.all(both);
      },
      {},
      { store },
    );
    const running = agent.run("Go", ids);
    await begun.promise;
    await new Promise((resolve) => setImmediate(resolve));
    expect((await readEvents(store)).some(({ type }) => type === "tool_asked")).toBe(false);
    slow.resolve("kept");
    expect(await running).toMatchObject({ status: "awaiting_human" });
    await agent.session("s").answer(callKey, { type: "reply", value: true });
    await agent.session("s").resume();
    expect(await outputOf(store)).toEqual(["kept", { type: "answered", value: true }]);
  });

  test("in a child session makes its parent wait, and the answer reaches it", proven, async () => {
    const store = createMemoryStore();
    const child = createDurableAgent(({ ask }) => ask({ message: "Which account?" }), {}, { store, name: "child" });
    const model = createScriptedModel(({ messages }) =>
      messages.some(({ role }) => role === "tool")
        ? { text: "All done." }
        : { calls: [{ name: "child", input: { task: "Go" } }] },
    );
    const parent = createAgent({
      name: "parent",
      model,
      store,
      tools: [child.asTool({ name: "child", description: "Does it." })],
    });
    const waiting = await parent.run("Go", ids);
    const [approval] = approvalsIn(waiting);
    expect(approval).toMatchObject({ why: "tool", question: "Which account?", questionId: "ask" });
    expect(await parent.session("s").answer(approval?.callKey ?? "", { type: "reply", value: "DE02" })).toBe("first");
    expect(await parent.session("s").resume()).toMatchObject({ status: "completed" });
    const log = await store.read(approval?.sessionId ?? "");
    expect(JSON.stringify(log)).toContain("DE02");
  });
});
