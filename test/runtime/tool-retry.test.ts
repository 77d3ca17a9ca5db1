/**
 * Tools that are tried again when they fail.
 */
import { describe, expect, test } from "vitest";
import {
  type AgentOptions,
  createAgent,
  createMemoryStore,
  defineTool,
  type Hook,
  type PawlError,
  type StreamItem,
  TaskComplete,
  type Tool,
  type ToolRetry,
} from "../../src/index.js";
import { traceSession } from "../../src/inspect.js";
import { crashTest } from "../../src/testing/crash-test.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { collect } from "../support/agents.js";
import { createWatchedClock, type WatchedClock } from "../support/clock.js";
import { verifies } from "../verifies.js";

const input = { type: "object" } as const;

/** A tool that fails with these errors, and then succeeds. */
function failing(errors: readonly unknown[], retry?: ToolRetry, more: Partial<Tool> = {}) {
  const attempts: number[] = [];
  const tool = defineTool({
    name: "fetch",
    description: "Fetches.",
    input,
    recover: "rerun",
    ...(retry === undefined ? {} : { retry }),
    ...more,
    execute(_input, context) {
      attempts.push(context.attempt);
      const error = errors[attempts.length - 1];
      if (error !== undefined) throw error;
      return `attempt ${context.attempt}, key ${context.idempotencyKey}`;
    },
  });
  return { tool, attempts };
}

async function play(tool: Tool, options: Partial<AgentOptions> = {}, clock: WatchedClock = createWatchedClock()) {
  const model = createScriptedModel([{ calls: [{ name: "fetch" }] }, { text: "Done." }]);
  const agent = createAgent({ model, tools: [tool], clock, store: createMemoryStore(), ...options });
  const stream = agent.runStream("Go", { sessionId: "s", runId: "r" });
  const items: StreamItem[] = [];
  for await (const item of stream) {
    items.push(item);
    if (item.type !== "tool_failed") continue;
    await clock.waitFor(item.retryInMs);
    await clock.advance(item.retryInMs);
  }
  return { items, result: await stream.result, agent, model };
}

const only = <Type extends StreamItem["type"]>(items: readonly StreamItem[], type: Type) =>
  items.filter((item): item is Extract<StreamItem, { readonly type: Type }> => item.type === type);

const text = (value: string) => ({ type: "text", text: value });
const failures = [new Error("first"), new Error("second"), new Error("third"), new Error("fourth")];

