/**
 * What a consumer sees of a run: deltas, snapshots, events, in what order, from where on, and what happens when it is slow.
 */

import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import {
  type AgentOptions,
  createAgent,
  createMemoryStore,
  type MessageDelta,
  type ModelDelta,
  type Store,
  type StreamItem,
} from "../../src/index.js";
import { compileListeners } from "../../src/runtime/observers/listeners.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { createTestClock, settled } from "../../src/testing/test-clock.js";
import { createSessionView } from "../../src/view/session-view.js";
import {
  collect,
  createDeferred,
  createEchoTool,
  createGateTool,
  filterEvents,
  filterEventsOfType,
  isEvent,
  listEventTypes,
} from "../support/agents.js";
import { createMessageView } from "../support/message-view.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const deltasIn = (items: readonly StreamItem[]): readonly MessageDelta[] =>
  items.flatMap((item) => (item.type === "delta" ? [item.delta] : []));

const finished = { kind: "done", finishReason: { unified: "stop" }, usage: {} } as const satisfies ModelDelta;

/** Two open parts at once, an empty one, reasoning between, a call: any order in which a provider may write. */
const anyStream: fc.Arbitrary<readonly ModelDelta[]> = fc
  .array(
    fc.oneof(
      fc.record({
        kind: fc.constantFrom("text-delta", "reasoning-delta"),
        id: fc.constantFrom("a", "b"),
        text: fc.string({ maxLength: 3, unit: "binary" }),
      }),
      fc.record({
        kind: fc.constantFrom("text-start", "reasoning-start", "text-end", "reasoning-end"),
        id: fc.constantFrom("a", "b"),
      }),
    ),
    { minLength: 1, maxLength: 12 },
  )
  .map((deltas) => [{ kind: "text-delta", id: "first", text: "." } as const, ...deltas, finished]);

