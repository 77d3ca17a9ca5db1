/**
 * How long the tool choice of a run holds.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createMemoryStore, type Hook, type ModelRequest, type StartOptions } from "../../src/index.js";
import { modelRequests } from "../../src/inspect.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { collect, createEchoTool } from "../support/agents.js";
import { verifies } from "../verifies.js";

type Choice = NonNullable<StartOptions["toolChoice"]>;

/** A model that obeys: it calls the tool as long as it is forced to, and else answers. */
function obedient() {
  return createScriptedModel(({ toolChoice }) =>
    toolChoice === "required" || typeof toolChoice === "object" ? { calls: [{ name: "echo" }] } : { text: "Done." },
  );
}

function agentWith(model: ReturnType<typeof obedient>, hooks: readonly Hook[] = []) {
  const store = createMemoryStore();
  return { store, agent: createAgent({ model, tools: [createEchoTool().tool], store, hooks }) };
}

const choicesOf = (requests: readonly ModelRequest[]) => requests.map(({ toolChoice }) => toolChoice);

describe("a forced tool choice", verifies("LOOP-17"), () => {
  test.for<[Choice, unknown]>([
    ["required", "required"],
    [{ required: true }, "required"],
    [{ tool: "echo" }, { tool: "echo" }],
    [{ tool: "echo", everyStep: false }, { tool: "echo" }],
  ])("%j holds for the first model call of the run, and then the model may end it", async ([toolChoice, sent]) => {
    const model = obedient();
    const { agent } = agentWith(model);
    expect(await agent.run("Go", { toolChoice })).toMatchObject({ status: "completed", text: "Done.", steps: 2 });
    expect(choicesOf(model.requests)).toEqual([sent, "auto"]);
  });

  test.for<[Choice, unknown]>([
    [{ required: true, everyStep: true }, "required"],
    [{ tool: "echo", everyStep: true }, { tool: "echo" }],
  ])("%j holds for each model call", async ([toolChoice, sent]) => {
    const model = obedient();
    const { agent } = agentWith(model);
    const limits = { maxSteps: 3, onMaxSteps: "stop" } as const;
    expect(await agent.run("Go", { toolChoice, limits })).toMatchObject({ reason: "max_steps", steps: 3 });
    expect(choicesOf(model.requests)).toEqual([sent, sent, sent]);
  });

  test("holds for the first model call of each run that asks for it, queued ones too", async () => {
    const model = obedient();
    const { agent } = agentWith(model);
    const session = agent.session("s");
    await session.send("One", { toolChoice: "required" });
    const { runId } = await session.send("Two", { toolChoice: "required" });
    await agent.run("Two", { sessionId: "s", runId });
    expect(choicesOf(model.requests)).toEqual(["required", "auto", "required", "auto"]);
  });

  test("is made anew from the log: another attempt, and the requests of a session as they were sent", async () => {
    const model = createScriptedModel([
      { error: { kind: "overloaded", message: "again" } },
      { calls: [{ name: "echo" }] },
      { text: "Done." },
    ]);
    const { agent, store } = agentWith(model);
    const own = agent.with({ retry: { baseDelayMs: 0 }, store });
    expect(await own.run("Go", { sessionId: "s", toolChoice: "required" })).toMatchObject({ status: "completed" });
    expect(choicesOf(model.requests)).toEqual(["required", "required", "auto"]);
    expect(choicesOf(await collect(modelRequests(store, "s")))).toEqual(["required", "required", "auto"]);
    expect((await own.session("s").replay()).difference).toBeNull();
  });

  test("of a hook is for its call, and the hook sees what holds otherwise", async () => {
    const seen: unknown[] = [];
    const hook: Hook = {
      name: "choose",
      beforeLLMCall({ modelCallIndex, toolChoice }) {
        seen.push(toolChoice);
        return modelCallIndex === 2 ? { toolChoice: { tool: "echo" } } : undefined;
      },
    };
    const model = obedient();
    const { agent } = agentWith(model, [hook]);
    expect(await agent.run("Go", { toolChoice: "required" })).toMatchObject({ status: "completed", steps: 3 });
    expect(choicesOf(model.requests)).toEqual(["required", { tool: "echo" }, "auto"]);
    expect(seen).toEqual(["required", "auto", "auto"]);
  });

  test("does not count in a call that may not use the tool: providers refuse such a request", async () => {
    const hook: Hook = {
      name: "phases",
      beforeLLMCall: ({ modelCallIndex }) => (modelCallIndex === 1 ? { activeTools: [] } : undefined),
    };
    const model = createScriptedModel([{ text: "So be it." }]);
    const { agent, store } = agentWith(model, [hook]);
    await agent.run("Go", { sessionId: "s", toolChoice: { tool: "echo", everyStep: true } });
    expect(model.requests).toMatchObject([{ tools: [] }]);
    expect(model.requests[0]).not.toHaveProperty("toolChoice");
    expect(await collect(modelRequests(store, "s"))).toEqual(model.requests);

    const without = createScriptedModel([{ text: "So be it." }]);
    await createAgent({ model: without }).run("Go", { toolChoice: "required" });
    expect(without.requests[0]).not.toHaveProperty("toolChoice");

    const other = createAgent({ name: "other", model: createScriptedModel([]) });
    const handoff = { name: "other", description: "Helps.", agent: () => other, when: () => false };
    const alone = createScriptedModel([{ text: "Alone, then." }]);
    const handing = createAgent({ model: alone, handoffs: [handoff] });
    await handing.run("Go", { toolChoice: { tool: "transfer_to_other" } });
    expect(alone.requests[0]).not.toHaveProperty("toolChoice");
  });

  test("is refused if the run itself leaves the tool out", async () => {
    const { agent } = agentWith(obedient());
    await expect(agent.run("Go", { activeTools: [], toolChoice: { tool: "echo" } })).rejects.toMatchObject({
      code: "bad_input",
      message: expect.stringContaining('forces "echo", which activeTools does not include'),
    });
  });

  test.each([
    "any",
    1,
    null,
    [[]],
    {},
    { required: false },
    { tool: "" },
    { tool: "echo", required: true },
    { tool: "echo", everyStep: "yes" },
    { tool: "echo", everystep: true },
  ])("%j is none", async (toolChoice) => {
    const { agent } = agentWith(obedient());
    await expect(agent.run("Go", { toolChoice: toolChoice as Choice })).rejects.toMatchObject({ code: "bad_input" });
  });
});
