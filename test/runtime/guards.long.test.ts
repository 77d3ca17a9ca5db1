/**
 * Guards through crashes before and after every commit, and before and after every model call and tool call.
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore, defineTool, guard } from "../../src/index.js";
import { crashTest, createScriptedModel } from "../../src/testing/index.js";
import { verifies } from "../verifies.js";

const work = defineTool({
  name: "work",
  description: "Works.",
  input: { type: "object" },
  recover: "rerun",
  execute: () => "done",
});

function create(last: string, log: string[]) {
  const model = createScriptedModel(({ modelCallIndex }) =>
    modelCallIndex < 3 ? { text: `Step ${modelCallIndex}.`, calls: [{ name: "work" }] } : { text: last },
  );
  const look = guard({
    name: "look",
    every: "step",
    hold: true,
    input: async () => void log.push("input"),
    output: async ({ text }) => {
      await Promise.resolve();
      return text.includes("heron") ? { trip: "It tells the code." } : undefined;
    },
  });
  return createAgent({ model, tools: [work], hooks: [look], store: createMemoryStore() });
}

test.for(["commits", "waits"] as const)(
  "a guard trips in every play, with crashes at %s",
  verifies("FIN-11"),
  async (points) => {
    const asked: string[] = [];
    const store = createMemoryStore();
    const report = await crashTest({
      agent: () => create("The code is heron.", asked),
      input: "Go.",
      store,
      points,
      pairs: points === "commits",
      async check({ result, log, sessionId }) {
        expect(result).toMatchObject({ status: "failed", reason: "output_refused", text: "The answer was refused." });
        expect(JSON.stringify(log)).not.toContain("heron");
        const tripped = log.filter(({ event }) => event.hooks?.some(({ outcome }) => outcome === "tripped"));
        expect(tripped).toHaveLength(1);
        const answers = log.filter(({ event }) => event.type === "model_finished");
        expect(answers).toHaveLength(2);
        for (const { event } of answers)
          expect(event.hooks).toMatchObject([{ name: "look", hook: "besideLLMCall", outcome: "ok" }]);
        const replay = await create("", []).with({ store }).session(sessionId).replay();
        expect(replay.difference).toBeNull();
      },
    });
    expect(report.plays).toBeGreaterThan(10);
    // Each attempt asks anew.
    expect(asked.length).toBeGreaterThan(report.plays * 3);
  },
);
