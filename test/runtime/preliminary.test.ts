/**
 * Tools that yield: what they yield is shown while the call runs, and what they return is the result.
 */
import { describe, expect, test } from "vitest";
import { type AgentOptions, createAgent, defineTool, type StreamItem, TaskComplete } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { collect, createDeferred } from "../support/agents.js";
import { createWatchedClock } from "../support/clock.js";
import { verifies } from "../verifies.js";

const input = { type: "object" } as const;

type Yielding = (signal: AbortSignal) => AsyncIterable<unknown> | Promise<unknown>;

function agentOf(execute: Yielding, options: Partial<AgentOptions> & { readonly timeoutMs?: number } = {}) {
  const { timeoutMs, ...own } = options;
  const tool = defineTool({
    name: "watch",
    description: "Watches.",
    input,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    execute: (_input, { signal }) => execute(signal),
  });
  const model = createScriptedModel([{ calls: [{ name: "watch" }] }, { text: "Done." }]);
  return { agent: createAgent({ model, tools: [tool], ...own }), model };
}

const preliminaryIn = (items: readonly StreamItem[]) =>
  items.flatMap((item) => (item.type === "preliminary" ? [item] : []));

const resultIn = (items: readonly StreamItem[]) => items.find((item) => item.type === "tool_result");

const text = (value: string) => ({ type: "text", text: value });

describe("a tool that yields", () => {
  test("shows what it yields, and its result is what it returns", verifies("TOOL-14"), async () => {
    const { agent, model } = agentOf(async function* () {
      yield "one third";
      yield { done: 2, since: new Date(0) };
      return "all of it";
    });
    const items = await collect(agent.runStream("Go", { sessionId: "s", runId: "r" }));
    expect(preliminaryIn(items)).toEqual([
      { type: "preliminary", callKey: "r/1/1", output: text("one third") },
      {
        type: "preliminary",
        callKey: "r/1/1",
        output: { type: "json", value: { done: 2, since: "1970-01-01T00:00:00.000Z" } },
      },
    ]);
    expect(preliminaryIn(items).every((item) => Object.isFrozen(item.output))).toBe(true);
    expect(resultIn(items)).toMatchObject({ outcome: "ok", output: text("all of it") });
    expect(JSON.stringify(model.requests[1]?.messages)).not.toContain("one third");
    const order = items.map(({ type }) => type);
    expect(order.indexOf("preliminary")).toBeGreaterThan(order.indexOf("tool_call"));
    expect(order.lastIndexOf("preliminary")).toBeLessThan(order.indexOf("tool_result"));
    // Nothing of it is in the log.
    const events = await collect(agent.session("s").events({ follow: false }));
    expect(JSON.stringify(events)).not.toContain("one third");
  });

  test.each<[string, Yielding, unknown]>([
    [
      "returns nothing: the last value",
      async function* () {
        yield "first";
        yield "last";
      },
      text("last"),
    ],
    [
      "yields nothing: what it returns",
      async function* () {
        if (Number.isNaN(1)) yield "never";
        return "only this";
      },
      text("only this"),
    ],
    ["neither yields nor returns", async function* () {}, text("(no output)")],
    [
      "is promised",
      async () =>
        (async function* () {
          yield "soon";
        })(),
      text("soon"),
    ],
    [
      "is a plain generator",
      () =>
        (function* () {
          yield "now";
          return "then";
        })() as never,
      text("then"),
    ],
    [
      "returns null",
      async function* () {
        yield "something";
        return null;
      },
      { type: "json", value: null },
    ],
  ])("that %s", verifies("TOOL-14"), async (_name, execute, output) => {
    const items = await collect(agentOf(execute).agent.runStream("Go"));
    expect(resultIn(items)).toMatchObject({ outcome: "ok", output });
  });

  test("ends its run with TaskComplete, and fails with what it throws", verifies("TOOL-14"), async () => {
    const completing = agentOf(async function* () {
      yield "nearly";
      throw new TaskComplete("That is all.");
    });
    expect(await completing.agent.run("Go")).toMatchObject({ status: "completed", text: "That is all." });
    const failing = agentOf(async function* () {
      yield "nearly";
      throw new Error("the disk is full");
    });
    const items = await collect(failing.agent.runStream("Go"));
    expect(resultIn(items)).toMatchObject({ outcome: "error", output: text("Error: the disk is full") });
  });

  test("shows at most 50 KiB, and describes large files", verifies("TOOL-14"), async () => {
    const { agent } = agentOf(async function* () {
      yield "line\n".repeat(100_000);
      yield new Uint8Array(100_000);
      yield {
        toJSON: () => {
          throw new Error("not for you");
        },
      };
      return "ok";
    });
    const [long, file, bad] = preliminaryIn(await collect(agent.runStream("Go"))).map(({ output }) => output);
    expect(Buffer.byteLength(JSON.stringify(long))).toBeLessThan(64 * 1024);
    expect(JSON.stringify(long)).toContain("left out here");
    expect(file).toEqual({ type: "content", parts: [text("[application/octet-stream, 100000 bytes]")] });
    expect(JSON.stringify(bad)).toContain("not for you");
  });

  test(
    "a reader that joins late gets the newest value, and one that is slow does not get each",
    verifies("TOOL-14"),
    async () => {
      const yielded = createDeferred();
      const goOn = createDeferred();
      const { agent } = agentOf(async function* () {
        for (let index = 1; index <= 5_000; index += 1) yield index;
        yielded.resolve();
        await goOn.promise;
        yield "the last one";
      });
      const stream = agent.runStream("Go", { sessionId: "s", runId: "r" });
      await yielded.promise;
      const joining = agent.session("s").events()[Symbol.asyncIterator]();
      const late: StreamItem[] = [];
      const newest = { type: "preliminary", callKey: "r/1/1", output: { type: "json", value: 5_000 } };
      while (late.at(-1)?.type !== "preliminary") {
        const next = await joining.next();
        if (next.done === true) break;
        late.push(next.value);
      }
      expect(late.at(-1)).toEqual(newest);
      goOn.resolve();
      const items = await collect(stream);
      expect(preliminaryIn(items).length).toBeLessThanOrEqual(3);
      expect(items.some(({ type }) => type === "lagged")).toBe(false);
      await joining.return?.();
      // The call is over: nobody is shown it any more.
      expect(
        preliminaryIn(await collect(agent.session("s").events({ follow: false }) as AsyncIterable<StreamItem>)),
      ).toEqual([]);
    },
  );
});

