/**
 * Runs that join the trace of the request that asked for them.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { type Context, type ContextManager, context, ROOT_CONTEXT, trace } from "@opentelemetry/api";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  type AnyTool,
  createAgent,
  createClient,
  createMemoryStore,
  defineTool,
  type Session,
} from "../../src/index.js";
import { traceSession } from "../../src/inspect.js";
import { activeTraceparent, createOpenTelemetryObserver, exportTrace } from "../../src/protocols/opentelemetry.js";
import { createServer, createToken } from "../../src/server/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { createEchoTool, createGateTool } from "../support/agents.js";
import { verifies } from "../verifies.js";
import { type ExportedSpan, startCollector } from "./collector.js";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const spanId = "00f067aa0ba902b7";
const traceparent = `00-${traceId}-${spanId}-01`;

const runsIn = (spans: readonly ExportedSpan[]) => spans.filter(({ name }) => name.startsWith("invoke_agent"));
const runIn = (spans: readonly ExportedSpan[]) => {
  const [run] = runsIn(spans);
  if (run === undefined) throw new Error("No span of a run was exported.");
  return run;
};

/** Spans can be active in this test, as with the package for Node. */
function keepActiveSpans(): void {
  const storage = new AsyncLocalStorage<Context>();
  const manager: ContextManager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (active, act, self, ...given) => storage.run(active, () => act.apply(self as never, given)),
    bind: (_, target) => target,
    enable: () => manager,
    disable: () => manager,
  };
  context.setGlobalContextManager(manager);
  onTestFinished(() => context.disable());
}

async function ended(session: Session, runId: string): Promise<void> {
  for await (const item of session.events()) if (item.type === "final" && item.runId === runId) return;
}

