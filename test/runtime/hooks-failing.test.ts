/**
 * Hooks that fail: nothing that they do corrupts or stops a run beyond what `onFailure` says.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createMemoryStore, type Hook, type StreamItem } from "../../src/index.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { collect, createDeferred, createEchoTool, filterEventsOfType } from "../support/agents.js";
import { createWatchedClock } from "../support/clock.js";
import { verifies } from "../verifies.js";

const calling: readonly ScriptedStep[] = [{ calls: [{ name: "echo", input: { n: 1 } }] }, { text: "Done." }];

function start(hooks: readonly Hook[]) {
  const clock = createWatchedClock();
  const echo = createEchoTool();
  const store = createMemoryStore();
  const agent = createAgent({
    model: createScriptedModel(calling),
    tools: [echo.tool],
    hooks,
    clock,
    store,
  });
  const run = agent.runStream("Go", { sessionId: "s" });
  return { run, clock, inputs: echo.inputs, store, agent };
}

const anything = (value: unknown) => value as undefined;
const never = () => new Promise<undefined>(() => {});

test("what a hook may not return is refused with an event", verifies("HOOK-2"), async () => {
  const { run } = start([{ name: "chatty", beforeStep: () => anything({ systemPrompt: "?" }) }]);
  const items = await collect(run);
  expect((await run.result).status).toBe("completed");
  expect(filterEventsOfType(items, "hook_failed")).toMatchObject([
    { name: "chatty", hook: "beforeStep", outcome: "refused" },
    { name: "chatty", hook: "beforeStep", outcome: "refused" },
  ]);
});

test("what a hook gets is frozen", verifies("HOOK-2"), async () => {
  const spoil: Hook = {
    name: "spoil",
    onFailure: "open",
    beforeToolCall({ input }) {
      (input as { n: number }).n = 2;
    },
    afterToolCall({ output }) {
      (output as { text: string }).text = "spoilt";
    },
  };
  const { run, inputs } = start([spoil]);
  const items = await collect(run);
  expect(inputs).toEqual([{ n: 1 }]);
  expect(filterEventsOfType(items, "hook_failed").map(({ outcome }) => outcome)).toEqual(["threw", "threw"]);
  expect(filterEventsOfType(items, "tool_result")[0]?.output).toEqual({ type: "text", text: 'echo {"n":1}' });
});

describe("a hook that hangs is cut off after its time, its signal aborted", () => {
  const cases: readonly (readonly [string, (hang: () => Promise<undefined>) => Hook, readonly unknown[], string])[] = [
    ["beforeToolCall blocks the call", (hang) => ({ name: "h", beforeToolCall: hang }), [], "blocked"],
    ["afterToolCall withholds the output", (hang) => ({ name: "h", afterToolCall: hang }), [{ n: 1 }], "error"],
    ["afterStep changes nothing", (hang) => ({ name: "h", afterStep: hang }), [{ n: 1 }], "ok"],
    ["open: the call is run", (hang) => ({ name: "h", onFailure: "open", beforeToolCall: hang }), [{ n: 1 }], "ok"],
  ];
  test.each(cases)("%s", verifies("HOOK-3"), async (_, make, ran, outcome) => {
    let hung: AbortSignal | undefined;
    let calls = 0;
    const called = createDeferred();
    const hook = make(
      anything((_subject: unknown, { signal }: { signal: AbortSignal }) => {
        calls += 1;
        if (calls > 1) return undefined;
        hung = signal;
        called.resolve();
        return never();
      }) as never,
    );
    const { run, clock, inputs, store } = start([hook]);
    const items = collect<StreamItem>(run);
    await called.promise;
    await clock.waitFor(10_000);
    expect(hung?.aborted).toBe(false);
    await clock.advance(10_000);
    const seen = await items;
    expect(hung?.aborted).toBe(true);
    expect(await run.result).toMatchObject({ status: "completed", text: "Done." });
    expect(inputs).toEqual(ran);
    expect(filterEventsOfType(seen, "tool_result")[0]?.outcome).toBe(outcome);
    expect(filterEventsOfType(seen, "hook_failed")).toMatchObject([{ name: "h", outcome: "timed_out" }]);
    const records = (await store.read("s", 0, 100)).flatMap(({ event }) => event.hooks ?? []);
    expect(records).toContainEqual(expect.objectContaining({ name: "h", outcome: "timed_out", ms: 10_000 }));
  });
});

test("closed: a step that a hook fails ends the run", verifies("HOOK-3"), async () => {
  for (const point of ["beforeRun", "beforeStep", "beforeLLMCall", "afterLLMCall", "afterStep"] as const) {
    const broken = () => {
      throw new Error("broken");
    };
    const { run } = start([{ name: "h", onFailure: "closed", [point]: broken }]);
    await collect(run);
    expect(await run.result).toMatchObject({ status: "failed", reason: "hook_failed" });
  }
});

test("an abort while a hook decides: the tool does not run", verifies("HOOK-4"), async () => {
  const called = createDeferred();
  const hang: Hook = {
    name: "h",
    beforeToolCall() {
      called.resolve();
      return never();
    },
  };
  const { run, inputs, agent } = start([hang]);
  const items = collect<StreamItem>(run);
  await called.promise;
  await agent.session("s").abort();
  expect(filterEventsOfType(await items, "tool_result")[0]?.outcome).toBe("aborted");
  expect((await run.result).status).toBe("aborted");
  expect(inputs).toEqual([]);
});
