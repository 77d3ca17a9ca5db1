/**
 * Tools that are given to one run: `run(input, { tools })`.
 */
import { describe, expect, test } from "vitest";
import {
  type AnyTool,
  createAgent,
  createMemoryStore,
  defineTool,
  type Hook,
  type PublicEvent,
  type Session,
} from "../../src/index.js";
import { modelRequests } from "../../src/inspect.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { collect, createGateTool } from "../support/agents.js";

function named(name: string, more: Partial<AnyTool> = {}): AnyTool {
  const input = { type: "object", properties: { order: { type: "number" } } } as const;
  const tool = defineTool({ name, description: `Does ${name}.`, input, execute: () => `${name} done` });
  return { ...tool, ...more };
}

const call = (name: string, input: object = {}): ScriptedStep => ({ calls: [{ name, input: input as never }] });
const done: ScriptedStep = { text: "Done." };

function desk(script: readonly ScriptedStep[], more: object = {}) {
  const model = createScriptedModel(script);
  const store = createMemoryStore();
  return { model, store, agent: createAgent({ name: "desk", model, store, tools: [named("own")], ...more }) };
}

const offered = ({ requests }: ReturnType<typeof createScriptedModel>) =>
  requests.map(({ tools }) => tools.map(({ name }) => name));

const eventsOf = (session: Session) => collect(session.events({ follow: false })) as Promise<PublicEvent[]>;

/** The results of calls, as a model sees them. */
async function resultsOf(session: Session): Promise<readonly string[]> {
  return (await eventsOf(session)).flatMap((event) =>
    event.type === "tool_result" ? [JSON.stringify(event.output)] : [],
  );
}

describe("a tool of one run", () => {
  test("is offered and called in that run, and in no other", async () => {
    const { model, store, agent } = desk([call("track", { order: 7 }), done, done]);
    const inputs: unknown[] = [];
    const track = named("track", { execute: (input) => `seen ${inputs.push(input)}` });
    const result = await agent.run("Where is it?", { sessionId: "s", runId: "r", tools: [track] });
    expect(result).toMatchObject({ status: "completed", text: "Done." });
    await agent.run("Thanks.", { sessionId: "s" });
    expect(inputs).toEqual([{ order: 7 }]);
    expect(offered(model)).toEqual([["own", "track"], ["own", "track"], ["own"]]);
    expect(agent.specifications().map(({ name }) => name)).not.toContain("track");
    // Requests are made again from the log, with the tool's schema.
    const [first, , last] = await collect(modelRequests(store, "s"));
    expect([first?.tools, last?.tools]).toEqual([model.requests[0]?.tools, model.requests[2]?.tools]);
  });

  test("may be one of a record of AI SDK tools, be chosen, and end the run by a condition", async () => {
    const { model, agent } = desk([call("track"), done]);
    const track = {
      description: "Tracks.",
      inputSchema: { jsonSchema: { type: "object" } },
      execute: () => "on its way",
    };
    const result = await agent.run("Go", {
      tools: { track: track as never },
      activeTools: ["track"],
      toolChoice: { tool: "track" },
      stopWhen: { tool: "track" },
    });
    expect(result).toMatchObject({ status: "completed", reason: "stop_condition" });
    expect(offered(model)).toEqual([["track"]]);
    expect(model.requests[0]?.toolChoice).toEqual({ tool: "track" });
  });

  test("is seen by hooks, permissions and approvals like a tool of the agent", async () => {
    const seen: string[] = [];
    const hooks: readonly Hook[] = [{ name: "audit", beforeToolCall: ({ name }) => void seen.push(`hook ${name}`) }];
    const canExecuteTool = ({ tool }: { readonly tool: { readonly name: string } }) => {
      seen.push(`may ${tool.name}`);
      return "allow" as const;
    };
    const { agent } = desk([call("pay"), done], { hooks, canExecuteTool });
    const tools = [named("pay", { needsApproval: true })];
    const asked = await agent.run("Pay", { sessionId: "s", runId: "r", tools });
    expect(asked.status).toBe("awaiting_human");
    await agent.session("s").answer("r/1/1", { type: "approve" });
    expect(await agent.session("s").resume()).toMatchObject({ status: "completed" });
    expect(await resultsOf(agent.session("s"))).toEqual([expect.stringContaining("pay done")]);
    expect(seen).toContain("hook pay");
    expect(seen).toContain("may pay");
  });

  test("is found and called through call_tool, if it is deferred", async () => {
    const found = [call("find_tools", { query: "track" }), call("call_tool", { name: "track", input: { order: 1 } })];
    const { model, agent } = desk([...found, done]);
    await agent.run("Go", { sessionId: "s", tools: [named("track", { defer: true })] });
    expect(offered(model)[0]).toEqual(["own", "find_tools", "call_tool"]);
    const [search, result] = await resultsOf(agent.session("s"));
    expect(search).toContain("Does track.");
    expect(result).toContain("track done");
    expect(await agent.session("s").replay()).toMatchObject({ difference: null });
  });

  test("is not offered after a handoff: what a run overrides belongs to the agent that it began with", async () => {
    const second = createScriptedModel([done]);
    const other = createAgent({ name: "other", model: second, tools: [named("theirs")] });
    const { model, agent } = desk([call("transfer_to_other")], {
      handoffs: [{ name: "other", description: "Does the rest.", agent: () => other }],
    });
    const result = await agent.run("Go", { tools: [named("track")] });
    expect(result.status).toBe("completed");
    expect(offered(model)[0]).toContain("track");
    expect(offered(second)).toEqual([["theirs"]]);
  });

  test("does not make a replay of its run differ, although nobody has it any more", async () => {
    const { agent } = desk([call("track", { order: 1 }), call("own"), done]);
    await agent.run("Go", { sessionId: "s", tools: [named("track", { readOnly: true })] });
    expect(await agent.session("s").replay()).toMatchObject({ difference: null });
    const changed = agent.with({ tools: [named("own", { description: "Does something else." })] });
    expect((await changed.session("s").replay()).difference).not.toBeNull();
  });

  test("is refused at once if it cannot be the run's", async () => {
    const helper = createAgent({ name: "helper", model: createScriptedModel([]) });
    const reached = createAgent({ name: "reached", model: createScriptedModel([]), tools: [named("theirs")] });
    const { model, store, agent } = desk([], {
      handoffs: [{ name: "reached", description: "Does the rest.", agent: () => reached }],
    });
    const refused = [
      [[named("own")], "duplicate_tool", '"own"'],
      [[named("theirs")], "duplicate_tool", '"theirs"'],
      [[named("a"), named("a")], "duplicate_tool", '"a"'],
      [[named("a", { defer: true }), named("find_tools")], "duplicate_tool", "find_tools"],
      [[helper.asTool({ description: "Helps." })], "bad_input", "agent.with"],
      [[named("a", { needApproval: true } as never)], "bad_configuration", "needsApproval"],
      ["track", "bad_input", "list of tools"],
    ] as const;
    for (const [tools, code, words] of refused) {
      const running = agent.run("Go", { tools: tools as never });
      await expect(running).rejects.toMatchObject({ code, message: expect.stringContaining(words) });
    }
    const misspelt = agent.run("Go", { tools: [named("track")], activeTools: ["trakc"] });
    await expect(misspelt).rejects.toMatchObject({ code: "bad_input", message: expect.stringContaining('"track"') });
    const sent = agent.session("s").send("Go", { tools: [named("track")] } as never);
    await expect(sent).rejects.toMatchObject({ code: "bad_input", message: expect.stringContaining("run()") });
    expect(await store.list({})).toEqual([]);
    expect(model.requests).toEqual([]);
  });
});

