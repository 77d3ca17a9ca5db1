/**
 * Entries that are committed while nobody in the process listens.
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore, type PublicEvent, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { collect, createDeferred, createEchoTool, createGateTool, filterEvents } from "../support/agents.js";

type Position = readonly [seq: number, index: number, type: string];

function toPosition({ seq, index, type }: PublicEvent): Position {
  return [seq, index, type];
}

test("a subscriber that joins in the middle of such a commit gets its events from the log, each once", async () => {
  const begun = createDeferred();
  const mayCommit = createDeferred();
  const memory = createMemoryStore();
  const store: Store = {
    ...memory,
    async commit(lease, commit) {
      if (commit.events.some(({ type }) => type === "model_finished")) {
        begun.resolve();
        await mayCommit.promise;
      }
      return memory.commit(lease, commit);
    },
  };
  const model = createScriptedModel(({ modelCallIndex }) =>
    modelCallIndex === 1 ? { text: "I look.", calls: [{ name: "echo", input: { n: 1 } }] } : { text: "Done." },
  );
  const agent = createAgent({ model, store, tools: [createEchoTool().tool] });
  const ended = agent.run("Begin", { sessionId: "s", runId: "r" });
  await begun.promise;
  const items = agent.session("s").events();
  const got: Position[] = [];
  for await (const item of items) {
    // From its first item on, which comes from the log, the consumer is a subscriber.
    mayCommit.resolve();
    if ("seq" in item) got.push(toPosition(item));
    // The consumer was still reading the log, so nothing that it got is missing.
    expect(item.type).not.toBe("lagged");
    if (item.type === "final") break;
  }
  expect(await ended).toMatchObject({ status: "completed", text: "Done." });
  const logged = filterEvents(await collect(agent.session("s").events({ follow: false })));
  expect(got).toEqual(logged.map(toPosition));
});

test("the caller of a queued run that is aborted gets its result while the other run goes on", async () => {
  const gate = createGateTool();
  const model = createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "First." }]);
  const agent = createAgent({ model, tools: [gate.tool] });
  const first = agent.run("One", { sessionId: "s" });
  await gate.started;
  const controller = new AbortController();
  const second = agent.run("Two", { sessionId: "s", runId: "second", signal: controller.signal });
  await expect.poll(async () => (await agent.session("s").state()).queue).toHaveLength(1);
  controller.abort();
  expect(await second).toMatchObject({ status: "aborted", runId: "second" });
  gate.open("opened");
  expect(await first).toMatchObject({ status: "completed", text: "First." });
});
