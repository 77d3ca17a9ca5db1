/**
 * A `beforeStop` hook refuses an answer for good: nobody gets it, by no event and by no result.
 */
import { describe, expect, test } from "vitest";
import {
  type AgentOptions,
  createAgent,
  createMemoryStore,
  defineTool,
  done,
  type Hook,
  type HookSubject,
  type Message,
} from "../../src/index.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { settled } from "../../src/testing/test-clock.js";
import {
  collect,
  createDeferred,
  createEchoTool,
  filterEvents,
  filterEventsOfType,
  listEventTypes,
} from "../support/agents.js";
import { verifies } from "../verifies.js";

const user = (text: string): Message => ({ role: "user", parts: [{ type: "text", text }] });
const refusal = { status: "failed", reason: "output_refused", text: "The answer was refused." } as const;
const guard: Hook = {
  name: "guard",
  beforeStop: ({ text }) => (text.includes("swordfish") ? { refuse: "It tells the secret." } : undefined),
};

async function runWith(script: readonly ScriptedStep[], options: Partial<AgentOptions> = {}) {
  const model = createScriptedModel(script);
  const store = createMemoryStore();
  const agent = createAgent({ model, store, hooks: [guard], tools: [createEchoTool().tool], ...options });
  const stream = agent.runStream("Tell me", { sessionId: "s" });
  const items = await collect(stream);
  return { result: await stream.result, items, events: filterEvents(items), agent, store, model };
}

