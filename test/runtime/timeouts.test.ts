/**
 * How long a model is waited for: until it begins, between two increments, for the whole answer; and how a wait ends by abort.
 */
import { describe, expect, onTestFinished, test } from "vitest";
import { type AgentOptions, createAgent, type Model, type ModelTimeouts } from "../../src/index.js";
import { fromAiSdk } from "../../src/models/index.js";
import type { ModelDelta } from "../../src/ports/model.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { startProviderServer } from "../models/provider-server.js";
import { realProviders } from "../models/real-providers.js";
import { collect, createDeferred, filterEventsOfType } from "../support/agents.js";
import { createWatchedClock, type WatchedClock } from "../support/clock.js";
import { verifies } from "../verifies.js";

const text = (more: string): ModelDelta => ({ kind: "text-delta", id: "1", text: more });
const done: ModelDelta = { kind: "done", finishReason: { unified: "stop" }, usage: {} };

/** In its first attempt it says these after waits, and then nothing more; in the next ones it answers at once. It looks at no signal. */
function slowModel(clock: WatchedClock, said: readonly (readonly [afterMs: number, ModelDelta])[]) {
  const signals: AbortSignal[] = [];
  const left = createDeferred();
  const model: Model = {
    id: "slow",
    async *stream(_request, signal) {
      signals.push(signal);
      if (signals.length > 1) {
        yield text("At last.");
        yield done;
        return;
      }
      try {
        for (const [afterMs, delta] of said) {
          await new Promise<void>((resolve) => clock.after(afterMs, resolve));
          yield delta;
        }
        await new Promise(() => {});
      } finally {
        left.resolve();
      }
    },
  };
  return { model, signals, left: left.promise };
}

/** Runs to the end in virtual time; gives the failures, and when each came. */
async function play(clock: WatchedClock, options: AgentOptions) {
  const startedAt = clock.now();
  const stream = createAgent({ clock, retry: { baseDelayMs: 0 }, ...options }).runStream("Go");
  const items = collect(stream);
  await clock.runUntilIdle({ maxMs: 3_600_000 });
  const failed = filterEventsOfType(await items, "attempt_failed").map(({ failure, at }) => ({
    ...failure,
    afterMs: at - startedAt,
  }));
  return { result: await stream.result, failed };
}

describe("a model that", () => {
  const start: ModelDelta = { kind: "start" };
  const cases: readonly {
    readonly name: string;
    readonly said: readonly (readonly [number, ModelDelta])[];
    readonly timeouts?: ModelTimeouts;
    readonly code: string;
    readonly afterMs: number;
    readonly message: string;
  }[] = [
    {
      name: "says nothing",
      said: [],
      code: "first_chunk_timeout",
      afterMs: 120_000,
      message: "The model said nothing for 120 s.",
    },
    {
      name: "says that it begins, and then nothing",
      said: [[90_000, start]],
      code: "first_chunk_timeout",
      afterMs: 120_000,
      message: "The model said nothing for 120 s.",
    },
    {
      name: "stops in the middle",
      said: [
        [119_000, text("Half")],
        [59_000, text(" of")],
      ],
      code: "chunk_timeout",
      afterMs: 119_000 + 59_000 + 60_000,
      message: "The model's answer stopped: nothing more came for 60 s.",
    },
    {
      name: "begins at once and stops",
      said: [[0, text("Half")]],
      code: "chunk_timeout",
      afterMs: 60_000,
      message: "The model's answer stopped: nothing more came for 60 s.",
    },
    {
      name: "drips on for ever",
      said: Array.from({ length: 40 }, () => [30_000, text("drip ")] as const),
      code: "call_timeout",
      afterMs: 600_000,
      message: "The model's answer was not complete after 600 s.",
    },
    {
      name: "is given less time than others",
      said: [],
      timeouts: { firstChunkMs: 1_500 },
      code: "first_chunk_timeout",
      afterMs: 1_500,
      message: "The model said nothing for 1.5 s.",
    },
    {
      name: "is given all the time there is to begin",
      said: [],
      timeouts: { firstChunkMs: Number.POSITIVE_INFINITY },
      code: "call_timeout",
      afterMs: 600_000,
      message: "The model's answer was not complete after 600 s.",
    },
  ];

  test.each(cases)("$name", verifies("RTRY-5", "RTRY-6"), async ({ said, timeouts, code, afterMs, message }) => {
    const clock = createWatchedClock();
    const { model, signals } = slowModel(clock, said);
    const { result, failed } = await play(clock, { model, ...(timeouts === undefined ? {} : { timeouts }) });
    expect(failed).toEqual([{ kind: "timeout", code, message, afterMs }]);
    expect(result).toMatchObject({ status: "completed", text: "At last.", steps: 1 });
    expect(signals[0]?.aborted).toBe(true);
    expect(signals[1]?.aborted).toBe(false);
  });

  test("takes its time within the bounds is not hurried", verifies("RTRY-5"), async () => {
    const clock = createWatchedClock();
    const { model } = slowModel(clock, [
      [119_999, text("Slow")],
      [59_999, text(" and")],
      [59_999, text(" steady.")],
      [59_999, done],
    ]);
    expect(await play(clock, { model })).toMatchObject({ result: { text: "Slow and steady." }, failed: [] });
  });

  test(
    "goes on after it was given up is not heard, and is told to clean up",
    verifies("RTRY-5", "STRM-2"),
    async () => {
      const clock = createWatchedClock();
      const { model, left } = slowModel(clock, [
        [0, text("Half")],
        [60_001, text(" and late")],
      ]);
      const { result } = await play(clock, { model });
      expect(result.text).toBe("At last.");
      await left;
    },
  );

  test("has timeouts of its own beside those of the agent", verifies("RTRY-5"), async () => {
    const clock = createWatchedClock();
    const first = slowModel(clock, []).model;
    const second = slowModel(clock, []).model;
    const { failed } = await play(clock, {
      model: first,
      fallbacks: [{ model: second, timeouts: { firstChunkMs: 7_000 } }],
      retry: { maxRetries: 0 },
      timeouts: { firstChunkMs: 20_000 },
    });
    expect(failed.map(({ code, afterMs }) => [code, afterMs])).toEqual([
      ["first_chunk_timeout", 20_000],
      ["first_chunk_timeout", 27_000],
    ]);
  });
});

