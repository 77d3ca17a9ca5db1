/**
 * Sessions that wait for signals, and signals that are kept, in exports and imports.
 */
import { describe, expect, test } from "vitest";
import { createClient, createMemoryStore } from "../../src/index.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { createDurableAgent } from "../support/durable-tool.js";
import { localStores, withStore } from "../support/stores.js";
import { exportToText, importText } from "../transfer/transfer.js";
import { verifies } from "../verifies.js";

describe.each(localStores)("a store that is imported into $name", ({ open }) => {
  test("has the waits of its sessions, what they were given, and the signals that are kept", verifies("TIME-2"), () =>
    withStore(open, async (target) => {
      // Exports leave out signals that are kept no longer by the machine's clock.
      const clock = createTestClock(Date.now());
      const bench = (store: typeof target) => ({
        agent: createDurableAgent(
          async ({ waitFor }) => {
            const first = await waitFor("first", { key: "order-7" });
            const second = await waitFor("second", { key: "order-7" });
            const early = await waitFor("early", { key: "early" });
            return [first, second, early].map((one) => (one.type === "signalled" ? one.value : one.type)).join(", ");
          },
          {},
          { store, clock },
        ),
        signal: createClient({ store, clock }).signal,
      });
      const source = createMemoryStore();
      const before = bench(source);
      await before.agent.run("Go", { sessionId: "s" });
      await before.signal("order-7", "one", { keepMs: 0 });
      await before.signal("early", "bird");
      await before.signal("early", "late", { keepMs: 0 });
      await importText(target, await exportToText(source));
      expect(await target.verify()).toEqual([]);
      const after = bench(target);
      // The wait has got its signal already: the next one is for the next wait.
      expect(await after.signal("order-7", "two")).toMatchObject({ sessions: [] });
      expect(await after.agent.session("s").resume()).toMatchObject({ status: "completed" });
      const finished = (await target.read("s")).find(({ event }) => event.type === "tool_finished")?.event;
      expect(finished).toMatchObject({ output: { text: "one, two, bird" } });
      expect(await target.verify()).toEqual([]);
    }),
  );
});