describe("deltas", () => {
  test(
    "carry their place, are numbered from 1, begin with start and end once",
    verifies("STRM-1", "STRM-8"),
    async () => {
      await fc.assert(
        fc.asyncProperty(anyStream, async (deltas) => {
          const model = createScriptedModel([{ deltas }]);
          const agent = createAgent({ model });
          const ids = { sessionId: "s", runId: "r" };
          const seen = deltasIn(await collect(agent.runStream("Go", ids)));
          expect(seen.map((delta) => delta.seq)).toEqual(seen.map((_, index) => index + 1));
          expect(seen[0]?.kind).toBe("start");
          expect(seen.at(-1)?.kind).toBe("done");
          expect(seen.filter((delta) => delta.kind === "done" || delta.kind === "error")).toHaveLength(1);
          for (const delta of seen) expect(delta).toMatchObject({ runId: "r", modelCallIndex: 1, attempt: 1 });
          expect(model.requests[0]).toMatchObject({ ...ids, modelCallIndex: 1, attempt: 1 });
        }),
        { numRuns: 60 },
      );
    },
  );

  test("each request says where it belongs: step and attempt count on", verifies("STRM-8", "RTRY-3"), async () => {
    const reset = { error: { kind: "network", message: "reset" } } as const;
    const model = createScriptedModel([reset, { calls: [{ name: "echo" }] }, reset, reset, { text: "Done." }]);
    const agent = createAgent({ model, tools: [createEchoTool().tool], retry: { baseDelayMs: 0 } });
    await agent.run("Go", { sessionId: "s", runId: "r" });
    expect(
      model.requests.map(({ sessionId, runId, modelCallIndex, attempt }) => [
        sessionId,
        runId,
        modelCallIndex,
        attempt,
      ]),
    ).toEqual([
      ["s", "r", 1, 1],
      ["s", "r", 1, 2],
      ["s", "r", 2, 1],
      ["s", "r", 2, 2],
      ["s", "r", 2, 3],
    ]);
  });

  test(
    "of an attempt come after its start is committed, and a kill leaves no number to use again",
    verifies("STRM-1"),
    async () => {
      const store = createMemoryStore();
      const stuck = createDeferred();
      const committed: number[] = [];
      const first = createAgent({
        model: {
          id: "m",
          async *stream() {
            const loaded = await store.load("s");
            committed.push(loaded !== null && "attempt" in loaded.state ? loaded.state.attempt : 0);
            yield { kind: "text-delta", id: "1", text: "The first pro" };
            stuck.resolve();
            await new Promise(() => {});
          },
        },
        store,
        clock: createTestClock(0),
      });
      void first.run("Go", { sessionId: "s", runId: "r" });
      await stuck.promise;
      expect(committed).toEqual([1]);

      // Its process is gone as far as another can know: its lease has run out.
      const model = createScriptedModel([{ text: "The second process." }]);
      const second = createAgent({ model, store, clock: createTestClock(60_000) });
      const items = collect(second.session("s").events({ after: 0 }));
      expect(await second.session("s").resume()).toMatchObject({ status: "completed", text: "The second process." });
      expect(model.requests.map((request) => [request.modelCallIndex, request.attempt])).toEqual([[1, 2]]);
      await second.shutdown();
      void items;
    },
  );

  test("of a new attempt replace the partial message", verifies("STRM-2"), async () => {
    const agent = createAgent({
      model: createScriptedModel([
        { text: "Wrong, and", error: { kind: "network", message: "reset" } },
        { text: "Right." },
      ]),
      retry: { baseDelayMs: 0 },
    });
    const stream = agent.runStream("Go", { sessionId: "s" });
    const views = new Map<number, ReturnType<typeof createMessageView>>();
    for (const delta of deltasIn(await collect(stream))) {
      const view = views.get(delta.attempt) ?? createMessageView();
      views.set(delta.attempt, view);
      view.applyDelta(delta);
    }
    const answer = (await agent.session("s").messages())[1];
    expect([...views.keys()]).toEqual([1, 2]);
    expect(views.get(2)?.message()).toEqual(answer);
    expect(JSON.stringify(await agent.session("s").messages())).not.toContain("Wrong");
  });

  test(
    "a snapshot has the arguments that are being written, and later deltas continue them",
    verifies("STRM-3"),
    async () => {
      const goOn = createDeferred();
      const reached = createDeferred();
      async function* deltas(): AsyncGenerator<ModelDelta> {
        yield { kind: "tool-input-start", id: "a", name: "echo" };
        yield { kind: "tool-input-delta", id: "a", text: '{"n":1}' };
        yield { kind: "tool-call", id: "a", name: "echo", input: '{"n":1}' };
        yield { kind: "tool-input-start", id: "b", name: "echo" };
        yield { kind: "tool-input-delta", id: "b", text: '{"n":' };
        yield { kind: "tool-input-start", id: "c", name: "search", providerExecuted: true };
        reached.resolve();
        await goOn.promise;
        yield { kind: "tool-input-delta", id: "b", text: "2}" };
        yield { kind: "tool-call", id: "b", name: "echo", input: '{"n":2}' };
        yield { ...finished, finishReason: { unified: "tool-calls" } };
      }
      const model = createScriptedModel([{ deltas: deltas() }, { text: "Done." }]);
      const agent = createAgent({ model, tools: [createEchoTool().tool] });
      const result = agent.run("Go", { sessionId: "s", runId: "r" });
      await reached.promise;
      const items: StreamItem[] = [];
      const goingOn = (async () => {
        for await (const item of agent.session("s").events()) {
          items.push(item);
          if (item.type === "snapshot") goOn.resolve();
          if (item.type === "final") return;
        }
      })();
      await Promise.all([result, goingOn]);
      expect(items.find((item) => item.type === "snapshot")?.inputs).toEqual([
        { id: "b", name: "echo", text: '{"n":' },
        { id: "c", name: "search", text: "", providerExecuted: true },
      ]);
      // A chat that joins is told of all calls, under the names that the log gives them.
      const view = createSessionView();
      const changes = items
        .filter((item) => item.type === "snapshot" || item.type === "delta")
        .flatMap((item) => view.apply(item));
      const inputs = changes.filter(({ type }) => type === "call_opened" || type === "call_changed");
      expect(inputs).toEqual([
        { type: "call_opened", callKey: "r/1/1", name: "echo", by: null },
        { type: "call_changed", callKey: "r/1/1", by: { type: "input_grew", text: '{"n":1}' } },
        { type: "call_opened", callKey: "r/1/2", name: "echo", by: null },
        { type: "call_changed", callKey: "r/1/2", by: { type: "input_grew", text: '{"n":' } },
        { type: "call_changed", callKey: "r/1/2", by: { type: "input_grew", text: "2}" } },
      ]);
    },
  );

  test("a snapshot at any moment and the deltas after it make the final message", verifies("STRM-3"), async () => {
    await fc.assert(
      fc.asyncProperty(anyStream, fc.nat(14), async (deltas, moment) => {
        const reached = createDeferred();
        const goOn = createDeferred();
        async function* slow() {
          for (const [index, delta] of deltas.entries()) {
            if (index === Math.min(moment, deltas.length - 1)) {
              reached.resolve();
              await goOn.promise;
            }
            yield delta;
          }
        }
        const agent = createAgent({ model: createScriptedModel([{ deltas: slow() }]) });
        const result = agent.run("Go", { sessionId: "s" });
        await reached.promise;
        const items: StreamItem[] = [];
        const events = agent.session("s").events();
        const reading = (async () => {
          for await (const item of events) {
            items.push(item);
            if (item.type === "final") return;
          }
        })();
        await settled();
        goOn.resolve();
        await Promise.all([result, reading]);

        const snapshot = items.find((item) => item.type === "snapshot");
        const view = createMessageView(snapshot);
        for (const delta of deltasIn(items)) view.applyDelta(delta);
        expect(view.message()).toEqual((await agent.session("s").messages())[1]);
        if (moment > 0) expect(snapshot).toBeDefined();
      }),
      { numRuns: 80 },
    );
  });
});

