/**
 * Every wait has an end: whatever code of an author is waited for never settles here, once for each.
 *
 * The tables are held to the ports: a new member that may return a promise does not compile until it has a case. Two are
 * not here. Nothing can go on without its store, and the stores of this package end their waits themselves. `onConnect`
 * of the MCP plugin is a part of the plugin's `setup`, whose limit holds.
 */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  type AgentOptions,
  type AnyTool,
  type CompactionService,
  type ContextSource,
  createAgent,
  createMemoryStore,
  createPluginManager,
  type Hook,
  type Model,
  type OutputService,
  type Plugin,
  type RunResult,
  type Tool,
} from "../../src/index.js";
import type { RecoverOption } from "../../src/ports/tool.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock, type TestClock } from "../../src/testing/test-clock.js";
import { createDeferred } from "../support/agents.js";
import { verifies } from "../verifies.js";

/** The names of the members that are functions, and may return something to wait for. */
type Waited<Port> = {
  [Name in keyof Port]-?: true extends MayBeWaitedFor<ReturnedBy<NonNullable<Port[Name]>>> ? Name : never;
}[keyof Port];

/** Only of members that are functions. */
type ReturnedBy<Member> = Member extends (...values: never[]) => infer Returned ? { readonly value: Returned } : never;

type MayBeWaitedFor<Returned> = Returned extends { readonly value: infer Value }
  ? unknown extends Value
    ? true
    : [Extract<Value, PromiseLike<unknown> | AsyncIterable<unknown>>] extends [never]
      ? false
      : true
  : false;

type Cases<Port> = { readonly [Name in Waited<Port>]: () => Promise<void> };

const never = () => new Promise<never>(() => {});
const proven = verifies("HOOK-3", "TOOL-3#issues");

/** Runs one request in virtual time: hours, if they are needed. */
async function run(options: Partial<AgentOptions>, clock: TestClock = createTestClock()): Promise<RunResult> {
  const model = createScriptedModel(({ messages }) =>
    messages.at(-1)?.role === "user" ? { calls: [{ name: "work" }] } : { text: "Done." },
  );
  const doing = createAgent({ model, clock, ...options }).run("Go", { sessionId: "s", runId: "r" });
  let isOver = false;
  void doing.finally(() => {
    isOver = true;
  });
  for (let hours = 0; hours < 20_000 && !isOver; hours += 1) await clock.advance(1_000);
  expect(isOver, "the run is over").toBe(true);
  return await doing;
}

const work = (more: Partial<Tool> = {}): AnyTool => ({
  name: "work",
  description: "Works.",
  input: { type: "object" },
  execute: () => "worked",
  ...more,
});

const rawTool: AnyTool = {
  name: "work",
  description: "Works.",
  input: { type: "object" },
  executeRaw: never,
  timeoutMs: 5_000,
};

/** What a model was told of the call, in a run of this tool. */
async function toldOf(options: Partial<AgentOptions>): Promise<string> {
  const store = createMemoryStore();
  const result = await run({ store, ...options });
  expect(result.status).toBe("completed");
  const entries = await store.read("s");
  return JSON.stringify(entries.map(({ event }) => event));
}

/** The events of a run that asks a person. */
async function askedIn(options: Partial<AgentOptions>): Promise<string> {
  const result = await run(options);
  expect(result.status).toBe("awaiting_human");
  return result.status === "awaiting_human" ? JSON.stringify(result) : "";
}

const lateSchema = {
  "~standard": {
    version: 1 as const,
    vendor: "late",
    validate: never,
    jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
  },
};

const hookCase = (point: keyof Hook) => async () => {
  const store = createMemoryStore();
  await run({ store, tools: [work()], hooks: [{ name: "late", [point]: never }] });
  const entries = await store.read("s");
  // A compaction and a failure are not in this run: the same code calls the hooks of all points.
  const isCalled = point !== "onError" && point !== "beforeCompaction" && point !== "onCompacted";
  expect(JSON.stringify(entries).includes('"timed_out"')).toBe(isCalled);
};