describe("a process that carries the run on", () => {
  /** A run that was cut off in a call of its tool, and another process of the agent. */
  async function cutOff(script: readonly ScriptedStep[], more: Partial<AnyTool> = {}) {
    const clock = createTestClock();
    const gate = createGateTool("track");
    const { agent, store } = desk([call("track", { order: 7 })], { clock });
    void agent.run("Where is it?", {
      sessionId: "s",
      runId: "r",
      tools: [{ ...gate.tool, recover: "rerun", ...more }],
    });
    await gate.started;
    clock.jump(60_000);
    const heir = desk(script, { store, clock });
    return { ...heir, session: heir.agent.session("s") };
  }

  test("goes on without the tool, and says so to the model, in the log and to observers", async () => {
    const { model, session } = await cutOff([call("track"), done]);
    expect(await session.resume()).toMatchObject({ status: "completed", text: "Done." });
    expect(offered(model)).toEqual([["own"], ["own"]]);
    const results = await resultsOf(session);
    expect(results).toHaveLength(2);
    for (const result of results) expect(result).toContain("'track' was given to this run alone");
    const failed = (await eventsOf(session)).filter((event) => event.type === "hook_failed");
    expect(failed).toMatchObject([{ name: "tool track", message: expect.stringContaining("resume()") }]);
    expect(await session.replay()).toMatchObject({ difference: null });
  });

  test("has the tool if it is given to resume() again", async () => {
    const { model, session } = await cutOff([call("track"), done]);
    const again = [named("track", { recover: "rerun" })];
    expect(await session.resume({ tools: again })).toMatchObject({ status: "completed" });
    expect(await resultsOf(session)).toEqual(Array(2).fill(expect.stringContaining("track done")));
    expect(offered(model)).toEqual([
      ["own", "track"],
      ["own", "track"],
    ]);
    expect((await eventsOf(session)).some((event) => event.type === "hook_failed")).toBe(false);
  });

  test("has the tool if its agent does", async () => {
    const { agent, session } = await cutOff([call("track"), done]);
    const wider = agent.with({ tools: [named("own"), named("track")] });
    expect(await wider.session("s").resume()).toMatchObject({ status: "completed" });
    expect(await resultsOf(session)).toEqual(Array(2).fill(expect.stringContaining("track done")));
  });

  test("is given no tool that the run was not started with, and none that the agent has", async () => {
    const { session } = await cutOff([done]);
    const other = session.resume({ tools: [named("trakc")] });
    await expect(other).rejects.toMatchObject({ code: "bad_input", message: expect.stringContaining('"track"') });
    await expect(session.resume({ tools: [named("own")] })).rejects.toMatchObject({ code: "duplicate_tool" });
    expect(await session.state()).toMatchObject({ status: "tool_running" });
  });

  test("asks about a call that may have happened, and runs it once the tool is there", async () => {
    const { session } = await cutOff([done], { recover: "ask" });
    const asked = await session.resume({ tools: [named("track", { recover: "ask" })] });
    expect(asked.status).toBe("awaiting_human");
    await session.answer("r/1/1", { type: "rerun" });
    expect(await session.resume()).toMatchObject({ status: "completed" });
    expect(await resultsOf(session)).toEqual([expect.stringContaining("track done")]);
  });
});
