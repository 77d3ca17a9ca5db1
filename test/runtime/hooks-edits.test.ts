/**
 * A person's edit of a call, and the hooks: they see it again, as the rules that deny do, and what they make of it is asked about.
 */
import { expect, test } from "vitest";
import type { HookRecord } from "../../src/core/index.js";
import {
  type AgentOptions,
  createAgent,
  createMemoryStore,
  defineTool,
  type Hook,
  type HookSubject,
  type Json,
  type Permission,
} from "../../src/index.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { collect, filterEventsOfType } from "../support/agents.js";
import { verifies } from "../verifies.js";

type Amount = { readonly n: number };
const ids = { sessionId: "s", runId: "r" };

const asking: readonly ScriptedStep[] = [{ calls: [{ name: "pay", input: { n: 1 } }] }, { text: "Done." }];

/** An agent whose calls ask; what is above 100 is denied. */
function createScene(hooks: readonly Hook[], more: Partial<AgentOptions> = {}, script = asking) {
  const ran: unknown[] = [];
  const judged: unknown[] = [];
  const model = createScriptedModel(script);
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    input: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
    execute(input) {
      ran.push(input);
      return `paid ${JSON.stringify(input)}`;
    },
  });
  const canExecuteTool = ({ input }: { readonly input: Json }): Permission => {
    judged.push(input);
    return (input as Amount).n > 100 ? { verdict: "deny", reason: "over 100" } : "ask";
  };
  const store = createMemoryStore();
  const agent = createAgent({ model, tools: [pay], hooks, canExecuteTool, store, ...more });
  const session = agent.session("s");
  const shown = async () => JSON.stringify(model.requests.at(-1)?.messages.at(-1));
  /** The run's result, carried on until it ends or waits. */
  const go = () => agent.run("Go", ids);
  return { agent, session, store, ran, judged, model, shown, go };
}

/** Sees every input; those that a person gave too. */
function watching(
  seen: HookSubject<"beforeToolCall">[],
  change: (subject: HookSubject<"beforeToolCall">) => unknown = () => undefined,
): Hook {
  return {
    name: "watch",
    beforeToolCall(subject) {
      seen.push(subject);
      return change(subject) as undefined;
    },
  };
}

test(
  "hooks and the rules that deny see an edit again; it runs, and both versions are kept and shown",
  verifies("HITL-3#hooks", "SEC-6#edit"),
  async () => {
    const seen: HookSubject<"beforeToolCall">[] = [];
    const { go, session, store, ran, judged, shown, model } = createScene([watching(seen)]);
    await go();
    await session.answer("r/1/1", { type: "modify", input: { n: 2 } }, { by: "Ada" });
    expect(await go()).toMatchObject({ status: "completed", text: "Done." });
    expect(seen.map(({ input, isEdited, callKey }) => [callKey, input, isEdited])).toEqual([
      ["r/1/1", { n: 1 }, false],
      ["r/1/1", { n: 2 }, true],
    ]);
    expect(judged).toEqual([{ n: 1 }, { n: 2 }]);
    expect(ran).toEqual([{ n: 2 }]);
    expect(JSON.stringify(model.requests[1]?.messages.at(-2))).toContain('"input":{"n":1}');
    expect(await shown()).toContain('(A person changed the input to {\\"n\\":2}.)\\npaid');
    const events = await collect(session.events({ follow: false }));
    expect(filterEventsOfType(events, "tool_call").map(({ input }) => input)).toEqual([{ n: 1 }]);
    expect(filterEventsOfType(events, "approval_answered")).toMatchObject([
      { answer: "modify", input: { n: 2 }, by: "Ada" },
    ]);
    const records = (await store.read("s")).flatMap(({ event }): readonly HookRecord[] => event.hooks ?? []);
    expect(records.map(({ name, hook, outcome }) => `${name} ${hook} ${outcome}`)).toEqual([
      "watch beforeToolCall ok",
      "watch beforeToolCall ok",
    ]);
  },
);

test(
  "an edit is denied by the rules that deny, and blocked by a hook",
  verifies("HITL-3#hooks", "SEC-6#edit"),
  async () => {
    const denied = createScene([]);
    await denied.go();
    await denied.session.answer("r/1/1", { type: "modify", input: { n: 200 } });
    await denied.go();
    expect(denied.ran).toEqual([]);
    expect(await denied.shown()).toContain("Denied: over 100");

    const refuse: Hook = {
      name: "refuse",
      beforeToolCall: ({ input, isEdited }) => (isEdited ? { block: `not ${(input as Amount).n}` } : undefined),
    };
    const blocked = createScene([refuse]);
    await blocked.go();
    await blocked.session.answer("r/1/1", { type: "modify", input: { n: 2 } });
    await blocked.go();
    expect(blocked.ran).toEqual([]);
    expect(await blocked.shown()).toContain("Blocked: not 2");
  },
);

