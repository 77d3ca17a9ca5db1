/**
 * Commits: the fence is checked first, then the sequence number; all or nothing.
 */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { CommitResult } from "../../ports/store.js";
import {
  claim,
  claimAsBob,
  commit,
  createCases,
  createCommit,
  createEvents,
  createHeldSession,
  createMessage,
  createState,
  createTextEvent,
  expectError,
  expectLog,
  expectResultType,
  leaseMs,
  readInboxIds,
  t0,
  textsOf,
} from "./bench.js";

export const commitCases = createCases(["STOR-1", "REC-1"], {
  "a commit returns the number of its last entry": async ({ store }) => {
    const lease = await claim(store);
    strictEqual(await commit(store, lease, 0, { events: 3 }), 3);
    strictEqual(await commit(store, lease, 3), 4);
  },
  "a commit is visible when it resolves, also to another process": async ({ store, second }) => {
    const otherStore = await second();
    await createHeldSession(store, 2);
    await expectLog(otherStore, 2);
  },
  "events and the state after them are written together": async ({ store }) => {
    const lease = await claim(store);
    const state = createState(2, "tool_running");
    await commit(store, lease, 0, { events: [createTextEvent("one"), createTextEvent("two")], state });
    deepStrictEqual(textsOf(await store.read("s")), ["one", "two"]);
    deepStrictEqual(await store.load("s"), { seq: 2, state });
  },
  "a commit with an old sequence number is a conflict": async ({ store }) => {
    const lease = await createHeldSession(store, 2);
    deepStrictEqual(await store.commit(lease, createCommit(1)), { type: "conflict", seq: 2 });
    await expectLog(store, 2);
  },
  "a commit with a future sequence number is a conflict": async ({ store }) => {
    const lease = await createHeldSession(store, 2);
    deepStrictEqual(await store.commit(lease, createCommit(7)), { type: "conflict", seq: 2 });
    await expectLog(store, 2);
  },
  "a commit that is repeated because its acknowledgement was lost is a conflict": async ({ store }) => {
    const lease = await claim(store);
    const same = createCommit(0, { events: 2 });
    expectResultType(await store.commit(lease, same), "ok");
    deepStrictEqual(await store.commit(lease, same), { type: "conflict", seq: 2 });
    await expectLog(store, 2);
  },
  "a zombie writes nothing after another process has claimed the session": async ({ store }) => {
    const zombie = await createHeldSession(store, 1);
    await claimAsBob(store, t0 + leaseMs);
    expectResultType(await store.commit(zombie, createCommit(1)), "fenced");
    await expectLog(store, 1);
  },
  "a zombie in another process writes nothing": async ({ store, second }) => {
    const otherStore = await second();
    const zombie = await createHeldSession(otherStore, 1);
    await claimAsBob(store, t0 + leaseMs);
    expectResultType(await otherStore.commit(zombie, createCommit(1)), "fenced");
    await expectLog(store, 1);
  },
  "the fence is checked before the sequence number": async ({ store }) => {
    const zombie = await createHeldSession(store, 1);
    await claimAsBob(store, t0 + leaseMs);
    expectResultType(await store.commit(zombie, createCommit(9)), "fenced");
  },
  "the fence is checked before the inbox": async ({ store }) => {
    const zombie = await claim(store);
    await store.post("s", createMessage("m"));
    await claimAsBob(store, t0 + leaseMs);
    expectResultType(await store.commit(zombie, createCommit(0, { record: ["m"], release: true })), "fenced");
  },
  "a zombie consumes nothing": async ({ store }) => {
    const zombie = await claim(store);
    await store.post("s", createMessage("m"));
    await claimAsBob(store, t0 + leaseMs);
    expectResultType(await store.commit(zombie, createCommit(0, { consume: ["m"] })), "fenced");
    deepStrictEqual(await readInboxIds(store), ["m"]);
  },
  "the passage of time alone does not fence a holder": async ({ store }) => {
    const lease = await claim(store);
    strictEqual(await commit(store, lease, 0, { at: t0 + 100 * leaseMs }), 1);
  },
  "an epoch that was never issued is fenced": async ({ store }) => {
    const lease = await claim(store);
    expectResultType(await store.commit({ ...lease, epoch: lease.epoch + 1 }, createCommit(0)), "fenced");
    await expectLog(store, 0);
  },
  "a lease of another session is fenced": async ({ store }) => {
    const lease = await claim(store, "a");
    await claim(store, "b");
    expectResultType(await store.commit({ ...lease, sessionId: "b" }, createCommit(0)), "fenced");
  },
  "a commit to a missing session is fenced": async ({ store }) => {
    const lease = await claim(store);
    expectResultType(await store.commit({ ...lease, sessionId: "none" }, createCommit(0)), "fenced");
    strictEqual(await store.load("none"), null);
  },
  "a commit to a deleted session is fenced": async ({ store }) => {
    const lease = await createHeldSession(store, 1);
    await store.delete("s", { now: t0, force: true });
    expectResultType(await store.commit(lease, createCommit(1)), "fenced");
    deepStrictEqual(await store.list(), []);
  },
  "a commit without events consumes messages, and keeps the log and the state": async ({ store }) => {
    const lease = await createHeldSession(store, 2);
    await store.post("s", createMessage("late"));
    strictEqual(await commit(store, lease, 2, { events: 0, consume: ["late"] }), 2);
    deepStrictEqual(await readInboxIds(store), []);
    deepStrictEqual((await store.load("s"))?.state, createState(2, "model_running"));
    await expectLog(store, 2);
  },
  "a commit without events to a new session leaves it without a state": async ({ store }) => {
    const lease = await claim(store);
    await store.post("s", createMessage("m"));
    strictEqual(await commit(store, lease, 0, { events: 0, consume: ["m"] }), 0);
    strictEqual(await store.load("s"), null);
  },
  "a state that does not follow the last event is refused": async ({ store }) => {
    const lease = await claim(store);
    const wrong = createCommit(0, { state: createState(7, "preparing") });
    await expectError(() => store.commit(lease, wrong), "internal");
    await expectLog(store, 0);
    strictEqual(await commit(store, lease, 0), 1);
  },
});

