/**
 * Who only watches sessions: without a timer, if their store tells of all changes. Two agents over one store stand for two
 * processes.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createClient, createMemoryStore, type Store, type StreamItem } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { settled } from "../../src/testing/test-clock.js";
import { collect, listEventTypes } from "../support/agents.js";
import { createWatchedClock, type WatchedClock } from "../support/clock.js";
import { verifies } from "../verifies.js";

type Change = Parameters<Parameters<Store["watch"]>[0]>[0];

/** A store that counts its listeners. What it tells passes through `told`; null is told to nobody. */
function watched(told: (change: Change) => Change | null, tellsAllChanges: boolean) {
  const inner = createMemoryStore();
  const listeners = new Set<(change: Change) => void>();
  const store: Store = {
    ...inner,
    tellsAllChanges,
    watch(listener) {
      listeners.add(listener);
      const stop = inner.watch((change) => {
        const heard = told(change);
        if (heard !== null) listener(heard);
      });
      return () => {
        listeners.delete(listener);
        stop();
      };
    },
  };
  const tell = (change: Change) => {
    for (const listener of listeners) listener(change);
  };
  return { inner, store, tell, listeners: () => listeners.size };
}

const readers = {
  "by an agent": (store: Store, clock: WatchedClock) => createAgent({ model: createScriptedModel([]), store, clock }),
  "by a client": (store: Store, clock: WatchedClock) => createClient({ store, clock }),
} as const;

describe.each(Object.entries(readers))("sessions that are watched %s", (_, readerOf) => {
  const ids = Array.from({ length: 8 }, (_unused, index) => `s${index}`);

  async function watching(told: (change: Change) => Change | null, tellsAllChanges: boolean) {
    const { inner, store, tell, listeners } = watched(told, tellsAllChanges);
    const writer = createAgent({ model: createScriptedModel(() => ({ text: "Done." })), store: inner });
    for (const sessionId of ids) await writer.run("Go", { sessionId });
    const clock = createWatchedClock();
    const reader = readerOf(store, clock);
    const left = new AbortController();
    const seen = new Map<string, StreamItem[]>();
    const readings = ids.map(async (id) => {
      const items: StreamItem[] = [];
      seen.set(id, items);
      for await (const item of reader.session(id).events({ signal: left.signal })) items.push(item);
    });
    await settled();
    const leave = async () => {
      left.abort();
      await Promise.all(readings);
      await settled();
    };
    const log = async (id: string) => listEventTypes(await collect(writer.session(id).events({ follow: false })));
    return {
      writer,
      clock,
      tell,
      listeners,
      leave,
      log,
      readings,
      store,
      seen: (id: string) => listEventTypes(seen.get(id) ?? []),
    };
  }

  test("cost no timer, and one listener of the store", verifies("STRM-6"), async () => {
    const { writer, clock, listeners, leave, log, seen } = await watching((change) => change, true);
    expect(clock.pending()).toBe(0);
    expect(listeners()).toBe(1);
    await writer.run("Again", { sessionId: "s7" });
    await settled();
    expect(seen("s7")).toEqual(await log("s7"));
    expect(seen("s7").filter((type) => type === "final").length).toBe(2);
    expect(clock.pending()).toBe(0);
    await leave();
    expect(listeners()).toBe(0);
    expect(clock.pending()).toBe(0);
  });

  test("are all looked at after a gap", verifies("STRM-6"), async () => {
    const { writer, clock, tell, leave, log, seen } = await watching(() => null, true);
    for (const sessionId of ["s3", "s5"]) await writer.run("Again", { sessionId });
    await settled();
    expect(seen("s3").filter((type) => type === "final").length).toBe(1);
    tell({ gap: true });
    await settled();
    for (const id of ids) expect(seen(id)).toEqual(await log(id));
    expect(clock.pending()).toBe(0);
    await leave();
  });

  test("are looked at now and then, if the store may miss a change", verifies("STRM-6"), async () => {
    const { writer, clock, leave, log, seen } = await watching(() => null, false);
    expect(clock.pending()).toBe(ids.length);
    await writer.run("Again", { sessionId: "s3" });
    await clock.advance(1_500);
    expect(seen("s3")).toEqual(await log("s3"));
    await leave();
    expect(clock.pending()).toBe(0);
  });

  test("end with the store", verifies("STRM-6"), async () => {
    const { readings, store } = await watching((change) => change, true);
    await store.close();
    for (const ended of await Promise.allSettled(readings))
      expect(ended).toMatchObject({ status: "rejected", reason: { code: "store_closed" } });
  });
});
