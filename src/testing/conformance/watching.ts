/**
 * Listeners of a store are told of changes by any process.
 */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { StoreChange } from "../../ports/store.js";
import { cases, changesOf, claim, commit, message, restingSession, sessionWith, stateAt, t0 } from "./bench.js";

export const watching = cases(["STOR-1", "STOR-2"], {
  "a commit is told": async ({ store }) => {
    const lease = await claim(store);
    const { seen } = changesOf(store, "s");
    await commit(store, lease, 0);
    await seen;
  },
  "a message is told": async ({ store }) => {
    const { seen } = changesOf(store, "s");
    await store.post("s", message("m"));
    await seen;
  },
  "a commit is not told as a message, nor a message as a commit": async ({ store }) => {
    const places: StoreChange["in"][] = [];
    const stop = store.watch((change) => places.push(change.in));
    const lease = await claim(store);
    const committed = changesOf(store, "s");
    await commit(store, lease, 0);
    await committed.seen;
    ok(!places.includes("inbox"));
    places.length = 0;
    const posted = changesOf(store, "s");
    await store.post("s", message("m"));
    await posted.seen;
    ok(!places.includes("log"));
    stop();
  },
  "a change is told to all who watch": async ({ store }) => {
    const all = [changesOf(store, "s"), changesOf(store, "s")];
    await store.post("s", message("m"));
    await Promise.all(all.map(({ seen }) => seen));
  },
  "who stopped watching is not told": async ({ store }) => {
    let told = 0;
    const stop = store.watch(() => {
      told += 1;
    });
    stop();
    const { seen } = changesOf(store, "s");
    await store.post("s", message("m"));
    await seen;
    strictEqual(told, 0);
  },
  "stopping twice stops nobody else": async ({ store }) => {
    const stop = store.watch(() => undefined);
    const { seen } = changesOf(store, "s");
    stop();
    stop();
    await store.post("s", message("m"));
    await seen;
  },
  "a change is there when it is told": async ({ store }) => {
    const lease = await claim(store);
    const { seen } = changesOf(store, "s");
    const committed = store.commit(lease, { ...commitOne(), expectedSeq: 0 });
    await seen;
    strictEqual((await store.read("s")).length, 1);
    await committed;
  },
  "another process's commit is told": async ({ store, second }) => {
    const other = await second();
    const lease = await sessionWith(other, 1);
    const { seen } = changesOf(store, "s");
    await commit(other, lease, 1);
    await seen;
  },
  "another process's message is told": async ({ store, second }) => {
    const other = await second();
    const { seen } = changesOf(store, "s");
    await other.post("s", message("m"));
    await seen;
  },
  "a whole run of another process, from claim to release, is told": async ({ store, second }) => {
    const other = await second();
    const { seen } = changesOf(store, "s");
    await restingSession(other, "s");
    await seen;
  },
  "changes of many sessions by another process are all told, and then those that follow": async ({ store, second }) => {
    const other = await second();
    const ids = Array.from({ length: 40 }, (_, index) => `s${index}`);
    const first = changesOf(store, ...ids);
    await Promise.all(ids.map((id) => restingSession(other, id)));
    await first.seen;
    const next = changesOf(store, ...ids);
    await Promise.all(ids.map((id, index) => other.post(id, message(`m${index}`))));
    await next.seen;
  },
  "if all changes are told, who watches is told of a gap when the store is closed": async ({ store }) => {
    if (store.tellsAllChanges !== true) return;
    const told = new Promise<StoreChange>((resolve) => {
      store.watch(resolve);
    });
    await store.close();
    deepStrictEqual(await told, { gap: true });
  },
  "changes of several sessions by another process are all told": async ({ store, second }) => {
    const other = await second();
    const lease = await claim(other, "b");
    const { seen } = changesOf(store, "a", "b", "c");
    await Promise.all([restingSession(other, "a"), commit(other, lease, 0), other.post("c", message("m"))]);
    await seen;
  },
});

function commitOne() {
  return {
    events: [{ type: "abort_requested", runId: "run 1", at: t0 }],
    state: stateAt(1, "preparing"),
    at: t0,
    activity: "active",
    dueAt: null,
    askedAt: null,
  } as const;
}
