/**
 * Requests to a model that were to be sent while the process makes sure of its lease: what is no longer wanted by then is not
 * sent.
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore, type Model, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock, settled } from "../../src/testing/test-clock.js";
import { createDeferred, createEchoTool } from "../support/agents.js";
import { verifies } from "../verifies.js";

const leaseMs = 15_000;

/** A store whose renewals wait from `hold` until `letGo`. Meanwhile more comes for the session, so nobody gives it back. */
function createHeldStore() {
  const inner = createMemoryStore();
  let renewal: ReturnType<typeof createDeferred<void>> | null = null;
  const store: Store = {
    ...inner,
    async renew(...given) {
      if (renewal !== null) await renewal.promise;
      return inner.renew(...given);
    },
    async commit(lease, row) {
      return renewal !== null && row.release === true ? { type: "inbox_not_empty" } : inner.commit(lease, row);
    },
  };
  return {
    store,
    hold() {
      renewal = createDeferred<void>();
    },
    letGo() {
      renewal?.resolve();
      renewal = null;
    },
  };
}

test("a summary is not asked for again if its run was aborted meanwhile", verifies("LOOP-9", "CTX-4"), async () => {
  const { store, hold, letGo } = createHeldStore();
  const clock = createTestClock();
  const summarizer = createScriptedModel([{ error: { kind: "overloaded", message: "529" } }, { text: "Short." }]);
  const agent = createAgent({
    model: createScriptedModel(({ modelCallIndex }) => ({
      text: `${modelCallIndex}: ${"A sentence that fills the window. ".repeat(20)}`,
      calls: [{ name: "echo", input: { n: modelCallIndex } }],
      usage: {},
    })),
    tools: [createEchoTool().tool],
    store,
    clock,
    leaseMs,
    retry: { maxRetries: 3, baseDelayMs: 2 * leaseMs },
    compaction: { contextWindow: 2_000, model: summarizer },
  });
  const running = agent.run("Talk.", { sessionId: "s" });
  await expect.poll(() => summarizer.requests.length).toBe(1);
  await settled();
  hold();
  // The wait for the second attempt ends, and nobody can say whether the lease is over.
  await clock.advance(4 * leaseMs);
  await settled();
  void agent.session("s").abort();
  await settled();
  letGo();
  expect(await running).toMatchObject({ status: "aborted" });
  await settled();
  expect(summarizer.requests).toHaveLength(1);
});

test(
  "a request that nobody answered is not sent again by a process that is not sure of its lease",
  verifies("RTRY-1", "REC-4"),
  async () => {
    const { store, hold, letGo } = createHeldStore();
    const clock = createTestClock();
    const slow = createDeferred();
    let requests = 0;
    const model: Model = {
      id: "closing",
      async *stream() {
        requests += 1;
        if (requests === 1) {
          await slow.promise;
          yield { kind: "error", failure: { kind: "network", message: "socket hang up", unanswered: true } };
          return;
        }
        yield { kind: "text-start", id: "1" };
        yield { kind: "text-delta", id: "1", text: "Done." };
        yield { kind: "text-end", id: "1" };
        yield { kind: "done", finishReason: { unified: "stop" }, usage: { inputTokens: 1, outputTokens: 1 } };
      },
    };
    const agent = createAgent({ model, store, clock, leaseMs, retry: { baseDelayMs: 0 } });
    const running = agent.run("Go.", { sessionId: "s" });
    await expect.poll(() => requests).toBe(1);
    hold();
    await clock.advance(leaseMs + 1);
    slow.resolve();
    await settled();
    expect(requests).toBe(1);
    letGo();
    await clock.advance(1);
    expect(await running).toMatchObject({ status: "completed", text: "Done." });
    const failed = (await store.read("s")).flatMap(({ event }) => (event.type === "model_failed" ? [event] : []));
    expect(failed).toMatchObject([{ failure: { kind: "network", unanswered: true } }]);
  },
);
