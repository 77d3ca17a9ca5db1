/**
 * Hooks that start runs themselves, hooks after a compaction, and what the log keeps of each.
 */
import { describe, expect, test } from "vitest";
import type { HookPoint } from "../../src/core/index.js";
import { summaryMessage } from "../../src/core/index.js";
import {
  type Agent,
  createAgent,
  createMemoryStore,
  type Hook,
  type HookSubject,
  type RunResult,
} from "../../src/index.js";
import { hookPoints } from "../../src/runtime/agent/compile-hooks.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { collect, createDeferred, createEchoTool, filterEventsOfType } from "../support/agents.js";
import { createWatchedClock } from "../support/clock.js";
import { writeCompactedSession } from "../support/compacted-session.js";
import { verifies } from "../verifies.js";

const reached = hookPoints.filter((point) => point !== "beforeCompaction" && point !== "onCompacted");

const script: readonly ScriptedStep[] = [
  { error: { kind: "overloaded", message: "busy" } },
  { calls: [{ name: "echo", input: { n: 1 } }] },
  { text: "Done." },
];

/** An agent whose hook does something once, the first time that it is called at a point. */
function startWith(point: HookPoint, act: (agent: Agent) => unknown) {
  const clock = createWatchedClock();
  const called = createDeferred();
  let calls = 0;
  const hook: Hook = {
    name: "again",
    [point]: () => {
      calls += 1;
      called.resolve();
      return calls === 1 ? act(agent) : undefined;
    },
  };
  const agent: Agent = createAgent({
    model: createScriptedModel(({ messages, attempt }) => {
      const said = messages.filter(({ role }) => role === "assistant").length;
      return (said === 0 && attempt > 1 ? script[1] : script[said === 0 ? 0 : 2]) ?? { text: "Done." };
    }),
    tools: [createEchoTool().tool],
    hooks: [hook],
    retry: { decide: () => ({ retryInMs: 0 }) },
    clock,
    store: createMemoryStore(),
  });
  /** Time goes on until the run is over. */
  async function play(): Promise<RunResult> {
    let isOver = false;
    const run = agent.run("Go", { sessionId: "s", runId: "r" });
    void run.finally(() => {
      isOver = true;
    });
    await called.promise;
    while (!isOver) await clock.advance(1_000);
    return run;
  }
  return { agent, play, called: called.promise };
}

describe("a hook that starts a run", () => {
  test.each(reached)("of its own session at %s, and waits for it, is cut off; both runs end", async (point) => {
    let inner: Promise<RunResult> | undefined;
    const { agent, play } = startWith(point, (own) => {
      inner = own.run("Again", { sessionId: "s", runId: "inner" });
      return inner;
    });
    const result = await play();
    const events = await collect(agent.session("s").events({ follow: false }));
    expect(filterEventsOfType(events, "hook_failed")).toMatchObject([
      { name: "again", hook: point, outcome: "timed_out" },
    ]);
    // A guard that fails trips.
    const isGuard = point === "besideLLMCall";
    expect(result).toMatchObject(
      isGuard ? { status: "failed", reason: "refused" } : { status: "completed", text: "Done." },
    );
    expect(await inner).toMatchObject({ status: "completed", runId: "inner" });
    expect(filterEventsOfType(events, "run_started").map(({ runId }) => runId)).toEqual(["r", "inner"]);
  });

  test.each(reached)("of its own session at %s, and does not wait, queues it", async (point) => {
    let inner: Promise<RunResult> | undefined;
    const { agent, play } = startWith(point, (own) => {
      inner = own.run("Again", { sessionId: "s", runId: "inner" });
      return undefined;
    });
    expect(await play()).toMatchObject({ status: "completed", text: "Done." });
    expect(await inner).toMatchObject({ status: "completed", runId: "inner" });
    const events = await collect(agent.session("s").events({ follow: false }));
    expect(filterEventsOfType(events, "hook_failed")).toEqual([]);
  });

  test.each(reached)("of another session at %s may wait for it", async (point) => {
    const inner: RunResult[] = [];
    const { agent, play } = startWith(point, async (own) => {
      inner.push(await own.run("Elsewhere", { sessionId: "other" }));
    });
    expect(await play()).toMatchObject({ status: "completed", text: "Done." });
    expect(inner).toMatchObject([{ status: "completed", sessionId: "other" }]);
    const events = await collect(agent.session("s").events({ follow: false }));
    expect(filterEventsOfType(events, "hook_failed")).toEqual([]);
  });
});

