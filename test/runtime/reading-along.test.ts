/**
 * Who reads along with a run of another process, or aborts it. Two agents over one store stand for two processes: each has its own holder and its own lease.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createMemoryStore, PawlError, type Store, type Tool } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock, settled } from "../../src/testing/test-clock.js";
import { collect, createDeferred, createGateTool, listEventTypes } from "../support/agents.js";
import { verifies } from "../verifies.js";

describe("one that reads along in another process", () => {
  test(
    "misses nothing where another one comes while its process takes over, too late",
    verifies("STRM-6"),
    async () => {
      const clock = createTestClock();
      const inner = createMemoryStore();
      await createAgent({ model: createScriptedModel([{ text: "Hello." }]), store: inner, clock }).run("Hi", {
        sessionId: "s",
      });
      const looking = createDeferred();
      const looked = createDeferred();
      let isSlow = false;
      const store: Store = {
        ...inner,
        async inbox(sessionId) {
          looking.resolve();
          if (isSlow) await looked.promise;
          return inner.inbox(sessionId);
        },
      };
      const slow = createAgent({ model: createScriptedModel([{ text: "Never." }]), store, clock });
      const controller = new AbortController();
      const read = () => collect(slow.session("s").events({ signal: controller.signal }));
      const first = read();
      await clock.advance(0);
      isSlow = true;
      const sent = slow
        .session("s")
        .send("More")
        .catch(() => {});
      await looking.promise;
      clock.jump(60_000);
      await createAgent({ model: createScriptedModel([{ text: "Done." }]), store: inner, clock }).run("Go", {
        sessionId: "s",
      });
      const second = read();
      await clock.advance(0);
      isSlow = false;
      looked.resolve();
      await clock.advance(1_000);
      await sent;
      controller.abort();
      const seen = listEventTypes(await first);
      expect(seen.filter((type) => type === "final").length).toBeGreaterThan(1);
      expect(seen).toEqual(listEventTypes(await second));
    },
  );

  test("sees each event once where another one comes while its process takes over", verifies("STRM-6"), async () => {
    const inner = createMemoryStore();
    const other = createAgent({ model: createScriptedModel([{ text: "Hello." }, { text: "Again." }]), store: inner });
    await other.run("Hi", { sessionId: "s" });
    const looking = createDeferred();
    const looked = createDeferred();
    let isSlow = false;
    const store: Store = {
      ...inner,
      // The first look at the log behind the claim is slow; nothing tells of changes.
      watch: () => () => {},
      tellsAllChanges: false,
      async loadAt(...place) {
        if (isSlow) {
          isSlow = false;
          looking.resolve();
          await looked.promise;
        }
        return inner.loadAt(...place);
      },
    };
    const slow = createAgent({ model: createScriptedModel([{ text: "Done." }]), store, clock: createTestClock() });
    const controller = new AbortController();
    const read = () => collect(slow.session("s").events({ signal: controller.signal }));
    const first = read();
    await settled();
    await other.run("Once more", { sessionId: "s" });
    isSlow = true;
    const run = slow.run("Go", { sessionId: "s" });
    await looking.promise;
    const second = read();
    await settled();
    looked.resolve();
    expect(await run).toMatchObject({ text: "Done." });
    await settled();
    controller.abort();
    const logged = listEventTypes(await collect(other.session("s").events({ follow: false })));
    expect(listEventTypes((await first).filter((item) => "seq" in item))).toEqual(logged);
    expect(listEventTypes((await second).filter((item) => "seq" in item))).toEqual(logged);
  });

  test("is told that the store failed, rather than nothing", verifies("STRM-6"), async () => {
    const gate = createGateTool();
    const inner = createMemoryStore();
    const holder = createAgent({
      model: createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "Done." }]),
      tools: [gate.tool],
      store: inner,
    });
    const run = holder.run("Go", { sessionId: "s" });
    await gate.started;
    let fails = false;
    const store: Store = {
      ...inner,
      read: (...which) => (fails ? Promise.reject(new PawlError("store_failed", "It is gone.")) : inner.read(...which)),
    };
    const other = createAgent({ model: createScriptedModel([]), store });
    const seen: Parameters<typeof listEventTypes>[0][number][] = [];
    const reading = (async () => {
      for await (const item of other.session("s").events()) {
        seen.push(item);
        fails = true;
      }
    })();
    const told = expect(reading).rejects.toThrow("It is gone.");
    gate.open("opened");
    await run;
    await told;
    expect(listEventTypes(seen)).toContain("run_started");
  });
});

describe("an abort that another process posts while a tool runs", () => {
  type Change = Parameters<Parameters<Store["watch"]>[0]>[0];
  type Told = (change: Change) => Change | null;
  const ways: readonly (readonly [string, Told, number])[] = [
    ["is heard at once where the store tells of it", (change) => change, 10],
    ["is heard soon where the store tells of changes alone", ({ sessionId = "" }) => ({ sessionId }), 100],
    ["is heard, though the store's word was missed", (change) => (change.in === "log" ? change : null), 1_500],
    ["is heard after a gap", (change) => (change.in === "inbox" ? { gap: true } : null), 100],
  ];
  test.each(ways)("%s", verifies("STOR-2"), async (_, told, ms) => {
    const clock = createTestClock();
    const inner = createMemoryStore();
    const started = createDeferred();
    const store: Store = {
      ...inner,
      watch: (listener) =>
        inner.watch((change) => {
          const heard = told(change);
          if (heard !== null) listener(heard);
        }),
      tellsAllChanges: false,
    };
    const wait: Tool = {
      name: "wait",
      description: "Waits until it is ended.",
      input: { type: "object" },
      execute: (_input, { signal }) => {
        started.resolve();
        return new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
        });
      },
    };
    const agent = () =>
      createAgent({ model: createScriptedModel([{ calls: [{ name: "wait" }] }]), tools: [wait], store, clock });
    const result = agent().run("Go", { sessionId: "s" });
    await started.promise;
    await agent().session("s").abort();
    await clock.advance(ms);
    expect(await result).toMatchObject({ status: "aborted" });
  });
});
