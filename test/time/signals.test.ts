/**
 * Waits of tools for signals, and the signals that end them: over each store that needs no server.
 */
import { describe, expect, test } from "vitest";
import {
  type createAgent,
  createClient,
  createMemoryStore,
  createWorker,
  type Json,
  type Store,
  type ToolContext,
} from "../../src/index.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { createDurableAgent } from "../support/durable-tool.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const proven = verifies("TIME-2");
const anHour = 3_600_000;

/** The output of the last call, as text. */
async function outputOf(store: Store, sessionId = "s"): Promise<string | undefined> {
  const events = (await store.read(sessionId)).map(({ event }) => event);
  const finished = events.findLast((event) => event.type === "tool_finished");
  return finished?.output?.type === "text" ? finished.output.text : JSON.stringify(finished?.output);
}

describe.each(localStores)("in $name", ({ open }) => {
  const bench = (
    execute: (context: ToolContext) => unknown,
    work: (parts: {
      readonly store: Store;
      readonly clock: ReturnType<typeof createTestClock>;
      readonly agent: ReturnType<typeof createAgent>;
      readonly signal: ReturnType<typeof createClient>["signal"];
      readonly output: () => Promise<string | undefined>;
    }) => Promise<void>,
  ) =>
    withStore(open, async (store) => {
      const clock = createTestClock();
      const agent = createDurableAgent(execute, {}, { store, clock });
      const { signal } = createClient({ store, clock });
      await work({ store, clock, agent, signal, output: () => outputOf(store) });
      expect(await store.verify()).toEqual([]);
      await agent.shutdown();
    });

  test("a signal ends the wait of a tool that no process holds, with its value, its id and its sender", proven, () =>
    bench(
      async ({ waitFor }) => JSON.stringify(await waitFor("payment", { key: "order-7-paid" })),
      async ({ store, agent, signal, output }) => {
        expect(await agent.run("Go", { sessionId: "s" })).toMatchObject({
          status: "waiting",
          waits: [{ callKey: expect.stringMatching(/\/1\/1$/), step: "payment", on: "signal", key: "order-7-paid" }],
        });
        expect(await store.describe("s")).toMatchObject({ holder: null, activity: "waiting" });
        const sent = await signal("order-7-paid", { cents: 9_900 }, { id: "evt_1", by: "stripe" });
        expect(sent).toEqual({ id: "evt_1", isNew: true, sessions: ["s"] });
        expect(await agent.session("s").resume()).toMatchObject({ status: "completed" });
        expect(JSON.parse((await output()) ?? "")).toEqual({
          type: "signalled",
          value: { cents: 9_900 },
          id: "evt_1",
          by: "stripe",
        });
      },
    ),
  );

  test(
    "a loop reads each signal once and in order, also those that came before; a later call reads them again",
    proven,
    () =>
      bench(
        async ({ waitFor }) => {
          const values: Json[] = [];
          for (let n = 0; n < 3; n += 1) {
            const said = await waitFor("message", { key: "chat" });
            if (said.type === "signalled") values.push(said.value);
          }
          return values.join(" ");
        },
        async ({ agent, signal, output }) => {
          await signal("chat", "one");
          expect(await agent.run("Go", { sessionId: "s" })).toMatchObject({
            status: "waiting",
            waits: [{ step: "message#2" }],
          });
          expect(await agent.run("Go", { sessionId: "t" })).toMatchObject({ status: "waiting" });
          expect((await signal("chat", "two")).sessions).toHaveLength(2);
          await signal("chat", "three");
          expect(await agent.session("s").resume()).toMatchObject({ status: "completed" });
          expect(await output()).toBe("one two three");
          expect(await agent.session("t").resume()).toMatchObject({ status: "completed" });
          expect(await agent.run("Again", { sessionId: "s" })).toMatchObject({ status: "completed" });
          expect(await output()).toBe("one two three");
        },
      ),
  );

  test("a value that does not fit is passed over, and the wait goes on to its own end", proven, () =>
    bench(
      async ({ waitFor }) =>
        JSON.stringify(
          await waitFor("payment", {
            key: "paid",
            schema: { type: "object", required: ["cents"] },
            timeoutMs: anHour,
          }),
        ),
      async ({ clock, agent, signal, output }) => {
        const until = clock.now() + anHour;
        await agent.run("Go", { sessionId: "s" });
        await signal("paid", "nonsense");
        clock.jump(1_000);
        expect(await agent.session("s").resume()).toMatchObject({
          status: "waiting",
          waits: [{ step: "payment/2", until, passedOver: 1 }],
        });
        clock.jump(anHour);
        expect(await agent.session("s").resume()).toMatchObject({ status: "completed" });
        expect(await output()).toBe('{"type":"expired"}');
      },
    ),
  );

  test("timeoutMs 0 looks whether a signal is kept, and does not wait", proven, () =>
    bench(
      async ({ waitFor }) => {
        const first = await waitFor("look", { key: "paid", timeoutMs: 0 });
        const second = await waitFor("look", { key: "paid", timeoutMs: 0 });
        return `${first.type} ${second.type}`;
      },
      async ({ clock, agent, signal, output }) => {
        await signal("paid", 1);
        clock.jump(1);
        expect(await agent.run("Go", { sessionId: "s" })).toMatchObject({ status: "completed" });
        expect(await output()).toBe("signalled expired");
      },
    ),
  );

  test("a person's answer ends neither a sleep nor a wait, and nobody is asked", proven, () =>
    bench(
      ({ sleep, waitFor }) => Promise.all([sleep("night", { ms: anHour }), waitFor("payment", { key: "paid" })]),
      async ({ store, agent }) => {
        await agent.run("Go", { sessionId: "s", runId: "r" });
        const session = agent.session("s");
        expect(await session.pendingApprovals()).toEqual([]);
        expect(await store.asking()).toEqual([]);
        for (const questionId of ["night", "payment"])
          expect(await session.answer("r/1/1", { type: "reply", value: 1 }, { questionId })).toBe("second");
        const body = { type: "answer", callKey: "r/1/1", answer: { type: "reply", value: 1 } } as const;
        for (const questionId of ["night", "payment"])
          await store.post("s", { id: `forged/${questionId}`, at: 1, body: { ...body, questionId } });
        expect(await session.resume()).toMatchObject({ status: "waiting", waits: [{ on: "time" }, { on: "signal" }] });
        expect(await store.inbox("s")).toEqual([]);
      },
    ),
  );

  test("an abort ends a wait at once", proven, () =>
    bench(
      ({ waitFor }) => waitFor("payment", { key: "paid" }),
      async ({ store, agent, signal }) => {
        await agent.run("Go", { sessionId: "s" });
        await agent.session("s").abort();
        for await (const item of agent.session("s").events()) if (item.type === "final") break;
        expect(await agent.session("s").result()).toMatchObject({ status: "aborted" });
        const events = (await store.read("s")).map(({ event }) => event);
        expect(events.find(({ type }) => type === "tool_finished")).toMatchObject({ outcome: "interrupted" });
        expect(await signal("paid")).toMatchObject({ sessions: [] });
      },
    ),
  );

  test("a worker carries a session on when its signal comes", proven, () =>
    bench(
      async ({ waitFor }) => (await waitFor("payment", { key: "paid" })).type,
      async ({ store, agent, signal, output }) => {
        await agent.run("Go", { sessionId: "s" });
        await signal("paid");
        await createWorker({ store, agents: [agent] }).runUntilIdle();
        expect(await output()).toBe("signalled");
      },
    ),
  );
});

test("a tool does not wait for a signal in a store that keeps none", proven, async () => {
  const { signals: _, ...store } = createMemoryStore();
  const agent = createDurableAgent(({ waitFor }) => waitFor("payment", { key: "k" }), {}, { store });
  expect(await agent.run("Go", { sessionId: "s" })).toMatchObject({ status: "completed" });
  expect(await outputOf(store)).toContain("does not support signals");
});