export const concurrencyCases = createCases(["STOR-1", "REC-1"], {
  "of two concurrent commits with the same sequence number, one wins": async ({ store }) => {
    const lease = await claim(store);
    const results = await Promise.all([store.commit(lease, createCommit(0)), store.commit(lease, createCommit(0))]);
    deepStrictEqual(results.map((result) => result.type).sort(), ["conflict", "ok"]);
    await expectLog(store, 1);
  },
  "commits of one session that are sent without waiting keep their order": async ({ store }) => {
    const lease = await claim(store);
    const sent: Promise<CommitResult>[] = [];
    for (let seq = 0; seq < 20; seq++) sent.push(store.commit(lease, createCommit(seq)));
    deepStrictEqual(
      (await Promise.all(sent)).map((result) => (result.type === "ok" ? result.seq : result.type)),
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
  },
  "many sessions commit at once": async ({ store }) => {
    const ids = Array.from({ length: 40 }, (_, index) => `s${index}`);
    const leases = await Promise.all(ids.map((id) => claim(store, id)));
    for (let seq = 0; seq < 3; seq++) await Promise.all(leases.map((lease) => commit(store, lease, seq)));
    for (const id of ids) await expectLog(store, 3, id);
  },
  "a refused commit does not affect concurrent commits": async ({ store }) => {
    const [a, b, c] = [await claim(store, "a"), await claim(store, "b"), await claim(store, "c")];
    const results = await Promise.all([
      store.commit(a, createCommit(0)),
      store.commit(b, createCommit(5)),
      store.commit({ ...c, epoch: c.epoch + 9 }, createCommit(0)),
      store.commit(c, createCommit(0)),
    ]);
    deepStrictEqual(
      results.map((result) => result.type),
      ["ok", "conflict", "fenced", "ok"],
    );
    for (const [id, count] of [
      ["a", 1],
      ["b", 0],
      ["c", 1],
    ] as const)
      await expectLog(store, count, id);
  },
  "a commit that throws does not affect concurrent commits": async ({ store }) => {
    const [a, b] = [await claim(store, "a"), await claim(store, "b")];
    const wrong = createCommit(0, { state: createState(3, "preparing") });
    const [first, second] = await Promise.allSettled([store.commit(a, wrong), store.commit(b, createCommit(0))]);
    strictEqual(first.status, "rejected");
    ok(second.status === "fulfilled" && second.value.type === "ok");
    await expectLog(store, 0, "a");
    await expectLog(store, 1, "b");
  },
  "two processes commit to their sessions at once": async ({ store, second }) => {
    const otherStore = await second();
    const [a, b] = [await claim(store, "a"), await claim(otherStore, "b")];
    for (let seq = 0; seq < 15; seq++)
      await Promise.all([
        commit(store, a, seq),
        commit(otherStore, b, seq),
        otherStore.post("a", createMessage(`m${seq}`)),
      ]);
    await expectLog(store, 15, "b");
    await expectLog(otherStore, 15, "a");
    strictEqual((await store.inbox("a")).length, 15);
  },
  "two processes with one lease do not write the same entry": async ({ store, second }) => {
    const otherStore = await second();
    const lease = await claim(store);
    const results = await Promise.all([
      store.commit(lease, createCommit(0)),
      otherStore.commit(lease, createCommit(0)),
    ]);
    strictEqual(results.filter((result) => result.type === "ok").length, 1);
    await expectLog(store, 1);
  },
});

export const logCases = createCases(["STOR-1", "REC-3"], {
  "a missing session has no log and no state": async ({ store }) => {
    deepStrictEqual(await store.read("none"), []);
    strictEqual(await store.load("none"), null);
  },
  "a session that was only claimed has no log and no state": async ({ store }) => {
    await claim(store);
    deepStrictEqual(await store.read("s"), []);
    strictEqual(await store.load("s"), null);
  },
  "entry numbers start at 1 and have no gaps, whatever the size of commits": async ({ store }) => {
    const lease = await claim(store);
    let seq = 0;
    for (let round = 0; round < 60; round++) seq = await commit(store, lease, seq, { events: (round * 7) % 5 });
    await expectLog(store, seq);
    deepStrictEqual(
      textsOf(await store.read("s")),
      Array.from({ length: seq }, (_, index) => `entry ${index + 1}`),
    );
  },
  "an entry is returned with its number and its event": async ({ store }) => {
    const lease = await claim(store);
    const [event] = createEvents(0, 1);
    await commit(store, lease, 0);
    deepStrictEqual(await store.read("s"), [{ seq: 1, event }]);
  },
  "a log can be read from after an entry": async ({ store }) => {
    await createHeldSession(store, 5);
    deepStrictEqual(textsOf(await store.read("s", 3)), ["entry 4", "entry 5"]);
  },
  "a log can be read from after an entry in the middle of a commit": async ({ store }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, { events: 4 });
    await commit(store, lease, 4, { events: 2 });
    deepStrictEqual(textsOf(await store.read("s", 2)), ["entry 3", "entry 4", "entry 5", "entry 6"]);
  },
  "there is nothing to read after the last entry": async ({ store }) => {
    await createHeldSession(store, 3);
    deepStrictEqual(await store.read("s", 3), []);
    deepStrictEqual(await store.read("s", 300), []);
  },
  "a limit returns the first entries, and at most the rest of the last commit": async ({ store }) => {
    const lease = await claim(store);
    for (let seq = 0; seq < 12; ) seq = await commit(store, lease, seq, { events: 3 });
    const entries = await store.read("s", 0, 4);
    ok(entries.length >= 4 && entries.length <= 6);
    deepStrictEqual(textsOf(entries).slice(0, 4), ["entry 1", "entry 2", "entry 3", "entry 4"]);
  },
  "the pages of a log together make up the log": async ({ store }) => {
    const lease = await claim(store);
    for (let seq = 0; seq < 40; ) seq = await commit(store, lease, seq, { events: (seq % 3) + 1 });
    const whole = await store.read("s");
    const pages = [];
    for (;;) {
      const page = await store.read("s", pages.at(-1)?.seq ?? 0, 7);
      if (page.length === 0) break;
      pages.push(...page);
    }
    deepStrictEqual(pages, whole);
  },
  "a long log is read completely": async ({ store }) => {
    const lease = await claim(store);
    for (let seq = 0; seq < 1500; ) seq = await commit(store, lease, seq, { events: 5 });
    await expectLog(store, 1500);
  },
  "the logs of sessions are separate": async ({ store }) => {
    const [a, b] = [await claim(store, "a"), await claim(store, "b")];
    await commit(store, a, 0, { events: [createTextEvent("of a")] });
    await commit(store, b, 0, { events: [createTextEvent("of b")] });
    await commit(store, a, 1, { events: [createTextEvent("of a again")] });
    deepStrictEqual(textsOf(await store.read("a")), ["of a", "of a again"]);
    deepStrictEqual(textsOf(await store.read("b")), ["of b"]);
  },
  "a reopened store has everything": async ({ store, reopened }) => {
    const lease = await createHeldSession(store, 4);
    await store.post("s", createMessage("m"));
    const hash = await store.putBlob("s", new Uint8Array([1, 2, 3]));
    const log = await store.read("s");
    const reopenedStore = await reopened();
    deepStrictEqual(await reopenedStore.read("s"), log);
    deepStrictEqual((await reopenedStore.load("s"))?.state, createState(4, "model_running"));
    deepStrictEqual(await readInboxIds(reopenedStore), ["m"]);
    deepStrictEqual(await reopenedStore.getBlob("s", hash), new Uint8Array([1, 2, 3]));
    strictEqual(await claimAsBob(reopenedStore, t0), false);
    strictEqual(await commit(reopenedStore, lease, 4), 5);
  },
});