describe("events", () => {
  const steps: readonly ScriptedStep[] = [
    {
      reasoning: "Two.",
      text: "Both at once.",
      calls: [{ name: "a" }, { name: "b", input: { n: 2 } }, { name: "nothing" }],
    },
    { reasoning: "Enough.", text: "The answer." },
  ];

  test("come in order within a step, and the answer comes once", verifies("STRM-4"), async () => {
    const a = createGateTool("a");
    const b = createGateTool("b");
    const clock = createTestClock();
    const agent = createAgent({ model: createScriptedModel(steps), tools: [a.tool, b.tool], clock });
    const stream = agent.runStream("Go", { runId: "r" });
    const items = collect(stream);
    await Promise.all([a.started, b.started]);
    await clock.advance(30);
    b.open("second first");
    await settled();
    await clock.advance(12);
    a.fail(new Error("out of order"));
    await stream.result;
    const seen = filterEvents(await items);

    expect(seen.map((event) => ("callKey" in event ? `${event.type} ${event.callKey}` : event.type))).toEqual([
      "session_created",
      "run_started",
      "reasoning",
      "text",
      "message",
      "call_start r/1/1",
      "call_start r/1/2",
      "call_start r/1/3",
      "step_finished",
      "tool_call r/1/1",
      "tool_call r/1/2",
      "tool_call r/1/3",
      "tool_result r/1/3",
      "call_complete r/1/3",
      "tool_result r/1/2",
      "call_complete r/1/2",
      "tool_result r/1/1",
      "call_complete r/1/1",
      "reasoning",
      "step_finished",
      "message",
      "final",
    ]);
    expect(
      filterEventsOfType(seen, "call_complete").map(({ name, status, durationMs }) => [name, status, durationMs]),
    ).toEqual([
      ["nothing", "error", 0],
      ["b", "ok", 30],
      ["a", "error", 42],
    ]);
    expect(filterEventsOfType(seen, "text").map((event) => event.text)).toEqual(["Both at once."]);
    expect(filterEventsOfType(seen, "final")[0]?.result.text).toBe("The answer.");
    expect(seen.map((event) => event.seq)).toEqual([...seen.map((event) => event.seq)].sort((x, y) => x - y));
  });

  test("end with suspended where the run waits, and with final when it has gone on", verifies("STRM-4"), async () => {
    const { tool } = createEchoTool("a");
    const agent = createAgent({
      model: createScriptedModel([{ calls: [{ name: "a" }] }, { text: "Thanks." }]),
      tools: [tool],
      canExecuteTool: () => "ask",
    });
    const items = await collect(agent.runStream("Go", { sessionId: "s", runId: "r" }));
    expect(listEventTypes(items).at(-1)).toBe("suspended");
    expect(filterEventsOfType(items, "suspended")[0]?.approvals).toMatchObject([{ callKey: "r/1/1" }]);
    await agent.session("s").answer("r/1/1", { type: "approve" });
    await agent.run("Go", { sessionId: "s", runId: "r" });
    const all = listEventTypes(await collect(agent.session("s").events({ follow: false })));
    expect(all.filter((type) => type === "suspended" || type === "final")).toEqual(["suspended", "final"]);
    expect(all.slice(all.indexOf("suspended") + 1, -1)).toEqual([
      "approval_answered",
      "tool_result",
      "call_complete",
      "step_finished",
      "message",
    ]);
  });

  test("a result for every call on abort too", verifies("STRM-4"), async () => {
    const a = createGateTool("a");
    const agent = createAgent({
      model: createScriptedModel([{ calls: [{ name: "a" }, { name: "b" }, { name: "b" }] }]),
      tools: [a.tool, createEchoTool("b").tool],
      limits: { toolConcurrency: 1 },
    });
    const controller = new AbortController();
    const stream = agent.runStream("Go", { signal: controller.signal });
    const items = collect(stream);
    await a.started;
    controller.abort();
    const seen = filterEvents(await items);
    for (const { callKey } of filterEventsOfType(seen, "tool_call"))
      expect(seen.flatMap((event) => ("callKey" in event && event.callKey === callKey ? [event.type] : []))).toEqual([
        "call_start",
        "tool_call",
        "tool_result",
        "call_complete",
      ]);
    expect(filterEventsOfType(seen, "tool_call")).toHaveLength(3);
    expect(seen.at(-1)?.type).toBe("final");
  });
});

