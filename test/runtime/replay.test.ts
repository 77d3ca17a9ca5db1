/**
 * Replays of sessions: what the present code and agent make of a recorded log.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Entry, Event } from "../../src/core/index.js";
import { type AgentOptions, createAgent, createMemoryStore, defineTool, type Store } from "../../src/index.js";
import { createReplayModel, recordModel } from "../../src/models/index.js";
import { createScriptedModel, type Script } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { createGateTool } from "../support/agents.js";
import { verifies } from "../verifies.js";

const proven = verifies("REC-6#replay");

const numbers = {
  type: "object",
  properties: { a: { type: "number" } },
  required: ["a"],
} as const;

/** Does nothing that a test could not see. */
function createWorld() {
  const did: string[] = [];
  const act = (name: string, more: object = {}) =>
    defineTool({
      name,
      description: name,
      input: numbers,
      execute: () => {
        did.push(name);
        return `${name} did it`;
      },
      ...more,
    });
  return { did, act };
}

type Changes = Partial<AgentOptions>;

/** An agent that records, and the same agent later, with changes. */
function agents(script: Script, first: Changes) {
  const store = createMemoryStore();
  const recorder = createAgent({ model: createScriptedModel(script), store, ...first });
  const later = (changes: Changes = {}) =>
    createAgent({
      ...first,
      model: createScriptedModel(() => {
        throw new Error("no model is called in a replay");
      }),
      store,
      ...changes,
    });
  return { store, recorder, later };
}

const calling = (...names: readonly string[]): Script => [
  { calls: names.map((name) => ({ name, input: { a: 1 } })) },
  { text: "Done." },
];

/** A store that holds this log, as another version of the code might have left it. */
async function storeOf(store: Store, change: (entry: Entry) => Event): Promise<Store> {
  const entries = await store.read("s");
  return {
    ...store,
    read: async (_, after = 0) => entries.slice(after).map((entry) => ({ ...entry, event: change(entry) })),
  };
}

describe("a replay", proven, () => {
  test("touches nothing: no model, no tool, no word in the store", async () => {
    const { did, act } = createWorld();
    const { store, recorder, later } = agents(calling("pay", "look"), {
      tools: [act("pay"), act("look", { readOnly: true })],
    });
    await recorder.run("Go", { sessionId: "s" });
    const before = { log: await store.read("s"), loaded: await store.load("s"), list: await store.list() };
    expect(await later().session("s").replay()).toEqual({
      sessionId: "s",
      entries: before.log.length,
      sessions: 1,
      difference: null,
    });
    expect(did).toEqual(["pay", "look"]);
    expect({ log: await store.read("s"), loaded: await store.load("s"), list: await store.list() }).toEqual(before);
  });

  test("tells the first entry at which a stricter schema would have refused what ran", async () => {
    const { act } = createWorld();
    const { recorder, later } = agents(calling("pay"), { tools: [act("pay")] });
    await recorder.run("Go", { sessionId: "s" });
    const stricter = { ...numbers, required: ["a", "b"] };
    const { difference } = await later({ tools: [act("pay", { input: stricter })] })
      .session("s")
      .replay({ prompt: "recorded" });
    expect(difference).toMatchObject({
      sessionId: "s",
      event: "tool_decided",
      path: "decision.verdict",
      recorded: "allow",
      present: "reject",
    });
    expect(difference?.message).toContain("Entry 5 (tool_decided)");
  });

  test.each<[string, Changes, string, unknown, unknown]>([
    ["a policy that asks", { canExecuteTool: () => "ask" }, "decision.verdict", "allow", "ask"],
    [
      "a policy that throws",
      { canExecuteTool: () => Promise.reject(new Error("x")) },
      "decision.verdict",
      "allow",
      "deny",
    ],
    ["a tool that is gone", { tools: [] }, "decision.verdict", "allow", "reject"],
    [
      "a tool that recovers otherwise",
      { tools: [createWorld().act("pay", { recover: "ask" })] },
      "decision.policy.recover",
      "fail",
      "ask",
    ],
    [
      "a tool that needs an approval now",
      { tools: [createWorld().act("pay", { needsApproval: true })] },
      "decision.verdict",
      "allow",
      "ask",
    ],
  ])("tells of %s", async (_, changes, path, recorded, present) => {
    const { recorder, later } = agents(calling("pay"), { tools: [createWorld().act("pay")] });
    await recorder.run("Go", { sessionId: "s" });
    const { difference } = await later(changes).session("s").replay({ prompt: "recorded" });
    expect(difference).toMatchObject({ event: "tool_decided", path, recorded, present });
  });

  test("takes a policy's word from the recording where it is asked to", async () => {
    const tools = [createWorld().act("pay")];
    const { recorder, later } = agents(calling("pay"), { tools });
    await recorder.run("Go", { sessionId: "s" });
    const other = later({ canExecuteTool: () => "ask" }).session("s");
    expect((await other.replay()).difference).not.toBeNull();
    expect((await other.replay({ policy: "recorded" })).difference).toBeNull();
  });

  test("tells of retries that are no more, and takes their waits as they were", async () => {
    const clock = createTestClock();
    const failing = { error: { kind: "overloaded", message: "529", statusCode: 529 } } as const;
    const { recorder, later } = agents([failing, failing, { text: "There." }], { clock });
    const run = recorder.run("Go", { sessionId: "s" });
    await clock.runUntilIdle();
    expect(await run).toMatchObject({ status: "completed" });
    expect((await later().session("s").replay()).difference).toBeNull();
    const { difference } = await later({ retry: { maxRetries: 1 } })
      .session("s")
      .replay();
    expect(difference).toMatchObject({
      event: "model_failed",
      path: "next.type",
      recorded: "retry",
      present: "give_up",
    });
  });

  test("goes through what a message cannot be put together from again", async () => {
    const raw = "x".repeat(600_000);
    const script: Script = [
      {
        calls: [
          { name: "pay", raw: '{"a": ' },
          { name: "pay", raw },
          { name: "none", input: {} },
        ],
      },
      { reasoning: "Hm." },
      { text: "Done." },
    ];
    const { recorder, later } = agents(script, { tools: [createWorld().act("pay")] });
    await recorder.run("Go", { sessionId: "s" });
    expect((await later().session("s").replay()).difference).toBeNull();
  });
});

