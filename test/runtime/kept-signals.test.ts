/**
 * Signals that a model keeps after its attempt is over.
 */
import { expect, test } from "vitest";
import { createAgent, type Model, type ModelDelta } from "../../src/index.js";
import { createDeferred } from "../support/agents.js";

const never = new Promise<never>(() => {});

/** Keeps a signal made of that of each attempt. Its first answer is short, and its second one never ends. */
function createKeepingModel() {
  const kept: AbortSignal[] = [];
  const hangs = createDeferred();
  async function* stream(_request: unknown, signal: AbortSignal): AsyncGenerator<ModelDelta> {
    kept.push(AbortSignal.any([signal]));
    yield { kind: "start" };
    if (kept.length > 1) {
      hangs.resolve();
      await never;
    }
    yield { kind: "text-start", id: "t" };
    yield { kind: "text-delta", id: "t", text: "Done." };
    yield { kind: "text-end", id: "t" };
    yield { kind: "done", finishReason: { unified: "stop" }, usage: { inputTokens: 1, outputTokens: 1 } };
  }
  const model: Model = { id: "keeping", stream };
  return { model, kept, hangs: hangs.promise };
}

test("a signal that a model has made of that of an attempt is not aborted with an attempt of another session", async () => {
  const { model, kept, hangs } = createKeepingModel();
  const agent = createAgent({ model });
  expect(await agent.run("Go", { sessionId: "first" })).toMatchObject({ status: "completed", text: "Done." });
  const second = agent.run("Go", { sessionId: "second" });
  await hangs;
  await agent.session("second").abort();
  expect(await second).toMatchObject({ status: "aborted" });
  expect(kept.map(({ aborted }) => aborted)).toEqual([false, true]);
});
