/**
 * The options of a run that no log can hold: a process keeps them as long as the run needs them, and for that run alone.
 */
import { describe, expect, test } from "vitest";
import {
  type AgentOptions,
  createAgent,
  createMemoryStore,
  defineTool,
  type Store,
  stepCount,
} from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { verifies } from "../verifies.js";

/** An agent whose tool notes the dependencies that it gets. */
function agentThatLooks(options: Partial<AgentOptions> = {}) {
  const seen: unknown[] = [];
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: { type: "object" },
    execute: (_input, { deps }) => void seen.push(deps),
  });
  const agent = createAgent({
    model: createScriptedModel(({ modelCallIndex }) =>
      modelCallIndex === 1 ? { calls: [{ name: "look" }] } : { text: "Done." },
    ),
    tools: [look],
    deps: { mail: "real" },
    ...options,
  });
  return { agent, seen };
}

const fake = { dependencyOverrides: { mail: "fake" } };

describe("the local options of a run", verifies("TOOL-8"), () => {
  test("are forgotten if it throws before it begins: the next try has those of its agent", async () => {
    const { agent, seen } = agentThatLooks();
    await agent.run("Go", { sessionId: "s", runId: "first" });
    const history = [{ role: "user" as const, parts: [{ type: "text" as const, text: "Before." }] }];
    const refused = agent.run("Go", { sessionId: "s", runId: "r", history, ...fake });
    await expect(refused).rejects.toMatchObject({ code: "bad_input" });
    await agent.run("Go", { sessionId: "s", runId: "r" });
    expect(seen).toEqual([{ mail: "real" }, { mail: "real" }]);
  });

  test("are forgotten if the store cannot take its request", async () => {
    const inner = createMemoryStore();
    let isDown = true;
    const claim: Store["claim"] = (...claimed) =>
      isDown ? Promise.reject(new Error("the disk is full")) : inner.claim(...claimed);
    const post: Store["post"] = (...posted) =>
      isDown ? Promise.reject(new Error("the disk is full")) : inner.post(...posted);
    const { agent, seen } = agentThatLooks({ store: { ...inner, claim, post } });
    const refused = await agent.run("Go", { sessionId: "s", runId: "r", ...fake });
    expect(refused).toMatchObject({ status: "interrupted", resumable: false });
    isDown = false;
    expect(await agent.run("Go", { sessionId: "s", runId: "r" })).toMatchObject({ status: "completed" });
    expect(seen).toEqual([{ mail: "real" }]);
  });

  test("are forgotten when the run has ended, whoever carried it on", async () => {
    const { agent, seen } = agentThatLooks({ canExecuteTool: () => ({ verdict: "ask" }) });
    const answerAll = async (sessionId: string) => {
      const session = agent.session(sessionId);
      for (const { callKey } of await session.pendingApprovals()) await session.answer(callKey, { type: "approve" });
      return session.resume();
    };
    await agent.run("Go", { sessionId: "s", runId: "r", ...fake });
    expect(await answerAll("s")).toMatchObject({ status: "completed" });
    await agent.run("Go", { sessionId: "t", runId: "r" });
    expect(await answerAll("t")).toMatchObject({ status: "completed" });
    expect(seen).toEqual([{ mail: "fake" }, { mail: "real" }]);
  });

  test("are those of one session: another one may have a run of the same id", async () => {
    const { agent, seen } = agentThatLooks();
    const results = await Promise.all([
      agent.run("Go", { sessionId: "a", runId: "r", dependencyOverrides: { mail: "a" } }),
      agent.run("Go", { sessionId: "b", runId: "r", dependencyOverrides: { mail: "b" }, stopWhen: () => true }),
      agent.run("Go", { sessionId: "c", runId: "r", stopWhen: stepCount(9) }),
    ]);
    expect(results.map((result) => "reason" in result && result.reason)).toEqual(["stop", "stop_condition", "stop"]);
    expect(seen).toEqual([{ mail: "a" }, { mail: "b" }, { mail: "real" }]);
  });
});