describe("in a replay", proven, () => {
  test("people say what they said, where they said it: approvals, edits, denials, results from outside", async () => {
    const { act } = createWorld();
    const tools = [
      act("one", { needsApproval: true }),
      act("two", { needsApproval: true }),
      act("three", { needsApproval: true }),
      { name: "outside", description: "outside", input: numbers },
    ];
    const { recorder, later } = agents(calling("one", "two", "three", "outside"), { tools });
    await recorder.run("Go", { sessionId: "s", runId: "r" });
    const session = recorder.session("s");
    await session.answer("r/1/2", { type: "deny", note: "too dear" }, { by: "Ada" });
    await session.answer("r/1/1", { type: "modify", input: { a: 2 } }, { by: "Ada" });
    await session.answer("r/1/3", { type: "modify", input: { a: 3 } }, { by: "Bob" });
    await session.provideResult("r/1/4", "given");
    expect(await recorder.run("Go", { sessionId: "s", runId: "r" })).toMatchObject({ status: "completed" });
    expect((await later().session("s").replay()).difference).toBeNull();
  });

  test("steers, queued runs and aborts come where they came", async () => {
    const gate = createGateTool();
    const script: Script = ({ runId, modelCallIndex }) =>
      modelCallIndex === 1 && runId !== "next" ? { calls: [{ name: "gate" }] } : { text: "Done." };
    const { recorder, later } = agents(script, { tools: [gate.tool], limits: { abortGraceMs: 0 } });
    const run = recorder.run("Go", { sessionId: "s", runId: "r" });
    await gate.started;
    const session = recorder.session("s");
    await session.send("Then this.", { runId: "next" });
    await session.steer("And mind that.");
    gate.open("open");
    await run;
    await recorder.run("Then this.", { sessionId: "s", runId: "next" });
    const last = recorder.run("Once more.", { sessionId: "s", runId: "last" });
    await session.abort({ note: "enough" });
    expect((await last).status).toMatch(/aborted|completed/);
    expect((await later().session("s").replay()).difference).toBeNull();
  });

  test("a session under way, and one that was cut off in a tool, replay as far as they go", async () => {
    const gate = createGateTool();
    const { store, recorder, later } = agents([{ calls: [{ name: "gate" }] }, { text: "After." }], {
      tools: [gate.tool],
    });
    const run = recorder.run("Go", { sessionId: "s" });
    await gate.started;
    expect(await later().session("s").replay()).toMatchObject({ difference: null });
    await recorder.shutdown({ graceMs: 0 });
    expect((await run).status).toBe("interrupted");
    const next = createAgent({ model: createScriptedModel([{ text: "After." }]), tools: [gate.tool], store });
    await next.session("s").resume();
    const replay = await later().session("s").replay();
    expect(replay.difference).toBeNull();
    expect((await store.read("s")).map(({ event }) => event.type)).toContain("restarted");
  });

  test("children are replayed with the agents behind the tools of today", async () => {
    const { act } = createWorld();
    const delegate = { calls: [{ name: "researcher", input: { task: "Look it up" } }] };
    const researcher = (options: object = {}, script: Script = calling("look")) =>
      createAgent({ name: "researcher", model: createScriptedModel(script), tools: [act("look")], ...options }).asTool({
        description: "Researches.",
      });
    const { recorder, later } = agents([delegate, { text: "It is so." }], { tools: [researcher()] });
    await recorder.run("Explain", { sessionId: "s" });
    expect(await later().session("s").replay()).toMatchObject({ sessions: 2, difference: null });
    const other = later({ tools: [researcher({ canExecuteTool: () => "deny" }, [])] }).session("s");
    const { difference } = await other.replay();
    expect(difference).toMatchObject({ event: "tool_decided", path: "decision.verdict", present: "deny" });
    expect(difference?.sessionId).not.toBe("s");
    const fork = await recorder.session("s").fork();
    expect(await later().session(fork.id).replay()).toMatchObject({ sessions: 1, difference: null });
  });

  test("a fork replays with what it was forked from", async () => {
    const gate = createGateTool();
    const { recorder, later, store } = agents([{ calls: [{ name: "gate" }] }, { text: "There." }], {
      tools: [gate.tool],
    });
    const run = recorder.run("Go", { sessionId: "s" });
    await gate.started;
    gate.open("open");
    await run;
    const log = await store.read("s");
    for (const { seq } of log) {
      const fork = await recorder.session("s").fork({ at: seq });
      expect((await later().session(fork.id).replay()).difference, `fork at ${seq}`).toBeNull();
    }
  });

  test("a model that replays a recording compares what it is asked", async () => {
    const folder = mkdtempSync(join(tmpdir(), "pawl-replay-"));
    try {
      const path = join(folder, "calls.jsonl");
      const options = { tools: [createWorld().act("pay")], systemPrompt: "Be brief." };
      const { recorder, later } = agents([], options);
      await recorder
        .with({ model: recordModel(createScriptedModel(calling("pay")), { path }) })
        .run("Go", { sessionId: "s" });
      const replay = (changes: Changes) =>
        later(changes)
          .session("s")
          .replay({ model: createReplayModel(path), prompt: "recorded" });
      expect((await replay({})).difference).toBeNull();
      const { difference } = await replay({ tools: [createWorld().act("pay", { description: "Pays." })] });
      expect(difference).toBeNull();
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("a log that the present code would not have written", proven, () => {
  async function replayOf(change: (entry: Entry) => Event) {
    const tools = [createWorld().act("pay")];
    const { store, recorder } = agents(calling("pay", "pay"), { tools });
    await recorder.run("Go", { sessionId: "s" });
    const model = createScriptedModel([]);
    return (
      await createAgent({ model, tools, store: await storeOf(store, change) })
        .session("s")
        .replay()
    ).difference;
  }

  test("an entry that cannot happen there any more", async () => {
    const difference = await replayOf(({ event }) =>
      event.type === "model_finished" ? { ...event, attempt: 7 } : event,
    );
    expect(difference).toMatchObject({ seq: 4, event: "model_finished", path: "" });
    expect(difference?.message).toContain("Wanted there: call_model");
  });

  test("another system prompt than it names, unless that is left aside", async () => {
    const tools = [createWorld().act("pay")];
    const { store, recorder } = agents(calling("pay"), { tools });
    await recorder.run("Go", { sessionId: "s" });
    const promptHash = await store.putBlob("s", Buffer.from("Be long."));
    const named = await storeOf(store, ({ event }) => (event.type === "prepared" ? { ...event, promptHash } : event));
    const session = createAgent({ model: createScriptedModel([]), tools, store: named }).session("s");
    expect((await session.replay()).difference).toMatchObject({ seq: 3, path: "promptHash", recorded: promptHash });
    expect((await session.replay({ prompt: "recorded" })).difference).toBeNull();
  });

  test("another end than what follows", async () => {
    const difference = await replayOf(({ event }) =>
      event.type === "run_finished" ? { ...event, reason: "done" } : event,
    );
    expect(difference).toMatchObject({ event: "run_finished", path: "reason", recorded: "done", present: "stop" });
  });

  test("a log that ends where something has to follow, and a state that is not its own", async () => {
    const gate = createGateTool();
    const { store, recorder } = agents([{ calls: [{ name: "gate" }] }], { tools: [gate.tool] });
    const run = recorder.run("Go", { sessionId: "s", runId: "r" });
    await gate.started;
    await recorder.session("s").abort();
    gate.open("open");
    await run;
    const agent = (changed: Partial<Store>) =>
      createAgent({ model: createScriptedModel([]), tools: [gate.tool], store: { ...store, ...changed } });
    const entries = await store.read("s");
    const short = agent({ read: async (_, after = 0) => entries.slice(after, -1) });
    expect((await short.session("s").replay()).difference).toMatchObject({
      seq: entries.length,
      event: null,
      present: { type: "run_finished", reason: "aborted" },
    });
    const other = agent({
      load: async (id) => {
        const loaded = await store.load(id);
        return loaded === null ? null : { ...loaded, state: { ...loaded.state, context: { readFrom: 3 } } };
      },
    });
    expect((await other.session("s").replay()).difference).toMatchObject({
      path: "context.readFrom",
      recorded: 3,
      present: 1,
    });
  });

  test("a session that is not there, or another agent's, is refused", async () => {
    const { recorder, store } = agents(calling(), { name: "one" });
    await recorder.run("Go", { sessionId: "s" });
    await expect(recorder.session("none").replay()).rejects.toMatchObject({ code: "no_session" });
    const other = createAgent({ name: "two", model: createScriptedModel([]), store });
    await expect(other.session("s").replay()).rejects.toMatchObject({ code: "agent_mismatch" });
  });
});
