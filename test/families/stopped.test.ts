/**
 * A parent is aborted, and the process that was to tell its child dies: the child ends all the same.
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock, settled, type TestClock } from "../../src/testing/test-clock.js";
import { createDeferred, createGateTool } from "../support/agents.js";
import { verifies } from "../verifies.js";

function parentOver(store: Store, clock: TestClock) {
  const gate = createGateTool("gate");
  const child = createAgent({
    name: "child",
    model: createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "Child done." }]),
    tools: [gate.tool],
  });
  const parent = createAgent({
    model: createScriptedModel([{ calls: [{ name: "child", input: { task: "Wait." } }] }, { text: "Done." }]),
    tools: [child.asTool({ description: "Waits." })],
    limits: { abortGraceMs: 100 },
    store,
    clock,
  });
  return { parent, gate };
}

test("the next driver of a stopped run tells its child before it gives the child up", verifies("REC-8"), async () => {
  const clock = createTestClock();
  const inner = createMemoryStore();
  const tells = createDeferred();
  // The process dies when it is about to tell the child.
  const dying: Store = {
    ...inner,
    post(sessionId, message) {
      if (message.body.type !== "abort" || sessionId === "s") return inner.post(sessionId, message);
      tells.resolve();
      return new Promise(() => {});
    },
  };
  const { parent: first, gate } = parentOver(dying, clock);
  void first.run("Go", { sessionId: "s" }).catch(() => {});
  await gate.started;
  await first.session("s").abort();
  await tells.promise;
  clock.jump(60_000);
  const { parent: second } = parentOver(inner, clock);
  const resumed = second.session("s").resume();
  for (let turn = 0; turn < 20; turn += 1) {
    await settled();
    clock.fireNext();
  }
  expect(await resumed).toMatchObject({ status: "aborted" });
  const children = (await inner.list()).filter(({ sessionId }) => sessionId !== "s");
  expect(children.map(({ status }) => status)).toEqual(["aborted"]);
});