describe("an abort", () => {
  test("ends the generator, whose last value is no result", verifies("TOOL-14"), async () => {
    const controller = new AbortController();
    const started = createDeferred();
    let isCleanedUp = false;
    const { agent } = agentOf(async function* (signal) {
      try {
        yield "half";
        started.resolve();
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        yield "more than half";
        yield "never asked for";
      } finally {
        isCleanedUp = true;
      }
    });
    const stream = agent.runStream("Go", { sessionId: "s", signal: controller.signal });
    const items = collect(stream);
    await started.promise;
    controller.abort();
    expect(await stream.result).toMatchObject({ status: "aborted" });
    expect(isCleanedUp).toBe(true);
    expect(preliminaryIn(await items)).toHaveLength(1);
    expect(resultIn(await items)).toMatchObject({
      outcome: "error",
      output: text("Error: The call was stopped before it had its result."),
    });
  });

  test("keeps what a generator returns when it is told to end", verifies("TOOL-14"), async () => {
    const controller = new AbortController();
    const started = createDeferred();
    const ended = createDeferred<IteratorResult<unknown>>();
    const iterator = {
      next: () => {
        started.resolve();
        return ended.promise;
      },
      return: async () => {
        ended.resolve({ done: true, value: undefined });
        return { done: true as const, value: "3 of 5 files" };
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
    const { agent } = agentOf(() => iterator);
    const stream = agent.runStream("Go", { signal: controller.signal });
    const items = collect(stream);
    await started.promise;
    controller.abort();
    await stream.result;
    expect(resultIn(await items)).toMatchObject({ outcome: "ok", output: text("3 of 5 files") });
  });

  test("so does the end of its time", verifies("TOOL-14"), async () => {
    const clock = createWatchedClock();
    const cleaned = createDeferred();
    const { agent } = agentOf(
      async function* (signal) {
        try {
          yield "half";
          await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
          yield "more";
        } finally {
          cleaned.resolve();
        }
      },
      { clock, timeoutMs: 7_000 },
    );
    const items = collect(agent.runStream("Go"));
    await clock.waitFor(7_000);
    await clock.advance(7_000);
    await cleaned.promise;
    const result = resultIn(await items);
    expect(JSON.stringify(result)).toContain("Timed out after 7000 ms");
    expect(preliminaryIn(await items)).toHaveLength(1);
  });
});
