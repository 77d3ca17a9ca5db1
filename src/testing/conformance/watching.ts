/**
 * The listeners of a store are notified of changes by any process.
 */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { StoreChange } from "../../ports/store.js";
import {
  claim,
  commit,
  createCases,
  createHeldSession,
  createMessage,
  createRestingSession,
  createState,
  t0,
  watchChanges,
} from "./bench.js";

export const watchCases = createCases(["STOR-1", "STOR-2"], {
  "a commit is reported": async ({ store }) => {
    const lease = await claim(store);
    const { seen } = watchChanges(store, "s");
    await commit(store, lease, 0);
    await seen;
  },
  "a message is reported": async ({ store }) => {
    const { seen } = watchChanges(store, "s");
    await store.post("s", createMessage("m"));
    await seen;
  },
  "a commit is not reported as a message, nor a message as a commit": async ({ store }) => {
    const parts: StoreChange["in"][] = [];
    const stop = store.watch((change) => parts.push(change.in));
    const lease = await claim(store);
    const committed = watchChanges(store, "s");
    await commit(store, lease, 0);
    await committed.seen;
    ok(!parts.includes("inbox"));
    parts.length = 0;
    const posted = watchChanges(store, "s");
    await store.post("s", createMessage("m"));
    await posted.seen;
    ok(!parts.includes("log"));
    stop();
  },
  "a change is reported to all listeners": async ({ store }) => {
    const watches = [watchChanges(store, "s"), watchChanges(store, "s")];
    await store.post("s", createMessage("m"));
    await Promise.all(watches.map(({ seen }) => seen));
  },
  "a listener that was removed is not notified": async ({ store }) => {
    let notifiedCount = 0;
    const stop = store.watch(() => {
      notifiedCount += 1;
    });
    stop();
    const { seen } = watchChanges(store, "s");
    await store.post("s", createMessage("m"));
    await seen;
    strictEqual(notifiedCount, 0);
  },
  "stopping twice does not stop other listeners": async ({ store }) => {
    const stop = store.watch(() => undefined);
    const { seen } = watchChanges(store, "s");
    stop();
    stop();
    await store.post("s", createMessage("m"));
    await seen;
  },
  "a change is visible when it is reported": async ({ store }) => {
    const lease = await claim(store);
    const { seen } = watchChanges(store, "s");
    const committed = store.commit(lease, { ...createAbortCommit(), expectedSeq: 0 });
    await seen;
    strictEqual((await store.read("s")).length, 1);
    await committed;
  },
  "another process's commit is reported": async ({ store, second }) => {
    const otherStore = await second();
    const lease = await createHeldSession(otherStore, 1);
    const { seen } = watchChanges(store, "s");
    await commit(otherStore, lease, 1);
    await seen;
  },
  "another process's message is reported": async ({ store, second }) => {
    const otherStore = await second();
    const { seen } = watchChanges(store, "s");
    await otherStore.post("s", createMessage("m"));
    await seen;
  },
  "a whole run of another process, from claim to release, is reported": async ({ store, second }) => {
    const otherStore = await second();
    const { seen } = watchChanges(store, "s");
    await createRestingSession(otherStore, "s");
    await seen;
  },
  "changes of many sessions by another process are all reported, and so are later changes": async ({
    store,
    second,
  }) => {
    const otherStore = await second();
    const ids = Array.from({ length: 40 }, (_, index) => `s${index}`);
    const first = watchChanges(store, ...ids);
    await Promise.all(ids.map((id) => createRestingSession(otherStore, id)));
    await first.seen;
    const next = watchChanges(store, ...ids);
    await Promise.all(ids.map((id, index) => otherStore.post(id, createMessage(`m${index}`))));
    await next.seen;
  },
  "a deletion by another process is reported, or a gap is": async ({ store, second }) => {
    if (store.tellsAllChanges !== true) return;
    const otherStore = await second();
    const begun = watchChanges(store, "s");
    await createRestingSession(otherStore, "s");
    await begun.seen;
    let isDeleted = false;
    let stop = () => {};
    const reported = new Promise<void>((resolve) => {
      stop = store.watch(({ sessionId, gap }) => {
        if (isDeleted && (gap === true || sessionId === "s")) resolve();
      });
    });
    const deleted = otherStore.delete("s", { now: t0 });
    isDeleted = true;
    ok(await deleted);
    await reported;
    stop();
  },
  "if all changes are reported, listeners are notified of a gap when the store is closed": async ({ store }) => {
    if (store.tellsAllChanges !== true) return;
    const notified = new Promise<StoreChange>((resolve) => {
      store.watch(resolve);
    });
    await store.close();
    deepStrictEqual(await notified, { gap: true });
  },
  "changes of several sessions by another process are all reported": async ({ store, second }) => {
    const otherStore = await second();
    const lease = await claim(otherStore, "b");
    const { seen } = watchChanges(store, "a", "b", "c");
    await Promise.all([
      createRestingSession(otherStore, "a"),
      commit(otherStore, lease, 0),
      otherStore.post("c", createMessage("m")),
    ]);
    await seen;
  },
});

function createAbortCommit() {
  return {
    events: [{ type: "abort_requested", runId: "run 1", at: t0 }],
    state: createState(1, "preparing"),
    at: t0,
    activity: "active",
    dueAt: null,
    askedAt: null,
  } as const;
}