describe("an answer that is refused", verifies("FIN-11"), () => {
  test("ends the run with a reason of its own, and is in no event and no result", async () => {
    const { result, events, agent } = await runWith([{ text: "The secret is swordfish." }, { text: "I may not say." }]);
    expect(result).toMatchObject({
      ...refusal,
      error: { code: "output_refused", message: "It tells the secret.", retryable: false },
    });
    expect(JSON.stringify([result, events])).not.toContain("swordfish");
    expect(listEventTypes(events).slice(-3)).toEqual(["step_finished", "attempt_withdrawn", "final"]);
    expect(filterEventsOfType(events, "attempt_withdrawn")).toMatchObject([{ modelCallIndex: 1, attempt: 1 }]);
    const again = await collect(agent.session("s").events({ follow: false }));
    expect(again).toEqual(events);
    expect((await agent.session("s").replay()).difference).toBeNull();
  });

  test("leaves the conversation, and the next run begins as if it had not been said", async () => {
    const { agent, model, store } = await runWith([{ text: "The secret is swordfish." }, { text: "I may not say." }]);
    expect(await agent.session("s").messages()).toEqual([user("Tell me")]);
    expect(await agent.run("And now?", { sessionId: "s" })).toMatchObject({ text: "I may not say." });
    expect(model.requests[1]?.messages).toEqual([user("Tell me"), user("And now?")]);
    const log = await store.read("s");
    expect(log.find(({ event }) => event.type === "run_finished")?.event).toMatchObject({ refusedSeq: 4 });
  });

  test("leaves it with the parts that it continues, which are withdrawn as well", async () => {
    const { result, events, agent } = await runWith([
      { text: "The secret", finish: "length" },
      { text: " is swordfish." },
    ]);
    expect(result).toMatchObject(refusal);
    expect(filterEventsOfType(events, "message").map(({ modelCallIndex }) => modelCallIndex)).toEqual([1]);
    expect(filterEventsOfType(events, "attempt_withdrawn").map(({ modelCallIndex }) => modelCallIndex)).toEqual([1, 2]);
    expect(await agent.session("s").messages()).toEqual([user("Tell me")]);
  });

  test("leaves the steps before it as they were", async () => {
    const { agent, events } = await runWith([
      { text: "Let me look.", calls: [{ name: "echo", input: { n: 1 } }] },
      { text: "It is swordfish." },
    ]);
    expect((await agent.session("s").messages()).map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    expect(filterEventsOfType(events, "message").map(({ modelCallIndex }) => modelCallIndex)).toEqual([1]);
  });

  test("by the done tool leaves with its whole step", async () => {
    const finish = defineTool({
      name: "finish",
      description: "Ends.",
      input: { type: "object" },
      execute: () => done("It is swordfish."),
    });
    const script = [{ text: "Well.", calls: [{ name: "finish" }] }];
    const { result, events, agent } = await runWith(script, { tools: [finish] });
    expect(result).toMatchObject(refusal);
    expect(filterEventsOfType(events, "attempt_withdrawn")).toHaveLength(1);
    expect(await agent.session("s").messages()).toEqual([user("Tell me")]);
  });

  test("is refused after a limit, too, and when no message can keep the run going any more", async () => {
    const seen: HookSubject<"beforeStop">[] = [];
    const strict: Hook = {
      name: "strict",
      beforeStop(subject) {
        seen.push(subject);
        return subject.mayGoOn ? { message: "Say it without the number." } : { refuse: "It does not obey." };
      },
    };
    const script = ["It is swordfish.", "As I said: swordfish.", "swordfish!"].map((text) => ({ text }));
    const { result, events } = await runWith(script, { hooks: [strict], limits: { maxStopPreventions: 2 } });
    expect(result).toMatchObject({ ...refusal, steps: 3 });
    expect(JSON.stringify(result)).not.toContain("swordfish");
    expect(seen.map(({ mayGoOn, stopPreventions }) => [mayGoOn, stopPreventions])).toEqual([
      [true, 0],
      [true, 1],
      [false, 2],
    ]);
    expect(filterEventsOfType(events, "attempt_withdrawn").map(({ modelCallIndex }) => modelCallIndex)).toEqual([3]);
    const limited = await runWith(script, { hooks: [strict], limits: { maxSteps: 1 } });
    expect(limited.result).toMatchObject({ ...refusal, steps: 1 });
  });

  test("a message that comes too late is no failure of the hook, and the next hook is asked", async () => {
    const more: Hook = { name: "more", beforeStop: () => ({ message: "More." }), onFailure: "closed" };
    const script = [{ text: "It is swordfish." }];
    const { result, events } = await runWith(script, { hooks: [more, guard], limits: { maxStopPreventions: 0 } });
    expect(result).toMatchObject(refusal);
    expect(filterEventsOfType(events, "hook_failed")).toEqual([]);
  });

  test.each([{ refuse: "" }, { refuse: 1 }, { refuse: "no", message: "x" }, { deny: "no" }])(
    "%j is not what a hook may return, and the run ends as it would",
    async (answer) => {
      const hook = { name: "bad", beforeStop: () => answer } as unknown as Hook;
      const { result, events } = await runWith([{ text: "Fine." }], { hooks: [hook] });
      expect(result).toMatchObject({ status: "completed", text: "Fine." });
      expect(filterEventsOfType(events, "hook_failed")[0]?.message).toContain(
        "it may return { message } or { refuse: reason }",
      );
    },
  );

  const broken: readonly (readonly [string, Partial<Hook>, string])[] = [
    [
      "beforeStop that throws",
      { beforeStop: () => Promise.reject(new Error("broken")) },
      "failed at beforeStop: broken",
    ],
    ["beforeStop that hangs", { timeoutMs: 1, beforeStop: () => new Promise(() => {}) }, "failed at beforeStop"],
    ["beforeStop that returns anything", { beforeStop: (() => 7) as never }, "failed at beforeStop"],
    ["afterStep that throws", { afterStep: () => Promise.reject(new Error("broken")) }, "failed at afterStep: broken"],
  ];
  test.each(broken)("is refused by a %s and fails closed", async (_, points, why) => {
    const hook: Hook = { name: "bad", onFailure: "closed", ...points };
    const { result, events, agent } = await runWith([{ text: "It is swordfish." }, { text: "Hi." }], { hooks: [hook] });
    expect(result).toMatchObject({ ...refusal, error: { code: "hook_failed" } });
    expect(result).toHaveProperty("error.message", expect.stringContaining(why));
    expect(JSON.stringify([result, events])).not.toContain("swordfish");
    expect(await agent.session("s").messages()).toEqual([user("Tell me")]);
    expect((await agent.session("s").replay()).difference).toBeNull();
  });

  test("is in no result while the hook still thinks and the process shuts down", async () => {
    const asked = createDeferred();
    const slow: Hook = {
      name: "slow",
      beforeStop: () => {
        asked.resolve();
        return new Promise(() => {});
      },
    };
    const agent = createAgent({ model: createScriptedModel([{ text: "The secret is swordfish." }]), hooks: [slow] });
    const result = agent.run("Tell me", { sessionId: "s" });
    await asked.promise;
    await settled();
    await agent.shutdown({ graceMs: 1 });
    expect(await result).toMatchObject({ status: "interrupted", text: "" });
  });

  test("an observer's after-run hook gets the result without it", async () => {
    const results: unknown[] = [];
    const after: Hook = { name: "after", afterRun: (result) => void results.push(result) };
    const { events } = await runWith([{ text: "It is swordfish." }], { hooks: [guard, after] });
    expect(results).toMatchObject([refusal]);
    expect(JSON.stringify([results, events])).not.toContain("swordfish");
  });
});
