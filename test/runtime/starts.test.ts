/**
 * What waits on the way to a start looks once more, directly before a tool or a model is called: whether the run goes on,
 * whether its commits were durable, and whether the session is still held here.
 */
import { describe, expect, test } from "vitest";
import {
  type AgentOptions,
  createAgent,
  createMemoryStore,
  type Hook,
  type Session,
  type Store,
  type Tool,
} from "../../src/index.js";
import { createScriptedModel, type Script } from "../../src/testing/scripted-model.js";
import { createTestClock, settled } from "../../src/testing/test-clock.js";
import { createDeferred, createGateTool, type Deferred } from "../support/agents.js";
import { verifies } from "../verifies.js";

/** A call of `guarded`, and one of `gate` beside it if the test has that tool. */
const script: Script = ({ messages, tools }) => {
  if (messages.some(({ role }) => role === "tool")) return { text: "Done." };
  const beside = tools.some(({ name }) => name === "gate") ? [{ name: "gate" }] : [];
  return { calls: [{ name: "guarded", input: { n: 1 } }, ...beside] };
};

/** A tool that needs an approval, and whose schema looks its input up elsewhere: `held` holds the answer of a look. */
function createGuarded() {
  const ran: string[] = [];
  const held: { now: Deferred | null } = { now: null };
  const looking = createDeferred();
  const tool: Tool = {
    name: "guarded",
    description: "Asks first.",
    needsApproval: true,
    input: {
      jsonSchema: { type: "object" },
      async validate(value) {
        if (held.now !== null) {
          looking.resolve();
          await held.now.promise;
        }
        return { success: true, value };
      },
    },
    execute(_input, { idempotencyKey }) {
      ran.push(idempotencyKey);
      return "ran";
    },
  };
  return { tool, ran, held, looking: looking.promise };
}

type Guarded = ReturnType<typeof createGuarded>;

/** A process that does not know what the first one has validated takes the approved call up, and waits for its schema. */
async function comeToStart(first: Session, second: Session, guarded: Guarded) {
  const gate = createDeferred();
  const [asked] = await first.pendingApprovals();
  guarded.held.now = gate;
  await second.answer(asked?.callKey ?? "", { type: "approve" });
  const result = second.resume();
  await guarded.looking;
  return { result, letStart: gate.resolve };
}

describe("a tool whose input is checked for long", () => {
  const build = (options: Partial<AgentOptions>) => createAgent({ model: createScriptedModel(script), ...options });

  test("does not start in a process whose lease is over", verifies("REC-1"), async () => {
    const clock = createTestClock();
    const store = createMemoryStore();
    const guarded = createGuarded();
    const parts = { store, clock, tools: [guarded.tool] };
    const first = build(parts);
    await first.run("Go", { sessionId: "s" });
    const sleepy = build(parts).session("s");
    const { result, letStart } = await comeToStart(first.session("s"), sleepy, guarded);
    // The process sleeps, and another one takes the session over. The call may not run again, so it is in doubt.
    clock.jump(60_000);
    expect(await build(parts).session("s").resume()).toMatchObject({ status: "completed", text: "Done." });
    letStart();
    await settled();
    expect(guarded.ran).toEqual([]);
    expect(await result).toMatchObject({ sessionId: "s" });
  });

  test("starts in a process that has slept, if nobody else took the session", verifies("REC-1"), async () => {
    const clock = createTestClock();
    const inner = createMemoryStore();
    let renewals = 0;
    const store: Store = {
      ...inner,
      renew(...options) {
        renewals += 1;
        return inner.renew(...options);
      },
    };
    const guarded = createGuarded();
    const parts = { store, clock, tools: [guarded.tool] };
    const first = build(parts);
    await first.run("Go", { sessionId: "s" });
    const { result, letStart } = await comeToStart(first.session("s"), build(parts).session("s"), guarded);
    clock.jump(60_000);
    renewals = 0;
    letStart();
    expect(await result).toMatchObject({ status: "completed", text: "Done." });
    expect(guarded.ran).toHaveLength(1);
    expect(renewals).toBe(1);
  });

  test("does not start once a commit of its session has failed", verifies("REC-2"), async () => {
    const inner = createMemoryStore();
    let fails = false;
    const store: Store = {
      ...inner,
      commit: (lease, commit) => (fails ? Promise.reject(new Error("disk full")) : inner.commit(lease, commit)),
    };
    const guarded = createGuarded();
    const gate = createGateTool();
    const parts = { store, tools: [guarded.tool, gate.tool], limits: { toolConcurrency: 2 } };
    const first = build(parts);
    const running = first.run("Go", { sessionId: "s" });
    await gate.started;
    await settled();
    // An edited input is checked again before it runs.
    const session = first.session("s");
    const [asked] = await session.pendingApprovals();
    const checked = createDeferred();
    guarded.held.now = checked;
    await session.answer(asked?.callKey ?? "", { type: "modify", input: { n: 2 } });
    await guarded.looking;
    const second = createDeferred();
    guarded.held.now = second;
    checked.resolve();
    await settled();
    fails = true;
    gate.open("opened");
    expect(await running).toMatchObject({ status: "interrupted", reason: "store_failed" });
    second.resolve();
    await settled();
    expect(guarded.ran).toEqual([]);
  });

  test("does not start in a run that was aborted, and the run does not wait for it", verifies("REC-8"), async () => {
    const store = createMemoryStore();
    const guarded = createGuarded();
    const parts = { store, tools: [guarded.tool] };
    const first = build(parts);
    await first.run("Go", { sessionId: "s" });
    const session = build(parts).session("s");
    const { result, letStart } = await comeToStart(first.session("s"), session, guarded);
    await session.abort();
    letStart();
    expect(await result).toMatchObject({ status: "aborted" });
    expect(guarded.ran).toEqual([]);
    expect(JSON.stringify(await session.messages())).toContain("Aborted before it started. The call was not run.");
  });
});