describe("the trace of a request", () => {
  test("is that of its run, also after another process has taken the run up", verifies("TRC-1"), async () => {
    const clock = createTestClock();
    const store = createMemoryStore();
    const gate = createGateTool("wait");
    void createAgent({
      model: createScriptedModel([{ calls: [{ name: "wait" }] }]),
      tools: [{ ...gate.tool, recover: "rerun" }],
      store,
      clock,
    }).run("Go", { sessionId: "s", runId: "r", traceparent });
    await gate.started;
    clock.jump(60_000);
    const { tracer, exported } = await startCollector();
    const heir = createAgent({
      model: createScriptedModel([{ text: "Done." }, { text: "Again." }]),
      tools: [{ ...createEchoTool("wait").tool, recover: "rerun" }],
      store,
      clock,
      observers: [createOpenTelemetryObserver({ tracer })],
    });
    expect(await heir.session("s").resume()).toMatchObject({ status: "completed" });
    const spans = await exported();
    expect(runIn(spans)).toMatchObject({ traceId, parentSpanId: spanId, links: [] });
    expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
    expect(spans).toHaveLength(4);
    // The next run of the session has a trace of its own, and reading the log gives the same.
    await heir.run("Once more.", { sessionId: "s" });
    const later = await startCollector();
    const records = await traceSession(store, "s");
    exportTrace(records, { tracer: later.tracer });
    const [first, second] = runsIn(await later.exported());
    expect([first?.traceId, second?.traceId === traceId]).toEqual([traceId, false]);
    // Read from the middle of the run on, too.
    const steps = records.filter((record) => record.type === "step");
    const tail = await traceSession(store, "s", { after: (steps[1]?.contextSeq ?? 0) + 1 });
    expect(tail.filter(({ runId }) => runId === "r").map((record) => record.traceId)).toEqual(
      tail.flatMap(({ runId }) => (runId === "r" ? [traceId] : [])),
    );
    expect(tail.some(({ runId }) => runId === "r")).toBe(true);
  });

  test("is in the traceparent of its calls, the same in each attempt of a call", verifies("TRC-1"), async () => {
    const clock = createTestClock();
    const store = createMemoryStore();
    const seen: string[] = [];
    const gate = createGateTool("wait");
    const { execute = () => {}, ...declared } = gate.tool;
    const tools: AnyTool[] = [
      {
        ...declared,
        recover: "rerun",
        execute: (input, context) => {
          seen.push(context.traceparent);
          return seen.length === 1 ? execute(input, context) : "ok";
        },
      },
    ];
    const model = createScriptedModel([{ calls: [{ name: "wait" }] }]);
    void createAgent({ model, tools, store, clock }).run("Go", { sessionId: "s", runId: "r" });
    await gate.started;
    clock.jump(60_000);
    const later = createScriptedModel([{ calls: [{ name: "wait" }] }, { text: "Done." }]);
    const heir = createAgent({ model: later, tools, store, clock });
    expect(await heir.session("s").resume()).toMatchObject({ status: "completed" });
    const [first = "", again, next = ""] = seen;
    const [started] = await traceSession(store, "s");
    expect(first).toMatch(new RegExp(`^00-${started?.traceId}-[0-9a-f]{16}-01$`));
    expect(again).toBe(first);
    expect(next).toMatch(new RegExp(`^00-${started?.traceId}-`));
    expect(next).not.toBe(first);
    expect(seen).toHaveLength(3);
  });

  test("has the runs of the agents behind the agent's tools in it", verifies("TRC-1"), async () => {
    const { tracer, exported } = await startCollector();
    const observer = createOpenTelemetryObserver({ tracer });
    const child = createAgent({ name: "child", model: createScriptedModel([{ text: "So it is." }]) });
    const parent = createAgent({
      name: "parent",
      model: createScriptedModel([{ calls: [{ name: "ask", input: { task: "Is it?" } }] }, { text: "It is." }]),
      tools: [child.asTool({ name: "ask", description: "Asks." })],
      observers: [{ ...observer, children: true }],
    });
    await parent.run("Find out.", { traceparent });
    const runs = runsIn(await exported());
    expect(runs.map(({ name }) => name).sort()).toEqual(["invoke_agent child", "invoke_agent parent"]);
    for (const run of runs) expect(run).toMatchObject({ traceId, parentSpanId: spanId, links: [] });
  });

  test("is that of a run that had to wait for its turn, and of one that is sent without an agent", async () => {
    const store = createMemoryStore();
    const gate = createGateTool("wait");
    const script = [{ calls: [{ name: "wait" }] }, { text: "One." }, { text: "Two." }, { text: "Three." }];
    const agent = createAgent({ model: createScriptedModel(script), tools: [gate.tool], store });
    const first = agent.run("One", { sessionId: "s" });
    await gate.started;
    const { runId } = await agent.session("s").send("Two", { traceparent, by: "ada" });
    const posted = await createClient({ store }).session("s").send("Three", { traceparent, by: "bo" });
    gate.open("ok");
    await first;
    await ended(agent.session("s"), posted.runId);
    const started = (await traceSession(store, "s")).filter((record) => record.type === "run_started");
    expect(started.map((run) => [run.runId, run.traceparent, run.principal])).toEqual([
      [started[0]?.runId, undefined, undefined],
      [runId, traceparent, "ada"],
      [posted.runId, traceparent, "bo"],
    ]);
  });

  test("is taken as W3C writes it, and what is written otherwise is ignored", async () => {
    const taken = [
      [traceparent, traceparent],
      [`00-${traceId}-${spanId}-00`, `00-${traceId}-${spanId}-00`],
      [`00-${traceId}-${spanId}-03`, traceparent],
      [`cc-${traceId}-${spanId}-01`, traceparent],
      [`cc-${traceId}-${spanId}-01-what-comes-later`, traceparent],
    ] as const;
    const ignored = [
      "",
      "garbage",
      `ff-${traceId}-${spanId}-01`,
      `00-${traceId}-${spanId}-01-more`,
      `cc-${traceId}-${spanId}-01.more`,
      `00-${"0".repeat(32)}-${spanId}-01`,
      `00-${traceId}-${"0".repeat(16)}-01`,
      `00-${traceId.toUpperCase()}-${spanId}-01`,
      `00-${traceId}-${spanId}`,
      ` ${traceparent}`,
      "0".repeat(1_000_000),
    ];
    const agent = createAgent({ model: createScriptedModel(() => ({ text: "Done." })) });
    const kept = async (given: string) => {
      const { sessionId } = await agent.run("Go", { traceparent: given });
      const [started] = await traceSession(agent.options.store as never, sessionId);
      return started?.type === "run_started" ? started.traceparent : null;
    };
    for (const [given, wanted] of taken) expect([given, await kept(given)]).toEqual([given, wanted]);
    for (const given of ignored)
      expect([given.slice(0, 80), await kept(given)]).toEqual([given.slice(0, 80), undefined]);
    await expect(agent.run("Go", { traceparent: 7 as never })).rejects.toMatchObject({ code: "bad_input" });
  });

  test("is that of the span that is active when the run is asked for", verifies("TRC-1"), async () => {
    keepActiveSpans();
    const { tracer, exported } = await startCollector();
    const observers = [createOpenTelemetryObserver({ tracer })];
    const store = createMemoryStore();
    const model = createScriptedModel(() => ({ text: "Done." }));
    const agent = createAgent({ model, observers, store });
    const request = tracer.startSpan("GET /");
    await context.with(trace.setSpan(context.active(), request), async () => {
      await agent.run("One");
      // An option is more exact than the surroundings.
      await agent.run("Two", { traceparent });
      await agent.run("Three", { traceparent: null });
    });
    request.end();
    await agent.run("Four", { traceparent: undefined });
    const { traceId: own, spanId: root } = request.spanContext();
    const runs = runsIn(await exported()).map((run) => [run.traceId, run.parentSpanId]);
    expect(runs.slice(0, 2)).toEqual([
      [own, root],
      [traceId, spanId],
    ]);
    for (const [alone] of runs.slice(2)) expect([own, traceId]).not.toContain(alone);
    expect(runs).toHaveLength(4);
  });

  test("is asked of an observer, whose failure stops no run", async () => {
    const failing = {
      traceparent: () => {
        throw new Error("no");
      },
    };
    const observers = [failing, { traceparent: () => undefined }, { traceparent: () => traceparent }];
    const agent = createAgent({ model: createScriptedModel([{ text: "Done." }]), observers });
    const { sessionId } = await agent.run("Go");
    const [started] = await traceSession(agent.options.store as never, sessionId);
    expect(started).toMatchObject({ traceId, traceparent });
  });
});

