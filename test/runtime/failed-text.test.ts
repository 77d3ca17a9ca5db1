import { expect, test } from "vitest";
import { createAgent, createMemoryStore } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";

test("the text of a failed run names the cause", async () => {
  const message = "OpenAI refused the credentials (401)";
  const model = createScriptedModel([{ error: { kind: "auth", message } }]);
  const agent = createAgent({ model, store: createMemoryStore() });
  const result = await agent.run("go", { sessionId: "s" });
  expect(result).toMatchObject({
    status: "failed",
    reason: "model_error",
    text: `The model could not be reached or failed: ${message}`,
    error: { message },
  });
  expect(await agent.session("s").result()).toEqual(result);
});

test("a model's own answer stays the text of a failed run", async () => {
  const model = createScriptedModel([{ text: "Half an answer", finish: "length" }]);
  const result = await createAgent({ model }).run("go", { limits: { maxContinuations: 0 } });
  expect(result.text).toContain("Half an answer");
});
