/**
 * A call to a session whose last commit has no answer yet when its agent is shut down: it ends, and does not wait for a session that nobody
 * here drives any more.
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createDeferred } from "../support/agents.js";
import { verifies } from "../verifies.js";

/** A store that answers the commit of the model's answer only when it is told to. */
function createSlowStore(inner: Store) {
  const [written, mayAnswer] = [createDeferred<void>(), createDeferred<void>()];
  const store: Store = {
    ...inner,
    async commit(lease, commit) {
      const result = await inner.commit(lease, commit);
      if (!commit.events.some(({ type }) => type === "model_finished")) return result;
      written.resolve();
      await mayAnswer.promise;
      return result;
    },
  };
  return { store, written: written.promise, answer: () => mayAnswer.resolve() };
}

test.each([false, true])("resume({ follow: %s }) ends after a shutdown", verifies("LOOP-8"), async (follow) => {
  const { store, written, answer } = createSlowStore(createMemoryStore());
  const model = createScriptedModel([{ calls: [{ name: "missing" }] }, { text: "Done." }]);
  const agent = createAgent({ model, store });
  const run = agent.run("Go", { sessionId: "s" });
  await written;
  await agent.shutdown({ graceMs: 0 });
  expect(await run).toMatchObject({ status: "interrupted", reason: "shutdown" });
  expect(await agent.session("s").resume({ follow })).toMatchObject({
    status: "interrupted",
    reason: "shutdown",
    resumable: true,
  });
  answer();
});
