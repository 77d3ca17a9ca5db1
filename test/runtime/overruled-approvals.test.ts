/**
 * The permission check is asked once more when a person's approval is taken, and its denial beats the approval.
 */
import { describe, expect, test } from "vitest";
import {
  type AgentOptions,
  type CanExecuteTool,
  createAgent,
  createClient,
  createMemoryStore,
  defineTool,
  type Permission,
  pendingApprovals,
  type Store,
} from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { collect, createDeferred, createEchoTool, filterEventsOfType } from "../support/agents.js";
import { localStores, withStore } from "../support/stores.js";

const ids = { sessionId: "s", runId: "r" } as const;
const callKey = "r/1/1";

/** An agent whose policy says what `permission` holds at the time. */
function setUp(store: Store, options: Partial<AgentOptions> = {}) {
  const echo = createEchoTool();
  const asked: unknown[] = [];
  const policy: { permission: Permission } = { permission: "ask" };
  const canExecuteTool: CanExecuteTool = ({ input }) => {
    asked.push(input);
    return policy.permission;
  };
  const model = createScriptedModel([{ calls: [{ name: "echo", input: { n: 1 } }] }, { text: "Done." }]);
  const create = () => createAgent({ model, tools: [echo.tool], canExecuteTool, store, ...options });
  const agent = create();
  return { agent, create, session: agent.session("s"), echo, asked, policy };
}

const denial = { verdict: "deny", reason: "the budget is frozen" } as const;

describe.each(localStores)("on $name", ({ open }) => {
  test("a policy that denies by now beats an approval, and the person and the model are told why", async () => {
    await withStore(open, async (store) => {
      const { agent, session, echo, asked, policy } = setUp(store);
      expect(await agent.run("Go", ids)).toMatchObject({ status: "awaiting_human" });
      policy.permission = {
        ...denial,
        rule: { verdict: "deny", kind: "tool", pattern: "echo", scope: "project" },
      };
      expect(await session.answer(callKey, { type: "approve" }, { by: "ada" })).toBe("first");
      expect(await session.resume().catch(() => session.result())).toMatchObject({ status: "completed" });
      expect(echo.inputs).toEqual([]);
      expect(asked).toEqual([{ n: 1 }, { n: 1 }]);

      const overruled = {
        answer: "approve",
        by: "ada",
        rule: { verdict: "deny", kind: "tool", pattern: "echo", scope: "project" },
      };
      const events = await collect(session.events({ follow: false }));
      expect(filterEventsOfType(events, "approval_answered")).toMatchObject([
        { answer: "deny", note: "the budget is frozen", overruled },
      ]);
      expect(filterEventsOfType(events, "tool_result")).toMatchObject([
        { outcome: "denied", output: { text: "Error: Denied: the budget is frozen. The call was not run." } },
      ]);
      expect(await createClient({ store }).session("s").answerTo(callKey)).toMatchObject({ type: "deny", overruled });
      expect(await session.answer(callKey, { type: "approve" })).toBe("second");
    });
  });

  test("an approval of another process counts if the policy allows or asks, and is then recorded as it was given", async () => {
    for (const permission of ["allow", "ask"] as const)
      await withStore(open, async (store) => {
        const { agent, create, echo, policy } = setUp(store);
        await agent.run("Go", ids);
        policy.permission = permission;
        await createClient({ store }).session("s").answer(callKey, { type: "approve" }, { by: "ada" });
        const session = create().session("s");
        expect(await session.resume()).toMatchObject({ status: "completed" });
        expect(echo.inputs).toEqual([{ n: 1 }]);
        const [answered] = filterEventsOfType(await collect(session.events({ follow: false })), "approval_answered");
        expect(answered).toMatchObject({ answer: "approve", by: "ada" });
        expect(answered).not.toHaveProperty("overruled");
      });
  });
});

test("a policy that fails when it is asked again denies, and the failure is an event", async () => {
  const { agent, session, echo, policy } = setUp(createMemoryStore());
  await agent.run("Go", ids);
  policy.permission = 7 as never;
  await session.answer(callKey, { type: "approve" });
  await session.resume().catch(() => undefined);
  expect(echo.inputs).toEqual([]);
  const events = await collect(session.events({ follow: false }));
  expect(filterEventsOfType(events, "hook_failed")).toMatchObject([{ name: "canExecuteTool" }]);
  expect(filterEventsOfType(events, "tool_result")).toMatchObject([{ outcome: "denied" }]);
});

test("a denial that stops the run does so when it overrules an approval", async () => {
  const { agent, session, echo, policy } = setUp(createMemoryStore());
  await agent.run("Go", ids);
  policy.permission = { ...denial, stopRun: true };
  await session.answer(callKey, { type: "approve" });
  expect(await session.result()).toMatchObject({ status: "aborted" });
  expect(echo.inputs).toEqual([]);
});

test("the approval stays in the inbox while the policy is asked: a process that dies then loses nothing", async () => {
  const store = createMemoryStore();
  const { agent, create, echo, asked } = setUp(store);
  await agent.run("Go", ids);

  const begun = createDeferred();
  const never = new Promise<never>(() => {});
  const stuck = createAgent({
    model: createScriptedModel([{ text: "." }]),
    tools: [createEchoTool().tool],
    store,
    canExecuteTool() {
      begun.resolve();
      return never;
    },
  });
  await createClient({ store }).session("s").answer(callKey, { type: "approve" }, { by: "ada" });
  void stuck.session("s").resume();
  await begun.promise;
  expect(await store.inbox("s")).toHaveLength(1);
  expect((await store.load("s"))?.state).toMatchObject({ status: "awaiting_human" });
  expect(await collect(pendingApprovals(store))).toEqual([]);
  await stuck.session("s").leave({ graceMs: 0 });

  expect(await create().session("s").resume()).toMatchObject({ status: "completed" });
  expect(echo.inputs).toEqual([{ n: 1 }]);
  expect(asked).toHaveLength(2);
});