test("a hook may stop the run over an edit, and one that fails blocks it", verifies("HITL-3#hooks"), async () => {
  const stop: Hook = { name: "h", beforeToolCall: ({ isEdited }) => (isEdited ? { stop: "enough" } : undefined) };
  const stopped = createScene([stop]);
  await stopped.go();
  await stopped.session.answer("r/1/1", { type: "modify", input: { n: 2 } });
  expect(await stopped.go()).toMatchObject({ status: "aborted", reason: "hook_stopped" });

  const fail: Hook = {
    name: "h",
    beforeToolCall({ isEdited }) {
      if (isEdited) throw new Error("not today");
    },
  };
  const failed = createScene([fail]);
  await failed.go();
  await failed.session.answer("r/1/1", { type: "modify", input: { n: 2 } });
  expect((await failed.go()).status).toBe("completed");
  expect([stopped.ran, failed.ran]).toEqual([[], []]);
  expect(await failed.shown()).toContain("not today");
});

test(
  "what a hook makes of an edit is asked about again; its own hash is what is approved",
  verifies("HITL-3#hooks", "SEC-6#edit"),
  async () => {
    const seen: HookSubject<"beforeToolCall">[] = [];
    const halve = watching(seen, ({ input, isEdited }) =>
      isEdited ? { input: { n: (input as Amount).n / 2 } } : undefined,
    );
    const { go, session, ran, judged, shown } = createScene([halve]);
    await go();
    const before = (await session.pendingApprovals())[0];
    await session.answer("r/1/1", { type: "modify", input: { n: 10 } });
    expect(await go()).toMatchObject({
      status: "awaiting_human",
      approvals: [{ callKey: "r/1/1", input: { n: 5 }, question: expect.stringContaining("hook changed") }],
    });
    expect(ran).toEqual([]);
    // The rules that deny have seen what would run.
    expect(judged).toEqual([{ n: 1 }, { n: 5 }]);
    const now = (await session.pendingApprovals())[0];
    expect(now?.inputHash).not.toBe(before?.inputHash);
    await expect(
      session.answer("r/1/1", { type: "approve" }, { inputHash: before?.inputHash ?? "" }),
    ).rejects.toMatchObject({ code: "bad_input" });
    await session.answer("r/1/1", { type: "approve" }, { inputHash: now?.inputHash ?? "" });
    expect((await go()).status).toBe("completed");
    expect(ran).toEqual([{ n: 5 }]);
    // An approval changes nothing: hooks are not asked about it.
    expect(seen.map(({ input }) => input)).toEqual([{ n: 1 }, { n: 10 }]);
    expect(await shown()).toContain('{\\"n\\":5}');
  },
);

test("what a hook makes of an edit that does not fit goes back to the person", verifies("HITL-3#hooks"), async () => {
  const spoil: Hook = {
    name: "h",
    beforeToolCall: ({ isEdited }) => (isEdited ? { input: { n: "much" } } : undefined),
  };
  const { go, session, ran } = createScene([spoil]);
  await go();
  await session.answer("r/1/1", { type: "modify", input: { n: 2 } });
  expect(await go()).toMatchObject({
    status: "awaiting_human",
    approvals: [{ input: { n: 1 }, question: expect.stringContaining("cannot be used") }],
  });
  await session.answer("r/1/1", { type: "deny" });
  expect((await go()).status).toBe("completed");
  expect(ran).toEqual([]);
});

test(
  "a hook that hangs over an edit is asked again by whoever carries the session on",
  verifies("HITL-3#hooks"),
  async () => {
    const store = createMemoryStore();
    const hang: Hook = {
      name: "h",
      beforeToolCall: ({ isEdited }) => (isEdited ? new Promise<undefined>(() => {}) : undefined),
    };
    const first = createScene([hang], { store });
    await first.go();
    await first.session.answer("r/1/1", { type: "modify", input: { n: 2 } });
    const left = first.go();
    await expect.poll(async () => (await store.load("s"))?.state.status).toBe("tool_running");
    await first.agent.shutdown({ graceMs: 0 });
    expect((await left).status).toBe("interrupted");
    expect(first.ran).toEqual([]);

    const seen: HookSubject<"beforeToolCall">[] = [];
    const second = createScene([watching(seen)], { store }, [{ text: "Done." }]);
    expect((await second.go()).status).toBe("completed");
    expect(seen).toMatchObject([{ input: { n: 2 }, isEdited: true }]);
    expect(second.ran).toEqual([{ n: 2 }]);
  },
);