test.each(realProviders)("a stream of $name that stalls is left", verifies("RTRY-5"), async (provider) => {
  const server = await startProviderServer(provider.format, [
    { type: "answer", text: "Half of it, and no more.", ending: "hang" },
    { type: "answer", text: "Whole." },
  ]);
  onTestFinished(() => server.close());
  const clock = createWatchedClock();
  const model = fromAiSdk(provider.create({ baseURL: server.baseURL, apiKey: "sk-test" }));
  const stream = createAgent({ model, clock, retry: { baseDelayMs: 0 } }).runStream("Go");
  const items: unknown[] = [];
  for await (const item of stream) {
    items.push(item);
    // Time passes only once the first half has come.
    if (item.type === "delta" && item.delta.kind === "text-delta" && items.length < 50) void clock.advance(60_000);
  }
  expect(await stream.result).toMatchObject({ status: "completed", text: "Whole." });
  expect(await server.requests[0]?.ended).toBe("left");
});

describe("an abort ends at once", () => {
  test("the wait for a model that looks at no signal", verifies("RTRY-5"), async () => {
    const clock = createWatchedClock();
    const { model, signals } = slowModel(clock, [[0, text("Half")]]);
    const agent = createAgent({ model, clock });
    const stream = agent.runStream("Go", { sessionId: "s" });
    const items = collect(stream);
    await clock.waitFor(120_000);
    await agent.session("s").abort();
    expect(await stream.result).toMatchObject({ status: "aborted", text: "Request aborted." });
    expect(filterEventsOfType(await items, "attempt_failed")).toMatchObject([
      { failure: { kind: "cancelled" }, next: "give_up" },
    ]);
    expect(signals[0]?.aborted).toBe(true);
    expect(clock.elapsed()).toBe(0);
  });

  test("the wait before another attempt", verifies("RTRY-5"), async () => {
    const clock = createWatchedClock();
    const model = createScriptedModel([{ error: { kind: "rate_limit", message: "no", retryAfterMs: 45_000 } }]);
    const agent = createAgent({ model, clock });
    const result = agent.run("Go", { sessionId: "s" });
    await clock.waitFor(45_000);
    await agent.session("s").abort();
    expect(await result).toMatchObject({ status: "aborted" });
    expect(clock.elapsed()).toBe(0);
    expect(model.requests).toHaveLength(1);
  });
});

test("timeouts that are none are refused when the agent is made", verifies("RTRY-5"), () => {
  const model = createScriptedModel([]);
  const refused = expect.objectContaining({ name: "PawlError", code: "bad_configuration" });
  for (const value of [0, -1, Number.NaN, "60", null])
    for (const name of ["firstChunkMs", "chunkMs", "totalMs"])
      expect(() => createAgent({ model, timeouts: { [name]: value } as never })).toThrow(refused);
  expect(() => createAgent({ model, timeouts: { first: 5 } as never })).toThrow(refused);
  expect(() => createAgent({ model, fallbacks: [{ model, timeouts: { totalMs: 0 } }] })).toThrow(refused);
});
