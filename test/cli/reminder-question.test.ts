/**
 * Which runs set reminders without a question: those that a person has started or written to.
 */
import { describe, expect, test } from "vitest";
import { findReminderQuestion } from "../../src/cli/permissions/reminder-question.js";
import { createAgent, createClient, createMemoryStore, createWorker, defineTool } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createDeferred } from "../support/agents.js";
import { verifies } from "../verifies.js";

const proven = verifies("TIME-3");
const input = { type: "object", properties: {} } as const;

/** An agent whose runs call the tool `work`, and then find out whether a reminder would ask. */
function createWorld(work: (runId: string) => Promise<unknown>) {
  const store = createMemoryStore();
  const asks = new Map<string, boolean>();
  const tools = [
    defineTool({
      ...{ name: "work", description: "Works.", input },
      async execute(_, { runId }) {
        await work(runId);
        return "Done.";
      },
    }),
    defineTool({
      ...{ name: "check", description: "Checks.", input },
      async execute(_, context) {
        asks.set(
          context.runId,
          (await findReminderQuestion({ tool: "remind_me", input: {} }, context, store)) !== undefined,
        );
        return "Done.";
      },
    }),
  ];
  const model = createScriptedModel(({ modelCallIndex }) =>
    modelCallIndex > 2 ? { text: "Done." } : { calls: [{ name: modelCallIndex === 1 ? "work" : "check", input: {} }] },
  );
  const session = createClient({ store }).session("s");
  const worker = createWorker({ store, agents: [createAgent({ model, tools, store, name: "a" })] });
  const send = (runId: string, by: string, mode: "queue" | "steer" = "queue") =>
    session.send("Go.", { agent: "a", runId, by, mode });
  return { store, asks, send, worker };
}

describe("a reminder", () => {
  test.each([
    ["ada", false],
    ["remind_me", true],
    ["schedule:daily", true],
  ])("in a run that was sent by %s: asks %s", proven, async (by, isAsked) => {
    const { asks, send, worker } = createWorld(async () => {});
    await send("r", by);
    await worker.runUntilIdle();
    expect(asks).toEqual(new Map([["r", isAsked]]));
  });

  test("in a run that waited for another one asks or does not as its own sender says", proven, async () => {
    const isWorking = createDeferred();
    const isSent = createDeferred();
    const { asks, send, worker } = createWorld(async (runId) => {
      if (runId !== "first") return;
      isWorking.resolve();
      await isSent.promise;
    });
    await send("first", "remind_me");
    const working = worker.runUntilIdle();
    await isWorking.promise;
    await send("person", "ada");
    await send("schedule", "schedule:daily");
    isSent.resolve();
    await working;
    expect([...asks]).toEqual([
      ["first", true],
      ["person", false],
      ["schedule", true],
    ]);
  });

  test("in a run that a schedule started does not ask once a person has written to it", proven, async () => {
    const isWorking = createDeferred();
    const isSent = createDeferred();
    const { store, asks, send, worker } = createWorld(async () => {
      isWorking.resolve();
      await isSent.promise;
    });
    await send("r", "schedule:daily");
    const working = worker.runUntilIdle();
    await isWorking.promise;
    await send("later", "ada", "steer");
    await expect.poll(async () => (await store.read("s")).map(({ event }) => event.type)).toContain("steered");
    isSent.resolve();
    await working;
    expect(asks).toEqual(new Map([["r", false]]));
  });
});