test("an approval that came in time counts although its question expires while the policy is asked", async () => {
  const clock = createTestClock();
  const store = createMemoryStore();
  const answer = createDeferred<Permission>();
  const again = createDeferred();
  let times = 0;
  const echo = createEchoTool();
  const agent = createAgent({
    model: createScriptedModel([{ calls: [{ name: "echo", input: { n: 1 } }] }, { text: "Done." }]),
    tools: [echo.tool],
    store,
    clock,
    canExecuteTool() {
      times += 1;
      if (times === 1) return { verdict: "ask", expiresInMs: 1_000 };
      again.resolve();
      return answer.promise;
    },
  });
  await agent.run("Go", ids);
  const session = agent.session("s");
  await clock.advance(900);
  await session.answer(callKey, { type: "approve" });
  await again.promise;
  const ended = session.resume();
  await clock.advance(5_000);
  answer.resolve("allow");
  expect(await ended).toMatchObject({ status: "completed" });
  expect(echo.inputs).toEqual([{ n: 1 }]);
});

test("an abort does not wait for the policy that is asked again", async () => {
  const store = createMemoryStore();
  const begun = createDeferred<AbortSignal>();
  let times = 0;
  const echo = createEchoTool();
  const agent = createAgent({
    model: createScriptedModel([{ calls: [{ name: "echo" }] }, { text: "Done." }]),
    tools: [echo.tool],
    store,
    canExecuteTool(_call, { signal }) {
      times += 1;
      if (times === 1) return "ask";
      begun.resolve(signal);
      return new Promise<never>(() => {});
    },
  });
  await agent.run("Go", ids);
  const session = agent.session("s");
  await session.answer(callKey, { type: "approve" });
  const signal = await begun.promise;
  const ended = session.resume();
  await session.abort();
  expect(await ended).toMatchObject({ status: "aborted" });
  expect(signal.aborted).toBe(true);
  expect(echo.inputs).toEqual([]);
});

test("somebody who says that a call in doubt runs again is overruled, and nobody knows how the call ended", async () => {
  const store = createMemoryStore();
  const model = createScriptedModel([{ calls: [{ name: "pay" }] }, { text: "Done." }]);
  const started = createDeferred();
  let permission: Permission = "allow";
  let runs = 0;
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    input: { type: "object" },
    recover: "ask",
    execute() {
      runs += 1;
      started.resolve();
      return new Promise<never>(() => {});
    },
  });
  const create = () => createAgent({ model, tools: [pay], store, canExecuteTool: () => permission });
  const first = create();
  void first.run("Go", ids);
  await started.promise;
  await first.session("s").leave({ graceMs: 0 });
  const session = create().session("s");
  expect(await session.resume()).toMatchObject({ status: "awaiting_human", approvals: [{ why: "recovery" }] });
  permission = denial;
  await session.answer(callKey, { type: "rerun" }, { by: "ada" });
  await session.resume().catch(() => undefined);
  expect(runs).toBe(1);
  const events = await collect(session.events({ follow: false }));
  expect(filterEventsOfType(events, "approval_answered")).toMatchObject([
    { answer: "fail", note: "the budget is frozen", overruled: { answer: "rerun", by: "ada" } },
  ]);
  expect(filterEventsOfType(events, "tool_result")).toMatchObject([{ outcome: "interrupted" }]);
});

test("a call whose result comes from outside is not handed out if the policy denies it by now", async () => {
  const outside = defineTool({ name: "outside", description: "Elsewhere.", input: { type: "object" } });
  const { agent, session, policy } = setUp(createMemoryStore(), {
    model: createScriptedModel([{ calls: [{ name: "outside" }] }, { text: "Done." }]),
    tools: [outside],
  });
  await agent.run("Go", ids);
  policy.permission = denial;
  await session.answer(callKey, { type: "approve" });
  await session.resume().catch(() => undefined);
  expect(await session.result()).toMatchObject({ status: "completed" });
  const asked = filterEventsOfType(await collect(session.events({ follow: false })), "approval_requested");
  expect(asked.map(({ why }) => why)).toEqual(["policy"]);
});

// A message that was taken and is neither checked nor committed kept the process from doing anything else.
test("an abort ends every check of a call, also if a store holds two approvals of it", async () => {
  const store = createMemoryStore();
  const signals: AbortSignal[] = [];
  const both = createDeferred();
  let times = 0;
  const agent = createAgent({
    model: createScriptedModel([{ calls: [{ name: "echo" }] }, { text: "Done." }]),
    tools: [createEchoTool().tool],
    store,
    canExecuteTool(_call, { signal }) {
      times += 1;
      if (times === 1) return "ask";
      signals.push(signal);
      if (signals.length === 2) both.resolve();
      return new Promise<never>(() => {});
    },
  });
  await agent.run("Go", ids);
  const session = agent.session("s");
  await session.answer(callKey, { type: "approve" });
  const [message] = await store.inbox("s");
  if (message === undefined) throw new Error("The approval is not in the inbox.");
  await store.post("s", { ...message, id: "another" });
  await both.promise;
  const ended = session.resume();
  await session.abort();
  expect(await ended).toMatchObject({ status: "aborted" });
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
});
