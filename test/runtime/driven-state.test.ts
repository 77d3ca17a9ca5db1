/**
 * The state of a session that this process drives: known without a read, unless another process may have the session by now.
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { createGateTool } from "../support/agents.js";
import { verifies } from "../verifies.js";

test("a process that slept past its lease shows what another one has committed", verifies("DIST-3"), async () => {
  const inner = createMemoryStore();
  const loads: string[] = [];
  const store = {
    ...inner,
    load(sessionId: string) {
      loads.push(sessionId);
      return inner.load(sessionId);
    },
  };
  const clock = createTestClock();
  const gate = createGateTool();
  const model = createScriptedModel([{ calls: [{ name: "gate", input: {} }] }, { text: "Done here." }]);
  const agent = createAgent({ model, tools: [gate.tool], store, clock });
  const run = agent.run("Go", { sessionId: "s" });
  await gate.started;
  const session = agent.session("s");
  loads.splice(0);
  expect((await session.state()).status).toBe("tool_running");
  expect(loads).toEqual([]);

  // Its timers stand still while it sleeps, so it has not noticed that its lease is over.
  clock.jump(60_000);
  const other = createAgent({
    model: createScriptedModel([{ text: "Done elsewhere." }]),
    tools: [{ ...createGateTool().tool, execute: () => "opened", recover: "rerun" as const }],
    store: inner,
    clock: createTestClock(clock.now()),
  });
  expect(await other.session("s").resume()).toMatchObject({ status: "completed", text: "Done elsewhere." });
  expect((await session.state()).status).toBe("completed");
  expect(loads).not.toEqual([]);
  gate.open("opened");
  expect(await run).toMatchObject({ status: "interrupted", reason: "lease_lost" });
});
