import { describe, expect, test } from "vitest";
import { createAgent, type RunResult } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { settled } from "../../src/testing/test-clock.js";
import {
  collect,
  createDeferred,
  createEchoTool,
  createGateTool,
  filterEventsOfType,
  listEventTypes,
} from "../support/agents.js";
import { createWatchedClock } from "../support/clock.js";
import { createPausedReleaseStore } from "../support/paused-release-store.js";
import { createPausingStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const aborted = { status: "aborted", reason: "aborted", text: "Request aborted." } as const;

describe("an abort", () => {
  test("before the run: nothing is asked for, and the end is told", verifies("LOOP-10#signal"), async () => {
    const model = createScriptedModel([{ text: "Never." }]);
    const agent = createAgent({ model });
    const stream = agent.runStream("Go", { signal: AbortSignal.abort(), sessionId: "s" });
    const items = await collect(stream);
    expect(await stream.result).toMatchObject({ ...aborted, sessionId: "s", steps: 0 });
    expect(listEventTypes(items)).toEqual(["session_created", "run_started", "abort_requested", "final"]);
    expect(model.requests).toHaveLength(0);
    expect(await agent.run("Go", { signal: AbortSignal.abort() })).toMatchObject(aborted);
    await expect(agent.session("s").send("Go", { signal: AbortSignal.abort() })).rejects.toThrow(/abort/i);
  });

  test(
    "during a model call: its signal, the usage that was told, and the end",
    verifies("LOOP-10#signal"),
    async () => {
      const started = createDeferred();
      const controller = new AbortController();
      const agent = createAgent({
        model: {
          id: "m",
          async *stream(_request, signal) {
            yield { kind: "text-delta", id: "1", text: "Half a" };
            started.resolve();
            await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
          },
        },
      });
      const stream = agent.runStream("Go", { signal: controller.signal });
      const items = collect(stream);
      await started.promise;
      controller.abort();
      expect(await stream.result).toMatchObject(aborted);
      expect(listEventTypes(await items).slice(-3)).toEqual(["attempt_failed", "message", "final"]);
      expect(filterEventsOfType(await items, "attempt_failed")[0]?.failure.kind).toBe("cancelled");
    },
  );

  test("while the request is being committed", verifies("LOOP-10#signal"), async () => {
    const { store, reached, release } = createPausingStore("run_started");
    const controller = new AbortController();
    const agent = createAgent({ model: createScriptedModel([{ text: "Never.", wait: new Promise(() => {}) }]), store });
    const result = agent.run("Go", { signal: controller.signal });
    await reached;
    controller.abort();
    release();
    expect(await result).toMatchObject(aborted);
  });

  test("in a backoff ends the wait at once", verifies("LOOP-10#signal"), async () => {
    const clock = createWatchedClock();
    const controller = new AbortController();
    const agent = createAgent({
      model: createScriptedModel([
        { error: { kind: "rate_limit", message: "slow down", retryAfterMs: 7_000 } },
        { text: "Never." },
      ]),
      clock,
    });
    const result = agent.run("Go", { signal: controller.signal });
    await clock.waitFor(7_000);
    controller.abort();
    expect(await result).toMatchObject(aborted);
  });

  test(
    "signals a tool that runs, records what it gives, and starts no other",
    verifies("LOOP-10", "REC-8"),
    async () => {
      const gate = createGateTool();
      const echo = createEchoTool();
      const controller = new AbortController();
      const model = createScriptedModel([
        { calls: [{ name: "gate" }, { name: "echo" }], text: "Two calls." },
        { text: "And on." },
      ]);
      const agent = createAgent({ model, tools: [gate.tool, echo.tool], limits: { toolConcurrency: 1 } });
      const stream = agent.runStream("Go", { sessionId: "s", signal: controller.signal });
      const items = collect(stream);
      const { signal } = await gate.started;
      controller.abort();
      expect(await stream.result).toMatchObject(aborted);
      expect(signal.aborted).toBe(true);
      expect(filterEventsOfType(await items, "tool_result").map(({ name, outcome }) => [name, outcome])).toEqual([
        ["echo", "aborted"],
        ["gate", "error"],
      ]);
      expect(filterEventsOfType(await items, "final")).toHaveLength(1);
      expect(echo.inputs).toEqual([]);

      expect(await agent.run("Go on", { sessionId: "s" })).toMatchObject({ status: "completed", text: "And on." });
      const shown = model.requests[1]?.messages.map((message) => message.role);
      expect(shown).toEqual(["user", "assistant", "tool", "user"]);
    },
  );

  test(
    "gives a tool that ignores its signal up when the grace is over; what comes later is a note",
    verifies("LOOP-10", "REC-8"),
    async () => {
      const clock = createWatchedClock();
      const gate = createGateTool("gate", { heedsSignal: false });
      const model = createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "I see." }]);
      const agent = createAgent({ model, tools: [gate.tool], clock });
      const controller = new AbortController();
      const result = agent.run("Go", { sessionId: "s", signal: controller.signal });
      await gate.started;
      controller.abort();
      let isOver = false;
      void result.then(() => {
        isOver = true;
      });
      await clock.advance(4_999);
      expect(isOver).toBe(false);
      await clock.advance(1);
      expect(await result).toMatchObject(aborted);
      expect(JSON.stringify(await agent.session("s").messages())).toContain("Interrupted");

      gate.open("It is done after all.");
      await settled();
      await settled();
      const events = await collect(agent.session("s").events({ follow: false }));
      expect(filterEventsOfType(events, "late_result")).toHaveLength(1);
      await agent.run("What now?", { sessionId: "s" });
      expect(JSON.stringify(model.requests[1]?.messages)).toContain("It is done after all.");
    },
  );

  test("what comes while the last commit is under way is a note as well", verifies("LOOP-10", "REC-8"), async () => {
    const clock = createWatchedClock();
    const { store, written, acknowledge } = createPausedReleaseStore();
    const gate = createGateTool("gate", { heedsSignal: false });
    const model = createScriptedModel([{ calls: [{ name: "gate" }] }]);
    const agent = createAgent({ model, tools: [gate.tool], clock, store });
    const controller = new AbortController();
    const result = agent.run("Go", { sessionId: "s", signal: controller.signal });
    await gate.started;
    controller.abort();
    await settled();
    await clock.advance(5_000);
    await written;
    gate.open("It is done after all.");
    await settled();
    acknowledge();
    expect(await result).toMatchObject(aborted);
    await settled();
    await settled();
    const events = await collect(agent.session("s").events({ follow: false }));
    expect(filterEventsOfType(events, "late_result")).toHaveLength(1);
  });

  test(
    "what comes later leaves the next run to the driver that it has in this process",
    verifies("LOOP-10"),
    async () => {
      const clock = createWatchedClock();
      const first = createGateTool("first", { heedsSignal: false });
      const second = createGateTool("second");
      const model = createScriptedModel([
        { calls: [{ name: "first" }] },
        { calls: [{ name: "second" }] },
        { text: "Both are done." },
      ]);
      const agent = createAgent({ model, tools: [first.tool, second.tool], clock });
      const controller = new AbortController();
      const result = agent.run("Go", { sessionId: "s", signal: controller.signal });
      await first.started;
      controller.abort();
      await settled();
      await clock.advance(5_000);
      expect(await result).toMatchObject(aborted);

      const next = agent.run("What now?", { sessionId: "s" });
      await second.started;
      first.open("It is done after all.");
      await settled();
      await settled();
      second.open("So is this.");
      expect(await next).toMatchObject({ status: "completed", text: "Both are done." });
      expect(second.runs()).toBe(1);
      const events = await collect(agent.session("s").events({ follow: false }));
      expect(filterEventsOfType(events, "late_result")).toHaveLength(1);
      expect(filterEventsOfType(events, "restarted")).toHaveLength(0);
    },
  );

  test("twice is once", verifies("LOOP-10#signal"), async () => {
    const gate = createGateTool();
    const agent = createAgent({ model: createScriptedModel([{ calls: [{ name: "gate" }] }]), tools: [gate.tool] });
    const result = agent.run("Go", { sessionId: "s" });
    await gate.started;
    const session = agent.session("s");
    await Promise.all([session.abort(), session.abort({ by: "me" })]);
    expect(await result).toMatchObject(aborted);
    await session.abort();
    const events = await collect(session.events({ follow: false }));
    expect(filterEventsOfType(events, "abort_requested")).toHaveLength(1);
    expect(filterEventsOfType(events, "final")).toHaveLength(1);
  });

  test("of a queued run takes it out, and leaves the one under way alone", verifies("LOOP-10#signal"), async () => {
    const gate = createGateTool();
    const model = createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "First." }]);
    const agent = createAgent({ model, tools: [gate.tool] });
    const first = agent.run("One", { sessionId: "s" });
    await gate.started;
    const controller = new AbortController();
    const second = agent.runStream("Two", { sessionId: "s", runId: "second", signal: controller.signal });
    const items = collect(second);
    await settled();
    controller.abort();
    expect(await second.result).toMatchObject({ ...aborted, runId: "second" });
    expect(listEventTypes(await items)).toEqual(["run_queued", "abort_requested", "final"]);
    gate.open("ok");
    expect(await first).toMatchObject({ status: "completed", text: "First." });
    expect(await agent.run("Two", { sessionId: "s", runId: "second" })).toMatchObject({ ...aborted, runId: "second" });
    expect(model.requests).toHaveLength(2);
  });

  test("by the signal of `send` reaches its run", verifies("LOOP-10#signal"), async () => {
    const gate = createGateTool();
    const agent = createAgent({ model: createScriptedModel([{ calls: [{ name: "gate" }] }]), tools: [gate.tool] });
    const controller = new AbortController();
    const session = agent.session("s");
    const { runId } = await session.send("Go", { signal: controller.signal });
    await gate.started;
    controller.abort();
    const result: RunResult = await agent.run("Go", { sessionId: "s", runId });
    expect(result).toMatchObject(aborted);
  });

  test("in `iterate` ends with a last view", verifies("LOOP-10#signal"), async () => {
    const gate = createGateTool();
    const agent = createAgent({ model: createScriptedModel([{ calls: [{ name: "gate" }] }]), tools: [gate.tool] });
    const controller = new AbortController();
    void gate.started.then(() => controller.abort());
    const views = [];
    for await (const view of agent.iterate("Go", { signal: controller.signal })) views.push(view);
    expect(views.at(-1)?.state.status).toBe("aborted");
  });
});
