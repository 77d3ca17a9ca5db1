/**
 * Texts of context sources under crashes. The text is another one at each load, in each life of the process.
 */
import { describe, expect, test } from "vitest";
import { type ContextSource, createAgent, createMemoryStore } from "../../src/index.js";
import { crashTest } from "../../src/testing/index.js";
import { createScriptedModel, type Script } from "../../src/testing/scripted-model.js";
import { createEchoTool } from "../support/agents.js";
import { verifies } from "../verifies.js";

const look = { name: "echo", input: { n: 1 } } as const;
const steps: Script = ({ modelCallIndex }) => (modelCallIndex < 3 ? { calls: [look] } : { text: "Done." });

describe.each(["commits", "waits"] as const)("context sources, with crashes around all %s", (points) => {
  test("keep a run to the texts that its log names", verifies("CTX-11"), async () => {
    const store = createMemoryStore();
    let sent: { runId: string; systemPrompt: string | undefined }[] = [];
    const report = await crashTest({
      store,
      points,
      pairs: points === "commits",
      agent() {
        const model = createScriptedModel((request) => {
          sent.push({ runId: request.runId, systemPrompt: request.systemPrompt });
          return steps(request);
        });
        let loads = 0;
        const source: ContextSource = {
          name: "rules",
          load: async () => [
            { name: "rules", path: "RULES", text: `Of life ${Math.random()}, load ${++loads}.`, trust: "project" },
          ],
        };
        return createAgent({ model, tools: [createEchoTool().tool], context: { sources: [source] } });
      },
      input: "Go",
      reset() {
        sent = [];
      },
      async check({ result, log, sessionId }) {
        expect(result).toMatchObject({ status: "completed" });
        expect(new Set(sent.map(({ systemPrompt }) => systemPrompt)).size).toBe(1);
        const [named, ...more] = log.flatMap(({ event }) =>
          event.type === "prepared" && event.sources !== undefined ? event.sources : [],
        );
        expect(more).toEqual([]);
        const text = new TextDecoder().decode((await store.getBlob(sessionId, named?.blob ?? "")) ?? new Uint8Array());
        expect(sent[0]?.systemPrompt).toContain(`\n${text}\n`);
      },
    });
    expect(report.plays).toBeGreaterThan(20);
  });
});