test("hooks are told of a compaction, once, before the step that comes after it", verifies("HOOK-1"), async () => {
  const store = createMemoryStore();
  await writeCompactedSession(store);
  const told: (HookSubject<"onCompacted"> | string)[] = [];
  const hooks: readonly Hook[] = [
    {
      name: "a",
      onCompacted: (subject) => void told.push(subject),
      beforeLLMCall: ({ messages }) => void told.push(JSON.stringify(messages[0]?.parts)),
    },
    { name: "b", onCompacted: () => void told.push("b") },
  ];
  const model = createScriptedModel([{ calls: [{ name: "echo", input: { n: 1 } }] }, { text: "Two." }]);
  const agent = createAgent({ model, tools: [createEchoTool().tool], hooks, store });
  expect(await agent.session("s").resume()).toMatchObject({ status: "completed", text: "Two." });
  const shown = JSON.stringify(summaryMessage("One was said.").parts);
  expect(told).toEqual([{ summary: "One was said.", tokensBefore: 90, tokensAfter: 9 }, "b", shown, shown]);
  const records = (await store.read("s")).flatMap(({ event }) => event.hooks ?? []);
  expect(records.filter(({ hook }) => hook === "onCompacted")).toMatchObject([
    { name: "a", outcome: "ok" },
    { name: "b", outcome: "ok" },
  ]);
});

test("a hook that fails after a compaction does what its onFailure says", verifies("HOOK-3"), async () => {
  const broken = (onFailure: "open" | "closed"): Hook => ({
    name: "h",
    onFailure,
    onCompacted() {
      throw new Error("broken");
    },
  });
  const open = createMemoryStore();
  await writeCompactedSession(open);
  const model = createScriptedModel([{ text: "Two." }]);
  const goesOn = createAgent({ model, hooks: [broken("open")], store: open });
  expect(await goesOn.session("s").resume()).toMatchObject({ status: "completed", text: "Two." });
  const closed = createMemoryStore();
  await writeCompactedSession(closed);
  const ends = createAgent({ model: createScriptedModel([]), hooks: [broken("closed")], store: closed });
  expect(await ends.session("s").resume()).toMatchObject({ status: "failed", reason: "hook_failed" });
});

test("how long each hook took, and what came of it, is in the log", verifies("HOOK-6"), async () => {
  const clock = createWatchedClock();
  const store = createMemoryStore();
  await writeCompactedSession(store);
  const taking = (ms: number, answer?: object) => () =>
    new Promise<undefined>((resolve) => clock.after(ms, () => resolve(answer as undefined)));
  const hook: Hook = {
    name: "slow",
    beforeRun: taking(1),
    beforeStep: taking(2),
    beforeLLMCall: taking(3, { systemPrompt: "Slowly." }),
    afterLLMCall: taking(4),
    onError: taking(5),
    beforeToolCall: taking(6),
    afterToolCall: taking(7, { output: "slow" }),
    afterStep: taking(8, { more: true }),
    beforeStop: taking(9),
    onCompacted: taking(10),
    afterRun: taking(11),
  };
  const model = createScriptedModel([{ text: "Two." }, ...script]);
  const retry = { decide: () => ({ retryInMs: 0 }) };
  const agent = createAgent({ model, tools: [createEchoTool().tool], hooks: [hook], retry, clock, store });
  let isOver = false;
  const play = agent
    .session("s")
    .resume()
    .then(() => agent.run("Third", { sessionId: "s" }))
    .finally(() => {
      isOver = true;
    });
  while (!isOver) await clock.advance(1);
  expect(await play).toMatchObject({ status: "completed", text: "Done." });
  const records = (await store.read("s")).flatMap(({ event }) => event.hooks ?? []);
  const seen = new Map(records.map(({ hook: point, ms, outcome }) => [point, `${ms} ms ${outcome}`]));
  expect(Object.fromEntries(seen)).toEqual({
    beforeRun: "1 ms ok",
    beforeStep: "2 ms ok",
    beforeLLMCall: "3 ms changed",
    afterLLMCall: "4 ms ok",
    onError: "5 ms ok",
    beforeToolCall: "6 ms ok",
    afterToolCall: "7 ms changed",
    afterStep: "8 ms refused",
    beforeStop: "9 ms ok",
    onCompacted: "10 ms ok",
    afterRun: "11 ms ok",
  });
});