describe("a tool with retry", () => {
  test("is tried again until it gives a result", verifies("TOOL-15"), async () => {
    const { tool, attempts } = failing(failures.slice(0, 2), {});
    const { items, model } = await play(tool);
    expect(attempts).toEqual([1, 2, 3]);
    const failed = only(items, "tool_failed");
    expect(failed.map(({ attempt, fault }) => [attempt, fault.code, fault.message])).toEqual([
      [1, "tool_failed", "first"],
      [2, "tool_failed", "second"],
    ]);
    // Half of each wait is fixed: 500 and then 1,000 ms.
    const [one, two] = failed.map(({ retryInMs }) => retryInMs);
    expect(one).toBeGreaterThanOrEqual(250);
    expect(one).toBeLessThanOrEqual(500);
    expect(two).toBeGreaterThanOrEqual(500);
    expect(two).toBeLessThanOrEqual(1_000);
    expect(only(items, "tool_result")).toMatchObject([{ outcome: "ok", output: text("attempt 3, key s/r/1/1") }]);
    expect(only(items, "call_complete")[0]?.attempts).toMatchObject([
      { of: "tool", attempt: 1, message: "first", retryInMs: one },
      { of: "tool", attempt: 2, message: "second", retryInMs: two },
    ]);
    expect(JSON.stringify(model.requests[1]?.messages)).not.toContain("second");
  });

  test("ends with its last error, and none is tried more often than it says", verifies("TOOL-15"), async () => {
    for (const [retry, times] of [
      [{}, 3],
      [{ attempts: 1 }, 1],
      [{ attempts: 4, backoff: { baseMs: 10, maxMs: 20 } }, 4],
    ] as const) {
      const { tool, attempts } = failing(failures, retry);
      const { items } = await play(tool);
      expect(attempts).toHaveLength(times);
      expect(only(items, "tool_failed")).toHaveLength(times - 1);
      expect(only(items, "tool_result")).toMatchObject([
        { outcome: "error", output: text(`Error: ${failures[times - 1]?.message}`) },
      ]);
    }
  });

  test(
    "is not tried again if what it or its step gave cannot be stored: its work is done",
    verifies("TOOL-15"),
    async () => {
      const work: string[] = [];
      const given = { receipt: Promise.resolve("r-1") };
      const paying = (execute: NonNullable<Tool["execute"]>) =>
        play({ name: "fetch", description: "Pays.", input, durable: true, retry: {}, execute });
      const results = [
        await paying(() => {
          work.push("result");
          return given;
        }),
        await paying((_input, { step }) =>
          step("pay", () => {
            work.push("step");
            return given;
          }),
        ),
      ];
      expect(work).toEqual(["result", "step"]);
      for (const { items } of results)
        expect(only(items, "tool_result")).toMatchObject([
          {
            outcome: "error",
            output: { text: expect.stringContaining("receipt is a promise that nothing has awaited") },
          },
        ]);
    },
  );

  test("is not tried again after what is no failure, or not worth it", verifies("TOOL-15"), async () => {
    const completing = failing([new TaskComplete("enough")], {});
    expect((await play(completing.tool)).result).toMatchObject({ status: "completed", text: "enough" });
    const picky = failing(failures, { when: (error) => (error as Error).message === "first" });
    expect(only((await play(picky.tool)).items, "tool_failed")).toHaveLength(1);
    const throwing = failing(failures, {
      when: () => {
        throw new Error("cannot tell");
      },
    });
    const { items } = await play(throwing.tool);
    expect(throwing.attempts).toEqual([1]);
    expect(only(items, "hook_failed")).toMatchObject([{ name: "retry.when of fetch", message: "cannot tell" }]);
    const refused = failing(failures, {}, { needsApproval: true });
    expect(only((await play(refused.tool, {}, createWatchedClock())).items, "tool_failed")).toEqual([]);
    expect(refused.attempts).toEqual([]);
  });

  test("is tried again when its time was up", verifies("TOOL-15"), async () => {
    const clock = createWatchedClock();
    let runs = 0;
    const tool = defineTool({
      name: "fetch",
      description: "Fetches.",
      input,
      readOnly: true,
      timeoutMs: 7_000,
      retry: { when: (error) => (error as Error).name === "TimeoutError" },
      execute: () => {
        runs += 1;
        if (runs > 1) return "there";
        void clock.waitFor(7_000).then(() => clock.advance(7_000));
        return new Promise(() => {});
      },
    });
    const { items } = await play(tool as Tool, {}, clock);
    expect(only(items, "tool_failed")[0]?.fault.message).toContain("Timed out after 7000 ms");
    expect(only(items, "tool_result")).toMatchObject([{ outcome: "ok", output: text("there") }]);
  });

  test("gives its slot to others while it waits", verifies("TOOL-15"), async () => {
    const clock = createWatchedClock();
    const order: string[] = [];
    const tool = (name: string, retry: boolean) =>
      defineTool({
        name,
        description: "Notes.",
        input,
        readOnly: true,
        sequential: true,
        ...(retry ? { retry: {} } : {}),
        execute(_input, { attempt }) {
          order.push(`${name} ${attempt}`);
          if (retry && attempt === 1) throw new Error("not yet");
          return "ok";
        },
      });
    const model = createScriptedModel([{ calls: [{ name: "flaky" }, { name: "steady" }] }, { text: "Done." }]);
    const agent = createAgent({ model, tools: [tool("flaky", true), tool("steady", false)], clock });
    for await (const item of agent.runStream("Go"))
      if (item.type === "tool_failed") void clock.waitFor(item.retryInMs).then(() => clock.advance(item.retryInMs));
    expect(order).toEqual(["flaky 1", "steady 1", "flaky 2"]);
  });

  test("ends with its last failure when the run is aborted", verifies("TOOL-15"), async () => {
    const clock = createWatchedClock();
    const { tool, attempts } = failing(failures, { backoff: { baseMs: 50_000, maxMs: 50_000 } });
    const model = createScriptedModel([{ calls: [{ name: "fetch" }] }, { text: "Again." }]);
    const agent = createAgent({ model, tools: [tool], clock });
    const controller = new AbortController();
    const stream = agent.runStream("Go", { sessionId: "s", signal: controller.signal });
    const items: StreamItem[] = [];
    for await (const item of stream) {
      items.push(item);
      if (item.type === "tool_failed") controller.abort();
    }
    expect(await stream.result).toMatchObject({ status: "aborted" });
    expect(attempts).toEqual([1]);
    expect(only(items, "tool_result")).toMatchObject([{ outcome: "error", output: text("Error: first") }]);
    // The next run is sent what the call came to.
    await agent.run("Go on", { sessionId: "s" });
    expect(JSON.stringify(model.requests[1]?.messages)).toContain("Error: first");
  });

  test("hooks see each attempt, and keep secrets out of the log", verifies("TOOL-15"), async () => {
    const seen: boolean[] = [];
    const mask: Hook = {
      name: "mask",
      afterToolCall({ output, isError }) {
        seen.push(isError);
        return { output: JSON.parse(JSON.stringify(output).replaceAll("hunter2", "***")) };
      },
    };
    const { tool } = failing([new Error("password hunter2 refused")], {});
    const { items, agent } = await play(tool, { hooks: [mask] });
    expect(seen).toEqual([true, false]);
    expect(only(items, "tool_failed")[0]?.fault.message).toBe("password *** refused");
    expect(JSON.stringify(await collect(agent.session("s").events({ follow: false })))).not.toContain("hunter2");
  });

  test("has its attempts in the trace", verifies("TOOL-15"), async () => {
    const { tool } = failing(failures.slice(0, 1), {});
    const store = createMemoryStore();
    await play(tool, { store });
    const records = await traceSession(store, "s");
    const call = records.flatMap((record) => (record.type === "step" ? record.calls : []))[0];
    expect(call).toMatchObject({ failed: [{ attempt: 1, message: "first" }], ran: { attempt: 2 } });
  });

  test("the attempts of the model call that failed are told with the call", verifies("TOOL-15"), async () => {
    const clock = createWatchedClock();
    const { tool } = failing(failures.slice(0, 1), {});
    const model = createScriptedModel([
      { error: { kind: "overloaded", message: "busy" } },
      { calls: [{ name: "fetch" }] },
      { text: "Done." },
    ]);
    const agent = createAgent({ model, tools: [tool], clock });
    const items: StreamItem[] = [];
    for await (const item of agent.runStream("Go", { sessionId: "s" })) {
      items.push(item);
      const ms = item.type === "tool_failed" || item.type === "attempt_failed" ? (item.retryInMs ?? 0) : 0;
      if (ms > 0) void clock.waitFor(ms).then(() => clock.advance(ms));
    }
    const attempts = only(items, "call_complete")[0]?.attempts;
    expect(attempts?.map(({ of, attempt, message }) => [of, attempt, message])).toEqual([
      ["model", 1, "busy"],
      ["tool", 1, "first"],
    ]);
    // A reader of the log gets the same.
    const told = await collect(agent.session("s").events({ follow: false }));
    expect(only(told, "call_complete")[0]?.attempts).toEqual(attempts);
  });

  test("a replay finds no difference", verifies("TOOL-15"), async () => {
    const { tool } = failing(failures, {});
    const { agent } = await play(tool);
    expect(await agent.session("s").replay()).toMatchObject({ difference: null });
  });
});