describe("callbacks and observers", () => {
  const steps: readonly ScriptedStep[] = [{ text: "Let me see.", calls: [{ name: "echo" }] }, { text: "Seen it." }];

  test("are told of text, calls, results, steps and the response", verifies("STRM-5"), async () => {
    const told: string[] = [];
    const agent = createAgent({
      model: createScriptedModel(steps),
      tools: [createEchoTool().tool],
      onText: (text) => told.push(`text ${text}`),
      onToolCall: (event) => told.push(`call ${event.name}`),
      onToolResult: (event) => told.push(`result ${event.outcome}`),
      onStepFinish: (event) => told.push(`step ${event.modelCallIndex}`),
      onResponse: (result) => told.push(`response ${result.text}`),
    });
    await agent.run("Go");
    expect(told).toEqual([
      "text Let ",
      "text me ",
      "text see.",
      "step 1",
      "call echo",
      "result ok",
      "text Seen ",
      "text it.",
      "step 2",
      "response Seen it.",
    ]);
  });

  test("are told of a compaction", verifies("STRM-5"), () => {
    const told: unknown[] = [];
    const event = {
      type: "compacted",
      runId: "r",
      summary: "In short.",
      sessionId: "s",
      seq: 7,
      index: 1,
      at: 1,
    } as const;
    const { listeners } = compileListeners({ onCompacted: (compacted) => told.push(compacted) });
    for (const listener of listeners) {
      listener.event?.(event, { agent: "agent" });
      listener.catchUp();
    }
    expect(told).toEqual([event]);
  });

  const evil: readonly (readonly [string, () => unknown])[] = [
    [
      "throw",
      () => {
        throw new Error("watch this");
      },
    ],
    ["reject", () => Promise.reject(new Error("watch this"))],
    ["never return", () => new Promise(() => {})],
    [
      "throw what cannot be shown",
      () => {
        throw Object.create(null);
      },
    ],
  ];

  test.each(evil)("that %s change nothing", verifies("STRM-5"), async (_, act) => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const quiet = createMemoryStore();
    const loud = createMemoryStore();
    const options = (store: Store): AgentOptions => ({
      model: createScriptedModel(steps),
      tools: [createEchoTool().tool],
      store,
      clock: createTestClock(),
    });
    const ids = { sessionId: "s", runId: "r" };
    const expected = await createAgent(options(quiet)).run("Go", ids);
    const callbacks = { onText: act, onToolCall: act, onToolResult: act, onStepFinish: act, onResponse: act };
    const observers = [{ name: "evil", onEvent: act, onDelta: act }];
    const agent = createAgent({ ...options(loud), ...callbacks, observers });
    expect(await agent.run("Go", ids)).toEqual(expected);
    expect(await loud.read("s")).toEqual(await quiet.read("s"));
    await settled();
    if (_ !== "never return") expect(warned).toHaveBeenCalled();
    warned.mockRestore();
  });
});

