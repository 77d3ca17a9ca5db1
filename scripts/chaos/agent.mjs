/**
 * The agent of the chaos test. What its model says depends on the session, the run and the step alone, so any process that
 * goes on with a run says the same.
 */
import { appendFileSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { createAgent, defineTool } from "pawl";
import { createRandom } from "./random.mjs";

const noInput = { type: "object", properties: { n: { type: "number" } }, additionalProperties: false };
const words = "the ratchet turns forward and what happened is kept before anything follows from it".split(" ");

/** @param {{ readonly seed: number, readonly journal: string, readonly store: import("pawl").Store }} options */
export function createChaosAgent({ seed, journal, store }) {
  const work =
    (name) =>
    (_, { idempotencyKey, attempt }) => {
      appendFileSync(journal, `${name} ${idempotencyKey} ${attempt}\n`);
      return `${name} done`;
    };
  const tools = [
    defineTool({ name: "look", description: "Looks.", input: noInput, readOnly: true, execute: work("look") }),
    defineTool({
      name: "pay",
      description: "Pays. It may happen once.",
      input: noInput,
      needsApproval: true,
      recover: "fail",
      execute: work("pay"),
    }),
    defineTool({
      name: "note",
      description: "Notes in steps, each of which happens once.",
      input: noInput,
      durable: true,
      async execute(_, { step }) {
        for (const name of ["first", "second"])
          await step(name, async ({ idempotencyKey }) => {
            await turn();
            appendFileSync(journal, `step ${idempotencyKey} 1\n`);
          });
        return "noted";
      },
    }),
    defineTool({
      name: "ask",
      description: "Asks a person.",
      input: noInput,
      durable: true,
      execute: async (_, { ask }) => ({ answered: (await ask({ message: "How many?" })).type }),
    }),
  ];
  const summarizer = {
    id: "summarizer",
    async *stream() {
      yield { kind: "text-delta", id: "t", text: "It was talked about." };
      yield { kind: "done", finishReason: { unified: "stop" }, usage: {} };
    },
  };
  return createAgent({
    name: "chaos",
    model: createChaosModel(seed),
    tools,
    store,
    leaseMs: 5_000,
    retry: { baseDelayMs: 1, maxDelayMs: 10 },
    compaction: { contextWindow: 500, keepTurns: 1, model: summarizer },
  });
}

/** The words that the model says in a step: each attempt says the same, and the first one may fail on its way. */
export function wordsOf({ seed, sessionId, runId, modelCallIndex }) {
  const random = createRandom(seed, sessionId, runId, modelCallIndex);
  return Array.from({ length: random.whole(3, 40) }, () => `${random.one(words)} `);
}

function createChaosModel(seed) {
  return {
    id: "chaos",
    async *stream({ sessionId, runId, modelCallIndex, attempt }, signal) {
      const random = createRandom(seed, sessionId, runId, modelCallIndex, "calls");
      const texts = wordsOf({ seed, sessionId, runId, modelCallIndex });
      const failsAt = attempt === 1 && random.isTrue(0.1) ? random.whole(0, texts.length) : -1;
      yield { kind: "start" };
      yield { kind: "text-start", id: "t" };
      for (const [index, text] of texts.entries()) {
        await turn();
        if (signal.aborted) return;
        if (index === failsAt) return yield { kind: "error", failure: { kind: "network", message: "cut" } };
        yield { kind: "text-delta", id: "t", text };
      }
      yield { kind: "text-end", id: "t" };
      const calls = modelCallIndex < 5 && random.isTrue(0.75) ? random.whole(1, 2) : 0;
      for (let index = 1; index <= calls; index += 1) {
        const name = random.one(["look", "look", "note", "pay", "ask"]);
        yield { kind: "tool-call", id: `call_${modelCallIndex}_${index}`, name, input: `{"n":${index}}` };
      }
      const unified = calls > 0 ? "tool-calls" : "stop";
      yield { kind: "done", finishReason: { unified }, usage: {} };
    },
  };
}
