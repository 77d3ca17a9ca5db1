/**
 * Tools that change the session's data, with a crash before and after each commit, and at every pair of them.
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore, defineTool, type Json } from "../../src/index.js";
import { crashTest } from "../../src/testing/crash-test.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { isInShare } from "../support/share.js";
import { verifies } from "../verifies.js";

const more = (old: Json | undefined) => Number(old ?? 0) + 1;
/** In continuous integration, one commit in three. */
const playsPairs = isInShare(0);
const long = "A long result. ".repeat(40);

test("whatever dies, each change that is in the log counts once, and the data is what the log says", {
  ...verifies("TOOL-17"),
  timeout: 120_000,
}, async () => {
  const store = createMemoryStore();
  /** What a tool read of its own changes, and of the conversation. */
  const read: string[] = [];
  const steps: { readonly [index: number]: ScriptedStep } = {
    1: { calls: [{ name: "count" }, { name: "keep" }, { name: "count", input: { n: 2 } }], usage: usage(600) },
    2: { calls: [{ name: "count", input: { n: 3 } }], usage: usage(900) },
    3: { calls: [{ name: "keep", input: { n: 2 } }], usage: usage(900) },
  };
  const count = defineTool({
    name: "count",
    description: "Counts.",
    input: { type: "object" },
    recover: "rerun",
    execute(_input, { data, messages }) {
      data.update("counted", more);
      read.push(`${messages.length > 0}`);
      return `${long} ${String(data.get("counted"))}`;
    },
  });
  const keep = defineTool({
    name: "keep",
    description: "Keeps.",
    input: { type: "object" },
    durable: true,
    async execute(_input, { data, step }) {
      data.update("begun", more);
      data.set("draft", true);
      await step("one", () => 1);
      data.update("one", more);
      await step("two", () => Promise.reject(new Error("not now"))).catch(() => {});
      data.update("two", more);
      await step("three", () => 3);
      data.delete("draft");
      data.update("ended", more);
      return long;
    },
  });
  const report = await crashTest({
    agent: () =>
      createAgent({
        model: createScriptedModel((request) => steps[request.modelCallIndex] ?? { text: "Done." }),
        tools: [count, keep],
        compaction: {
          contextWindow: 1_000,
          model: createScriptedModel(() => ({ text: "So far." })),
        },
      }),
    input: "Count and keep.",
    store,
    pairs: playsPairs,
    reset() {
      read.length = 0;
    },
    async check({ result, log, sessionId }) {
      expect(result).toMatchObject({ status: "completed", text: "Done." });
      const whole = { counted: 3, begun: 2, one: 2, two: 2, ended: 2 };
      const agent = createAgent({ model: createScriptedModel([]), store });
      expect(await agent.session(sessionId).data()).toEqual(whole);
      expect(log.some(({ event }) => event.type === "compacted" && event.dataBlob !== undefined)).toBe(true);
      expect(read.every((one) => one === "true")).toBe(true);
    },
  });
  expect(report.plays).toBeGreaterThan(playsPairs ? 100 : 15);
});

function usage(inputTokens: number) {
  return { inputTokens, outputTokens: 5 };
}