describe.each(localStores)("a client on $name", ({ open }) => {
  test(
    "asks for what came after an entry, live or after a restart, and gets the same",
    verifies("STRM-6"),
    async () => {
      await withStore(open, async (store) => {
        const gate = createGateTool();
        const model = createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "The end." }]);
        const agent = createAgent({ model, tools: [gate.tool], store });
        const result = agent.run("Go", { sessionId: "s" });
        await gate.started;
        const live = [0, 1, 2, 3].map(async (after) => {
          const items: StreamItem[] = [];
          for await (const item of agent.session("s").events({ after })) {
            items.push(item);
            if (item.type === "final") break;
          }
          return { after, events: filterEvents(items) };
        });
        await settled();
        gate.open("ok");
        await result;
        const again = createAgent({ model: createScriptedModel([]), store });
        for (const { after, events } of await Promise.all(live)) {
          expect(events.every((event) => event.seq > after)).toBe(true);
          expect(await collect(again.session("s").events({ after, follow: false }))).toEqual(events);
        }
      });
    },
  );

  test("that leaves does not end the run; that cancels does", verifies("STRM-6"), async () => {
    await withStore(open, async (store) => {
      const gate = createGateTool();
      const model = createScriptedModel(() => ({ calls: [{ name: "gate" }] }));
      const agent = createAgent({ model, tools: [gate.tool], store, limits: { maxSteps: 1, onMaxSteps: "stop" } });
      const stream = agent.runStream("Go", { sessionId: "s" });
      for await (const item of stream) if (item.type === "call_start") break;
      const { signal } = await gate.started;
      expect(signal.aborted).toBe(false);
      gate.open("ok");
      expect(await stream.result).toMatchObject({ status: "failed", reason: "max_steps" });

      const second = createGateTool();
      const cancelled = createAgent({ model, tools: [second.tool], store });
      const other = cancelled.run("Go", { sessionId: "t" });
      await second.started;
      await cancelled.session("t").abort({ by: "another connection" });
      expect(await other).toMatchObject({ status: "aborted" });
    });
  });

  test(
    "of a session that another agent holds sees the same events, and can cancel there",
    verifies("STRM-6", "REC-5"),
    async () => {
      await withStore(open, async (store) => {
        const gate = createGateTool();
        const holder = createAgent({
          model: createScriptedModel([{ calls: [{ name: "gate" }] }]),
          tools: [gate.tool],
          store,
        });
        const result = holder.run("Go", { sessionId: "s" });
        await gate.started;
        const onlooker = createAgent({ model: createScriptedModel([]), store });
        const watching = (async () => {
          const items: StreamItem[] = [];
          for await (const item of onlooker.session("s").events()) {
            items.push(item);
            if (item.type === "final") break;
          }
          return items;
        })();
        const attached = onlooker.session("s").resume();
        await settled();
        await onlooker.session("s").abort();
        expect(await result).toMatchObject({ status: "aborted" });
        expect(await attached).toEqual(await result);
        expect(filterEvents(await watching)).toEqual(await collect(holder.session("s").events({ follow: false })));
      });
    },
  );

  test("that goes on with a session which another agent has left misses nothing", verifies("STRM-6"), async () => {
    await withStore(open, async (store) => {
      const one = createAgent({ model: createScriptedModel([{ text: "1" }, { text: "3" }]), store });
      const two = createAgent({ model: createScriptedModel([{ text: "2" }]), store });
      await one.run("One", { sessionId: "s" });
      const ends: string[] = [];
      const seqs: number[] = [];
      const watching = (async () => {
        for await (const item of one.session("s").events()) {
          if (isEvent(item)) seqs.push(item.seq);
          if (item.type === "final") ends.push(item.result.text);
          if (ends.length === 3) return;
        }
      })();
      await settled();
      await two.run("Two", { sessionId: "s" });
      await one.run("Three", { sessionId: "s" });
      await watching;
      expect(ends).toEqual(["1", "2", "3"]);
      expect(seqs).toEqual([...seqs].sort((x, y) => x - y));
      expect((await collect(one.session("s").events({ follow: false }))).length).toBe(seqs.length);
    });
  });

  test("sees the same ends of a run that was recovered", verifies("STRM-6"), async () => {
    const shape = (items: readonly StreamItem[]) =>
      listEventTypes(items).filter((type) => type !== "restarted" && type !== "abort_requested");
    const script: readonly ScriptedStep[] = [{ calls: [{ name: "echo" }] }, { text: "The end." }];
    const seen: (readonly string[])[] = [];
    await withStore(open, async (store) => {
      const agent = createAgent({ model: createScriptedModel(script), tools: [createEchoTool().tool], store });
      seen.push(shape(await collect(agent.runStream("Go", { sessionId: "s" }))));
    });
    await withStore(open, async (store) => {
      const stuck = createGateTool("echo", { heedsSignal: false });
      const dying = createAgent({
        model: createScriptedModel(script),
        tools: [{ ...stuck.tool, readOnly: true }],
        store,
        clock: createTestClock(0),
      });
      void dying.run("Go", { sessionId: "s" });
      await stuck.started;
      const next = createAgent({
        model: createScriptedModel(script.slice(1)),
        tools: [createEchoTool().tool],
        store,
        clock: createTestClock(60_000),
      });
      expect(await next.session("s").resume()).toMatchObject({ status: "completed", text: "The end." });
      seen.push(shape(await collect(next.session("s").events({ follow: false }))));
    });
    expect(seen[1]).toEqual(seen[0]);
  });
});

