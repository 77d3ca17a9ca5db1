/**
 * A store that answers a commit late: its driver has closed by then, and another one of the same process has gone on.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createMemoryStore, type PublicEvent, type Store } from "../../src/index.js";
import type { TraceRecord } from "../../src/inspect.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { settled } from "../../src/testing/test-clock.js";
import { createDeferred, createGateTool } from "../support/agents.js";
import { verifies } from "../verifies.js";

/** The commit of the first steer gets its answer when `answer` is called. The next read of the inbox fails if `inboxFails` is true. */
function createLateStore() {
  const inner = createMemoryStore();
  const held = createDeferred<void>();
  const written = createDeferred<void>();
  const late = { inboxFails: false, answer: () => held.resolve(), written: written.promise };
  let steers = 0;
  const store: Store = {
    ...inner,
    async commit(lease, commit) {
      const result = await inner.commit(lease, commit);
      if (commit.events.some(({ type }) => type === "steered") && ++steers === 1) {
        written.resolve();
        await held.promise;
      }
      return result;
    },
    async inbox(sessionId) {
      if (!late.inboxFails) return inner.inbox(sessionId);
      late.inboxFails = false;
      throw new Error("The disk is gone.");
    },
  };
  return { late, store };
}

describe("a commit that is answered when the next driver has gone on", () => {
  test("is not told after what is later in the log", verifies("HOOK-5"), async () => {
    const { late, store } = createLateStore();
    const gate = createGateTool();
    const told: PublicEvent[] = [];
    const records: TraceRecord[] = [];
    const agent = createAgent({
      model: createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "Minded." }]),
      tools: [gate.tool],
      store,
      observers: [{ onEvent: (event) => void told.push(event), onTrace: (record) => void records.push(record) }],
    });
    const run = agent.run("Go", { sessionId: "s" });
    await gate.started;
    const session = agent.session("s");
    const steered = session.steer("Mind the gap.").catch((error: unknown) => error);
    await late.written;
    late.inboxFails = true;
    // Somebody else sends a message, so that the driver looks into the inbox.
    await createAgent({ model: createScriptedModel([]), tools: [gate.tool], store })
      .session("s")
      .steer("And the step.");
    expect(await run).toMatchObject({ status: "interrupted", reason: "store_failed" });

    expect(await session.resume()).toMatchObject({ status: "completed", text: "Minded." });
    const before = records.length;
    const last = told.at(-1);
    expect(last?.type).toBe("final");
    late.answer();
    await steered;
    await settled();
    expect(told.at(-1)).toBe(last);
    expect(records).toHaveLength(before);
    const places = told.map(({ seq }) => seq);
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    expect((await store.read("s", 0)).map(({ event }) => event.type)).toContain("steered");
  });
});