const cases = {
  tool: {
    needsApproval: async () =>
      expect(await askedIn({ tools: [work({ needsApproval: never })] })).toContain(
        "could not tell whether this call needs an approval: It took more than 10000 ms",
      ),
    execute: async () =>
      expect(await toldOf({ tools: [work({ execute: never, timeoutMs: 5_000 })] })).toContain(
        "Timed out after 5000 ms",
      ),
    executeRaw: async () => expect(await toldOf({ tools: [rawTool] })).toContain("Timed out after 5000 ms"),
    toModelOutput: async () =>
      expect(await toldOf({ tools: [work({ toModelOutput: never })] })).toContain(
        "could not be prepared for you: It took more than 60000 ms.",
      ),
  } satisfies Cases<Tool>,
  recover: {
    reconcile: async () => {
      const store = createMemoryStore();
      const tool = (more: Partial<Tool>) => work({ recover: { reconcile: never }, timeoutMs: 5_000, ...more });
      const clock = createTestClock();
      const started = createDeferred();
      const execute = () => {
        started.resolve();
        return never();
      };
      const first = createAgent({
        model: createScriptedModel([{ calls: [{ name: "work" }] }]),
        tools: [tool({ execute })],
        store,
        clock,
      });
      const begun = first.run("Go", { sessionId: "s", runId: "r" });
      await started.promise;
      await Promise.all([first.shutdown({ graceMs: 1 }), clock.advance(100)]);
      expect((await begun).status).toBe("interrupted");
      const result = await run({ store, tools: [tool({})] }, clock);
      expect(result).toMatchObject({ status: "awaiting_human" });
      expect(JSON.stringify(result)).toContain("its outcome is unknown (It took more than 5000 ms.)");
    },
  } satisfies Cases<Extract<RecoverOption, object>>,
  schema: {
    validate: async () => {
      expect(await toldOf({ tools: [work({ input: lateSchema })] })).toContain("It took more than 10000 ms");
      expect(await toldOf({ tools: [work({ input: lateSchema })] })).toContain('"name":"input schema of work"');
    },
  },
  output: {
    async validate() {
      const clock = createTestClock();
      const model = createScriptedModel(() => ({ text: "{}" }));
      const doing = createAgent({ model, clock }).run("Go", { output: lateSchema });
      await clock.runUntilIdle();
      expect(await doing).toMatchObject({ status: "failed", reason: "invalid_output" });
    },
  },
  agent: {
    canExecuteTool: async () => {
      const told = await toldOf({ tools: [work()], canExecuteTool: never });
      expect(told).toContain("the permission check failed (It took more than 10000 ms.)");
      expect(told).toContain('"name":"canExecuteTool"');
    },
    // Callbacks are not waited for.
    onText: async () => expect(await run({ tools: [work()], onText: never })).toMatchObject({ status: "completed" }),
  },
  hook: {
    beforeRun: hookCase("beforeRun"),
    beforeStep: hookCase("beforeStep"),
    beforeLLMCall: hookCase("beforeLLMCall"),
    besideLLMCall: hookCase("besideLLMCall"),
    afterLLMCall: hookCase("afterLLMCall"),
    beforeToolCall: hookCase("beforeToolCall"),
    afterToolCall: hookCase("afterToolCall"),
    afterStep: hookCase("afterStep"),
    beforeStop: hookCase("beforeStop"),
    onError: hookCase("onError"),
    beforeCompaction: hookCase("beforeCompaction"),
    onCompacted: hookCase("onCompacted"),
    afterRun: hookCase("afterRun"),
  } satisfies Cases<Hook>,
  model: {
    async stream() {
      const silent: Model = { id: "silent", stream: () => ({ [Symbol.asyncIterator]: () => ({ next: never }) }) };
      expect(await run({ model: silent })).toMatchObject({ status: "failed", reason: "model_error" });
    },
  } satisfies Cases<Model>,
  outputService: {
    cap: async () => {
      const told = await toldOf({ tools: [work()], services: { output: { cap: never } } });
      expect(told).toContain("The output could not be stored: It took more than 60000 ms");
    },
    async read() {
      const model = createScriptedModel([
        { calls: [{ name: "read_output", input: { output: 3 } }] },
        { text: "Done." },
      ]);
      const output: OutputService = { cap: (whole) => whole, read: never };
      expect(await toldOf({ model, tools: [work()], services: { output } })).toContain("Timed out after");
    },
  } satisfies Cases<OutputService>,
  compaction: {
    async sumUp() {
      const service: CompactionService = { isDue: () => true, cutOf: ({ cuts }) => cuts[0] ?? null, sumUp: never };
      const told = await toldOf({ tools: [work()], services: { compaction: service } });
      expect(told).toContain("It took more than 1800000 ms");
    },
  } satisfies Cases<CompactionService>,
  contextSource: {
    async load() {
      const sources = [{ name: "slow notes", load: never }];
      const result = await run({ tools: [work()], context: { sources } });
      expect(result).toMatchObject({ status: "failed", reason: "hook_failed" });
    },
  } satisfies Cases<ContextSource>,
  plugin: {
    async setup() {
      const refused = loading({ setup: never }).catch((error: unknown) => error);
      await vi.advanceTimersByTimeAsync(121_000);
      expect(String(await refused)).toContain('The plugin "late" could not be set up: It took more than 120000 ms.');
    },
    async dispose() {
      const manager = createPluginManager([{ name: "late", version: "1", setup: () => {}, dispose: never }]);
      await manager.load(createMemoryStore());
      const ended = manager.dispose().catch((error: unknown) => error);
      await vi.advanceTimersByTimeAsync(11_000);
      expect(await ended).toMatchObject({ errors: [{ message: "It took more than 10000 ms." }] });
    },
  } satisfies Cases<Plugin>,
} as const;

function loading(more: Partial<Plugin>): Promise<unknown> {
  return createPluginManager([{ name: "late", version: "1", setup: () => {}, ...more }]).load(createMemoryStore());
}

describe.each(Object.entries(cases))("%s", (port, members) => {
  test.each(Object.entries(members))("%s that never settles is given up", proven, async (_member, play) => {
    if (port === "plugin") {
      vi.useFakeTimers();
      onTestFinished(() => void vi.useRealTimers());
    }
    await play();
  });
});