describe("a consumer that lags", () => {
  test("gets one notice and goes on from the log; the run does not wait for it", verifies("STRM-7"), async () => {
    const words = "word ".repeat(3_000);
    const agent = createAgent({
      model: createScriptedModel([{ text: words, calls: [{ name: "echo" }] }, { text: "Done." }]),
      tools: [createEchoTool().tool],
    });
    const stream = agent.runStream("Go", { sessionId: "s" });
    const reading = stream[Symbol.asyncIterator]();
    const items: StreamItem[] = [];
    const first = await reading.next();
    if (first.done !== true) items.push(first.value);
    expect(await stream.result).toMatchObject({ status: "completed", text: "Done." });
    for (let next = await reading.next(); next.done !== true; next = await reading.next()) items.push(next.value);

    expect(items.filter((item) => item.type === "lagged")).toHaveLength(1);
    expect(deltasIn(items).length).toBeLessThan(1_025);
    expect(filterEvents(items)).toEqual(await collect(agent.session("s").events({ follow: false })));
    const at = items.findIndex((item) => item.type === "lagged");
    const next = items.slice(at).find(isEvent);
    expect(items[at]).toEqual({ type: "lagged", fromSeq: next?.seq });
  });

  test("in the middle of an entry gets the rest of it", verifies("STRM-7"), async () => {
    const calls = Array.from({ length: 450 }, () => ({ name: "echo" }));
    const agent = createAgent({
      model: createScriptedModel([{ calls }, { text: "Done." }]),
      tools: [createEchoTool().tool],
    });
    const stream = agent.runStream("Go", { sessionId: "s" });
    const items: StreamItem[] = [];
    for await (const item of stream) {
      items.push(item);
      if (item.type === "call_start" && items.length < 300) await settled();
    }
    expect(items.some((item) => item.type === "lagged")).toBe(true);
    expect(filterEvents(items)).toEqual(await collect(agent.session("s").events({ follow: false })));
  });

  test("in the middle of a message gets a snapshot to go on from", verifies("STRM-7", "STRM-3"), async () => {
    const goOn = createDeferred();
    const flooded = createDeferred();
    async function* deltas(): AsyncGenerator<ModelDelta> {
      for (let index = 0; index < 2_000; index += 1) yield { kind: "text-delta", id: "1", text: `${index} ` };
      flooded.resolve();
      await goOn.promise;
      yield { kind: "text-delta", id: "1", text: "the end" };
      yield finished;
    }
    const agent = createAgent({ model: createScriptedModel([{ deltas: deltas() }]) });
    const stream = agent.runStream("Go", { sessionId: "s" });
    const items: StreamItem[] = [];
    const reading = (async () => {
      for await (const item of stream) {
        items.push(item);
        if (item.type === "run_started") await flooded.promise;
        if (item.type === "snapshot") goOn.resolve();
      }
    })();
    await reading;
    const snapshot = items.findLast((item) => item.type === "snapshot");
    const view = createMessageView(snapshot);
    for (const delta of deltasIn(items.slice(items.findLastIndex((item) => item.type === "snapshot"))))
      view.applyDelta(delta);
    expect(view.message()).toEqual((await agent.session("s").messages())[1]);
  });

  test("never holds more than it may, however long it sleeps", verifies("STRM-7"), async () => {
    const agent = createAgent({ model: createScriptedModel(() => ({ text: "x ".repeat(500) })) });
    const items = agent.session("s").events();
    const first = items.next();
    for (let run = 0; run < 20; run += 1) await agent.run("Go", { sessionId: "s" });
    expect((await first).done).toBe(false);
    const seen: StreamItem[] = [];
    for (let next = await items.next(); next.done !== true; next = await items.next()) {
      seen.push(next.value);
      if (filterEventsOfType(seen, "final").length === 20) break;
    }
    await items.return();
    expect(deltasIn(seen).length).toBeLessThanOrEqual(1_024);
    expect(seen.filter((item) => item.type === "lagged").length).toBeGreaterThanOrEqual(1);
  });
});