test(
  "a tool whose message list is read for long does not start in a run that was aborted meanwhile",
  verifies("REC-8"),
  async () => {
    const inner = createMemoryStore();
    const asked = createDeferred();
    const given = createDeferred();
    const store: Store = {
      ...inner,
      async getBlob(...place) {
        asked.resolve();
        await given.promise;
        return inner.getBlob(...place);
      },
    };
    const guarded = createGuarded();
    const list: Hook = {
      name: "list",
      beforeLLMCall: ({ messages }) => ({
        messages: [{ role: "user", parts: [{ type: "text", text: "Long. ".repeat(200) }] }, ...messages],
      }),
    };
    const parts = { tools: [guarded.tool], hooks: [list] };
    const model = createScriptedModel(script);
    const first = createAgent({ ...parts, model, store: inner });
    await first.run("Go", { sessionId: "s" });
    const [question] = await first.session("s").pendingApprovals();
    // The next process has to read what the model was sent, which the tool may ask for.
    const second = createAgent({ ...parts, model, store }).session("s");
    await second.answer(question?.callKey ?? "", { type: "approve" });
    const result = second.resume();
    await asked.promise;
    await second.abort();
    given.resolve();
    expect(await result).toMatchObject({ status: "aborted" });
    expect(guarded.ran).toEqual([]);
  },
);

test(
  "a model whose prompt is read for long is not called in a process whose lease is over",
  verifies("REC-1"),
  async () => {
    const clock = createTestClock();
    const inner = createMemoryStore();
    const failing = createScriptedModel([{ error: { kind: "overloaded", message: "529", statusCode: 529 } }]);
    const first = createAgent({ model: failing, systemPrompt: "The first prompt.", store: inner, clock });
    const running = first.run("Go", { sessionId: "s" });
    await settled();
    await first.shutdown({ graceMs: 0 });
    expect(await running).toMatchObject({ status: "interrupted" });
    // The next process has another prompt, and has to read the one that the log names.
    const asked = createDeferred();
    const given = createDeferred();
    const store: Store = {
      ...inner,
      async getBlob(sessionId, hash) {
        asked.resolve();
        await given.promise;
        return inner.getBlob(sessionId, hash);
      },
    };
    const sleepyModel = createScriptedModel([{ text: "Too late." }]);
    const sleepy = createAgent({ model: sleepyModel, systemPrompt: "The second prompt.", store, clock });
    clock.jump(60_000);
    const result = sleepy.session("s").resume();
    await clock.advance(0);
    await asked.promise;
    clock.jump(60_000);
    const model = createScriptedModel([{ text: "Done." }]);
    const third = createAgent({ model, systemPrompt: "The first prompt.", store: inner, clock });
    expect(await third.session("s").resume()).toMatchObject({ status: "completed", text: "Done." });
    given.resolve();
    expect(await result).toMatchObject({ sessionId: "s" });
    expect(sleepyModel.requests).toEqual([]);
  },
);
