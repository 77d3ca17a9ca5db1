/**
 * A call to a session whose last commit has no answer yet when its agent is shut down: it ends, and does not wait for a session that nobody
 * here drives any more.
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { holdCommits } from "../support/held-commit.js";
import { verifies } from "../verifies.js";

test.each([false, true])("resume({ follow: %s }) ends after a shutdown", verifies("LOOP-8"), async (follow) => {
  const { store, written, answer } = holdCommits(createMemoryStore(), "model_finished");
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