describe("a request to the server", () => {
  async function traced(
    headers: Record<string, string>,
    options: { readonly traceparent?: boolean | (() => string | undefined) },
  ) {
    const store = createMemoryStore();
    const agent = createAgent({ name: "desk", model: createScriptedModel(() => ({ text: "Done." })), store });
    const token = createToken();
    const server = createServer({ store, agents: [agent], token, ...options });
    onTestFinished(() => server.close());
    const ask = async (path: string, body?: object) => {
      const all = { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers };
      const posted = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
      const response = await server.fetch(new Request(`http://localhost${path}`, { headers: all, ...posted }));
      const text = await response.text();
      expect(response.status, text).toBeLessThan(300);
      return text;
    };
    const { sessionId } = JSON.parse(await ask("/v1/sessions", { agent: "desk", input: "One." }));
    const { runId } = JSON.parse(await ask(`/v1/sessions/${sessionId}/runs`, { input: "Two." }));
    await ask(`/v1/sessions/${sessionId}/runs/${runId}?wait=30`);
    await ask("/v1/chat", {
      id: "c",
      messages: [{ id: "m", role: "user", parts: [{ type: "text", text: "Three." }] }],
    });
    const traces = await Promise.all((await store.list({})).map((one) => traceSession(store, one.sessionId)));
    return traces.flat().flatMap((record) => (record.type === "run_started" ? [record.traceparent] : []));
  }

  test("brings its traceparent, unless the server is told otherwise", async () => {
    expect(await traced({ traceparent }, {})).toEqual([traceparent, traceparent, traceparent]);
    expect(await traced({}, {})).toEqual([undefined, undefined, undefined]);
    expect(await traced({ traceparent: "garbage" }, {})).toEqual([undefined, undefined, undefined]);
    expect(await traced({ traceparent }, { traceparent: false })).toEqual([undefined, undefined, undefined]);
    const other = `00-${"a".repeat(32)}-${spanId}-01`;
    expect(await traced({ traceparent }, { traceparent: () => other })).toEqual([other, other, other]);
    const failing = () => {
      throw new Error("no");
    };
    expect(await traced({ traceparent }, { traceparent: failing })).toEqual([undefined, undefined, undefined]);
    const token = createToken();
    const wrong = { store: createMemoryStore(), agents: [], token, traceparent: "yes" as never };
    expect(() => createServer(wrong)).toThrow(expect.objectContaining({ code: "bad_configuration" }));
  });

  test("is a child of the span that is active in the server, if it is told to look for that", async () => {
    keepActiveSpans();
    const { tracer } = await startCollector();
    const span = tracer.startSpan("POST");
    const found = await context.with(trace.setSpan(context.active(), span), () =>
      traced({ traceparent }, { traceparent: activeTraceparent }),
    );
    const { traceId: own, spanId: root } = span.spanContext();
    span.end();
    expect(found).toEqual(Array(3).fill(`00-${own}-${root}-01`));
    expect(activeTraceparent()).toBeUndefined();
  });
});

test("Spans name people only if they may", verifies("SEC-14"), async () => {
  const [silent, telling] = [await startCollector(), await startCollector()];
  const observers = [
    createOpenTelemetryObserver({ tracer: silent.tracer, captureContent: true }),
    createOpenTelemetryObserver({ tracer: telling.tracer, principal: true }),
  ];
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    input: { type: "object" },
    needsApproval: true,
    execute: () => "paid",
  });
  const model = createScriptedModel([{ calls: [{ name: "pay" }] }, { text: "Done." }]);
  const agent = createAgent({ model, tools: [pay], observers });
  await agent.run("Go", { sessionId: "s", runId: "r", by: "Ada Lovelace" });
  await agent.session("s").answer("r/1/1", { type: "approve" }, { by: "Grace Hopper" });
  await ended(agent.session("s"), "r");
  await agent.shutdown();
  const text = (spans: readonly ExportedSpan[]) =>
    JSON.stringify(spans, (_, value) => (typeof value === "bigint" ? "" : value));
  expect(text(await silent.exported())).not.toMatch(/Lovelace|Hopper/);
  const run = runIn(await telling.exported());
  expect(run.attributes["enduser.id"]).toBe("Ada Lovelace");
  expect(run.events.find(({ name }) => name === "pawl.wait")?.attributes["pawl.wait.by"]).toBe("Grace Hopper");
});