describe("a process that dies", () => {
  test("neither loses a failure nor tries more often than the tool says", verifies("TOOL-15"), async () => {
    // What failed is counted outside, where no crash touches it: three failures, and then it works.
    let calls = 0;
    const answers = [{ calls: [{ name: "fetch", input: {} }] }, { text: "Fetched." }];
    const report = await crashTest({
      agent: () =>
        createAgent({
          model: createScriptedModel(({ modelCallIndex }) => answers[modelCallIndex - 1]),
          tools: [
            {
              name: "fetch",
              description: "Fetches.",
              input,
              readOnly: true,
              retry: { attempts: 3, backoff: { baseMs: 400 } },
              async execute() {
                calls += 1;
                throw new Error("no");
              },
            },
          ],
        }),
      input: "Fetch it.",
      pairs: true,
      reset: () => {
        calls = 0;
      },
      check: ({ log }) => {
        const events = log.map(({ event }) => event);
        expect(events.filter(({ type }) => type === "tool_failed")).toHaveLength(2);
        expect(events.filter(({ type }) => type === "tool_finished")).toMatchObject([
          { outcome: "error", output: text("Error: no") },
        ]);
        // A crash repeats an attempt whose end was not committed, and no other.
        expect(calls).toBeLessThanOrEqual(3 + 2);
      },
    });
    expect(report.crashes).toBeGreaterThan(20);
  });
});

describe("createAgent refuses", () => {
  const refusal = (more: Partial<Tool>): string => {
    try {
      createAgent({
        model: createScriptedModel([]),
        tools: [{ name: "t", description: "T.", input, execute: () => "", ...more } as Tool],
      });
      return "nothing";
    } catch (error) {
      return `${(error as PawlError).code}: ${(error as Error).message}`;
    }
  };

  test("retry of a tool that may not be repeated", verifies("TOOL-15"), () => {
    for (const recover of [undefined, "fail", "ask"] as const)
      expect(refusal({ retry: {}, ...(recover === undefined ? {} : { recover }) })).toMatch(
        /^bad_configuration: .*does not say that it may be repeated/,
      );
    expect(refusal({ retry: {}, readOnly: true })).toBe("nothing");
    expect(refusal({ retry: {}, recover: "rerun" })).toBe("nothing");
  });

  test("what retry does not have", verifies("TOOL-15"), () => {
    const retried = (retry: object) => refusal({ readOnly: true, retry: retry as ToolRetry });
    expect(retried({ attempts: 0 })).toContain("1 to 20");
    expect(retried({ attempts: 21 })).toContain("1 to 20");
    expect(retried({ tries: 2 })).toContain('no option "tries"');
    expect(retried({ backoff: { maxMs: -1 } })).toContain("0 to 86,400,000");
    expect(retried({ backoff: { basMs: 1 } })).toContain("Do you mean baseMs?");
    expect(retried({ when: true })).toContain("a function");
  });
});
