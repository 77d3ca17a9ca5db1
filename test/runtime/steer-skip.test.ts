/**
 * A steer that skips the calls which have not started.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createClient, createMemoryStore, defineTool, type Session } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import {
  collect,
  createDeferred,
  createEchoTool,
  createGateTool,
  filterEvents,
  filterEventsOfType,
} from "../support/agents.js";
import { verifies } from "../verifies.js";

const proven = verifies("LOOP-8");
const skipped = "Error: Skipped: the user sent new directions before it started. The call was not run.";

/** A run whose step has a call that runs, one that waits for the slot, one that asks a person, and one from outside. */
async function stepUnderWay() {
  const gate = createGateTool("running");
  const echo = createEchoTool("waiting");
  const asking = createEchoTool("asking");
  const outside = defineTool({ name: "outside", description: "Elsewhere.", input: { type: "object" } });
  const calls = [{ name: "outside" }, { name: "running" }, { name: "waiting" }, { name: "asking" }];
  const model = createScriptedModel([{ calls }, { text: "As you wish." }]);
  const store = createMemoryStore();
  const agent = createAgent({
    model,
    store,
    tools: [gate.tool, echo.tool, asking.tool, outside],
    limits: { toolConcurrency: 1 },
    canExecuteTool: ({ tool }) => (tool.name === "asking" ? "ask" : "allow"),
  });
  const stream = agent.runStream("Go", { sessionId: "s", runId: "r" });
  const items = collect(stream);
  await gate.started;
  return { gate, echo, asking, model, store, agent, session: agent.session("s"), items, result: stream.result };
}

describe("a steer with skip", proven, () => {
  test.for<[string, (session: Session) => Promise<unknown>]>([
    ["steer", (session) => session.steer("Leave the rest.", { skip: "unstarted" })],
    ["send", (session) => session.send("Leave the rest.", { mode: "steer", skip: "unstarted" })],
  ])("(%s) ends the calls that have not started at once; those that have go on", async ([, steer]) => {
    const { gate, echo, asking, model, store, agent, session, items } = await stepUnderWay();
    await steer(session);
    const log = await store.read("s");
    const at = log.findIndex(({ event }) => event.type === "steered");
    expect(
      log.slice(at).map(({ event }) => ("callKey" in event ? `${event.type} ${event.callKey}` : event.type)),
    ).toEqual(["steered", "tool_finished r/1/3", "tool_finished r/1/4"]);
    expect(await session.pendingApprovals()).toMatchObject([{ callKey: "r/1/1", why: "external" }]);
    gate.open("ran to its end");
    await items;
    await session.provideResult("r/1/1", "from outside");
    expect(await agent.run("Go", { sessionId: "s", runId: "r" })).toMatchObject({ text: "As you wish." });
    expect([echo.inputs, asking.inputs]).toEqual([[], []]);
    const [results, steered] = model.requests[1]?.messages.slice(-2) ?? [];
    expect(results?.parts.map((part) => ("output" in part ? part.output : null))).toEqual([
      { type: "text", text: "from outside" },
      { type: "text", text: "ran to its end" },
      { type: "text", text: skipped },
      { type: "text", text: skipped },
    ]);
    expect(steered).toEqual({ role: "user", parts: [{ type: "text", text: "Leave the rest." }] });
    const events = filterEvents(await collect(session.events({ follow: false })));
    expect(filterEventsOfType(events, "steered")).toMatchObject([{ skip: "unstarted", source: "user" }]);
    const outcomes = filterEventsOfType(events, "tool_result").map(({ name, outcome }) => `${name} ${outcome}`);
    expect(outcomes.slice(0, 2)).toEqual(["waiting skipped", "asking skipped"]);
    expect((await session.replay()).difference).toBeNull();
  });

  test("without it, they run, and the model gets the message after their results", async () => {
    const { gate, echo, session, items } = await stepUnderWay();
    await session.steer("Leave the rest.");
    gate.open("ran to its end");
    await items;
    expect(echo.inputs).toHaveLength(1);
    expect(await session.pendingApprovals()).toHaveLength(2);
  });

  test("of a client makes a run that waits for a person go on", async () => {
    const model = createScriptedModel([{ calls: [{ name: "echo" }] }, { text: "As you wish." }]);
    const { tool, inputs } = createEchoTool();
    const store = createMemoryStore();
    const agent = createAgent({ model, store, tools: [tool], canExecuteTool: () => "ask" });
    expect(await agent.run("Go", { sessionId: "s" })).toMatchObject({ status: "awaiting_human" });
    await createClient({ store }).session("s").steer("Leave it.", { skip: "unstarted" });
    expect(await agent.session("s").resume()).toMatchObject({ status: "completed", text: "As you wish." });
    expect(inputs).toEqual([]);
    await expect(agent.session("s").answer("r/1/1", { type: "approve" })).rejects.toMatchObject({
      code: "no_such_call",
    });
  });

  test("ends a call that is still being decided on, and a late decision runs nothing", async () => {
    const asked = createDeferred();
    const decision = createDeferred<"allow">();
    const { tool, inputs } = createEchoTool();
    const model = createScriptedModel([{ calls: [{ name: "echo" }] }, { text: "As you wish." }]);
    const canExecuteTool = () => {
      asked.resolve();
      return decision.promise;
    };
    const agent = createAgent({ model, tools: [tool], canExecuteTool });
    const run = agent.run("Go", { sessionId: "s" });
    await asked.promise;
    await agent.session("s").steer("Leave it.", { skip: "unstarted" });
    expect(await run).toMatchObject({ status: "completed", text: "As you wish." });
    decision.resolve("allow");
    await decision.promise;
    expect(inputs).toEqual([]);
    expect(model.requests[1]?.messages.at(-2)).toMatchObject({ parts: [{ output: { text: skipped } }] });
  });

  test("leaves a call alone that may have run before a crash", async () => {
    const started = createDeferred();
    const store = createMemoryStore();
    const tool = defineTool({
      name: "once",
      description: "Runs once.",
      input: { type: "object" },
      recover: "ask",
      execute: () => {
        started.resolve();
        return new Promise(() => {});
      },
    });
    const model = createScriptedModel([{ calls: [{ name: "once" }] }, { text: "As you wish." }]);
    const first = createAgent({ model, store, tools: [tool] });
    const run = first.run("Go", { sessionId: "s", runId: "r" });
    await started.promise;
    await first.shutdown({ graceMs: 1 });
    await run;
    const second = createAgent({ model, store, tools: [tool] });
    expect(await second.session("s").resume()).toMatchObject({ status: "awaiting_human" });
    await second.session("s").steer("Leave it.", { skip: "unstarted" });
    expect(await second.session("s").pendingApprovals()).toMatchObject([{ callKey: "r/1/1", why: "recovery" }]);
  });

  test("is refused for another value, and where nothing is steered", async () => {
    const { session, gate } = await stepUnderWay();
    const refused = { code: "bad_input" };
    await expect(session.steer("x", { skip: "all" as "unstarted" })).rejects.toMatchObject(refused);
    await expect(session.send("x", { skip: "unstarted" })).rejects.toMatchObject(refused);
    gate.open("");
  });
});
