/**
 * A run whose end is being committed may still load what its first model call would need, while the next run prepares.
 */
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { type ContextSource, createAgent, createMemoryStore, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createDeferred, createEchoTool } from "../support/agents.js";

/** Loads by run: the first run's takes until `open`, the second's is there at once. */
function createLoader() {
  const begun = createDeferred();
  const opened = createDeferred();
  let loads = 0;
  async function load(runId: string): Promise<string> {
    if (runId !== "first") return `text ${++loads} of ${runId}`;
    begun.resolve();
    await opened.promise;
    return "text of the first run";
  }
  return { load, begun: begun.promise, open: opened.resolve };
}

type Loader = ReturnType<typeof createLoader>;

const ways = {
  "the texts of context sources": ({ load }: Loader) => {
    const source: ContextSource = {
      name: "rules",
      load: async ({ runId }) => [{ name: "rules", path: "RULES", text: await load(runId), trust: "project" }],
    };
    return { context: { sources: [source] } };
  },
  "a system prompt from a function": ({ load }: Loader) => ({
    systemPrompt: ({ runId }: { readonly runId: string }) => load(runId),
  }),
};

test.each(Object.keys(ways) as (keyof typeof ways)[])("%s stay those of the run that takes its place", async (name) => {
  const loader = createLoader();
  const prepared = createDeferred();
  const mayGoOn = createDeferred();
  const mayCommit = createDeferred();
  const memory = createMemoryStore();
  const store: Store = {
    ...memory,
    async commit(lease, commit) {
      if (commit.events.some((event) => event.type === "run_started" && event.runId === "second"))
        await mayCommit.promise;
      return memory.commit(lease, commit);
    },
  };
  const model = createScriptedModel(({ modelCallIndex }) =>
    modelCallIndex === 1 ? { calls: [{ name: "echo", input: { n: 1 } }] } : { text: "Done." },
  );
  const agent = createAgent({
    model,
    store,
    tools: [createEchoTool().tool],
    ...ways[name](loader),
    hooks: [
      {
        name: "slow",
        async beforeStep() {
          prepared.resolve();
          await mayGoOn.promise;
        },
      },
    ],
  });
  const first = agent.run("Begin", { sessionId: "s", runId: "first" });
  await loader.begun;
  const sent = agent.session("s").send("Do this instead", { runId: "second", mode: "interrupt" });
  await prepared.promise;
  loader.open();
  await setImmediate();
  mayGoOn.resolve();
  mayCommit.resolve();
  await sent;
  expect(await first).toMatchObject({ status: "aborted" });
  expect(await agent.session("s").resume()).toMatchObject({ status: "completed" });
  const shown = model.requests.map(({ systemPrompt, messages }) => [
    ...new Set(JSON.stringify([systemPrompt, messages]).match(/text \d of \w+|text of the first run/g)),
  ]);
  expect(shown).toEqual([["text 1 of second"], ["text 1 of second"]]);
});
