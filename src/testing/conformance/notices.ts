/**
 * The notices that commits write, and their rows.
 */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { NoticeRow, NoticeStore } from "../../ports/notice-store.js";
import type { Store } from "../../ports/store.js";
import { claim, commit, createCases, createRestingSession, type StoreCase, t0 } from "./bench.js";

/** A store may lack notices. In that case, there is nothing to check. */
function noticeCases(checks: {
  readonly [name: string]: (store: Store, notices: NoticeStore, second: () => Promise<Store>) => Promise<void>;
}): readonly StoreCase[] {
  return createCases(
    ["TIME-6#store"],
    Object.fromEntries(
      Object.entries(checks).map(([name, check]): [string, StoreCase["check"]] => [
        name,
        async ({ store, second }) => {
          if (store.notices !== undefined) await check(store, store.notices, second);
        },
      ]),
    ),
  );
}

const notice = { type: "run.ended", data: { sessionId: "s", text: "ä\0\ud800" } };

const pick = ({ destination, id, sessionId, dueAt, tries }: NoticeRow) => ({
  destination,
  id,
  sessionId,
  dueAt,
  tries,
});

export const noticeStoreCases = noticeCases({
  "a commit writes its notices for each known destination, and for no others": async (store, notices) => {
    await createRestingSession(store, "before", { notices: [{ id: "before/1", notice }] });
    strictEqual(await notices.addDestination("b"), true);
    strictEqual(await notices.addDestination("a"), true);
    strictEqual(await notices.addDestination("a"), false);
    deepStrictEqual(await notices.destinations(), [
      { id: "a", body: {} },
      { id: "b", body: {} },
    ]);
    await createRestingSession(store, "s", { at: t0 + 5, notices: [{ id: "s/1", notice }] });
    for (const destination of ["a", "b"]) {
      const [row, ...more] = await notices.due(destination, t0, 10);
      deepStrictEqual(more, []);
      deepStrictEqual(row && pick(row), { destination, id: "s/1", sessionId: "s", dueAt: 0, tries: 0 });
      deepStrictEqual([row?.at, row?.notice], [t0 + 5, notice]);
    }
    deepStrictEqual(await notices.due("c", t0, 10), []);
  },

  "a destination keeps its body until it gets another one": async (_, notices, second) => {
    const bodies = async () => (await ((await second()).notices ?? notices).destinations()).map(({ body }) => body);
    const body = { endpoint: "https://push.example.org/ä", until: t0 };
    strictEqual(await notices.addDestination("a", body), true);
    deepStrictEqual(await bodies(), [body]);
    strictEqual(await notices.addDestination("a"), false);
    deepStrictEqual(await bodies(), [body]);
    strictEqual(await notices.addDestination("a", { until: t0 + 1 }), false);
    deepStrictEqual(await bodies(), [{ until: t0 + 1 }]);
  },

  "a commit that is refused writes no notices": async (store, notices) => {
    await notices.addDestination("a");
    const lease = await claim(store);
    await commit(store, lease, 0);
    const { type } = await store.commit(lease, {
      expectedSeq: 5,
      events: [],
      at: t0,
      activity: "active",
      dueAt: null,
      askedAt: null,
      state: (await store.load("s"))?.state ?? (await Promise.reject(new Error("The session has no state."))),
      notices: [{ id: "s/1", notice }],
    });
    strictEqual(type, "conflict");
    deepStrictEqual(await notices.list({ limit: 10 }), []);
  },

  "of two replacements of the same row, the first wins, and the row is due once its due time has come": async (
    store,
    notices,
    second,
  ) => {
    await notices.addDestination("a");
    await createRestingSession(store, "s", { notices: [{ id: "s/1", notice }] });
    const other = (await second()).notices ?? notices;
    const [row] = await notices.due("a", t0, 1);
    if (row === undefined) throw new Error("There is no row.");
    const leased = { notice, tries: 1, dueAt: t0 + 30_000 };
    deepStrictEqual((await Promise.all([notices.replace(row, leased), other.replace(row, leased)])).toSorted(), [
      false,
      true,
    ]);
    deepStrictEqual(await notices.due("a", t0 + 29_999, 1), []);
    deepStrictEqual((await notices.due("a", t0 + 30_000, 1)).map(pick), [
      { destination: "a", id: "s/1", sessionId: "s", dueAt: t0 + 30_000, tries: 1 },
    ]);
    const dead = { notice, tries: 2, dueAt: null, error: "refused" };
    strictEqual(await notices.replace({ ...row, ...leased }, dead), true);
    deepStrictEqual(await notices.due("a", t0 + 1e12, 1), []);
    deepStrictEqual(
      (await notices.list({ isDead: true, limit: 9 })).map(({ error }) => error),
      ["refused"],
    );
    // The row is due again, and the error is cleared.
    strictEqual(await notices.replace({ ...row, ...dead }, { notice, tries: 0, dueAt: 0 }), true);
    deepStrictEqual(await notices.list({ limit: 9 }), [row]);
    strictEqual(await notices.remove(row.number), true);
    strictEqual(await notices.remove(row.number), false);
    strictEqual(await notices.replace(row, leased), false);
  },

  "the rows that have been due longest come first, and lists are ordered by number, page by page": async (
    store,
    notices,
  ) => {
    await notices.addDestination("a");
    for (const sessionId of ["s1", "s2", "s3"])
      await createRestingSession(store, sessionId, { notices: [{ id: `${sessionId}/1`, notice }] });
    const [first, ...others] = await notices.list({ limit: 10 });
    if (first === undefined) throw new Error("There is no row.");
    await notices.replace(first, { notice, tries: 1, dueAt: t0 });
    const ids = (rows: readonly NoticeRow[]) => rows.map(({ sessionId }) => sessionId);
    deepStrictEqual(ids(await notices.due("a", t0, 10)), ["s2", "s3", "s1"]);
    deepStrictEqual(ids(await notices.due("a", t0, 2)), ["s2", "s3"]);
    deepStrictEqual(ids(await notices.list({ limit: 2 })), ["s1", "s2"]);
    deepStrictEqual(ids(await notices.list({ after: others[0]?.number ?? 0, limit: 2 })), ["s3"]);
  },

  "the due rows of several destinations are found at once, with a limit for each": async (store, notices) => {
    if (notices.dueForEach === undefined) return;
    for (const id of ["a", "b", "c"]) await notices.addDestination(id);
    for (const sessionId of ["s1", "s2", "s3"])
      await createRestingSession(store, sessionId, { notices: [{ id: `${sessionId}/1`, notice }] });
    for (const row of await notices.list({ limit: 10 })) {
      const { destination, sessionId } = row;
      if (destination === "a" && sessionId === "s1") await notices.replace(row, { notice, tries: 1, dueAt: t0 });
      if (destination === "b" && sessionId === "s2") await notices.replace(row, { notice, tries: 1, dueAt: t0 + 1 });
      if (destination === "b" && sessionId === "s3") await notices.replace(row, { notice, tries: 8, dueAt: null });
    }
    const find = async (destinations: readonly string[], limit: number) => {
      const rows = (await notices.dueForEach?.(destinations, t0, limit)) ?? [];
      return destinations.map((id) => rows.flatMap((row) => (row.destination === id ? [row] : [])));
    };
    const separately = (destinations: readonly string[], limit: number) =>
      Promise.all(destinations.map((id) => notices.due(id, t0, limit)));
    for (const [destinations, limit] of [
      [["a", "b", "none"], 10],
      [["b", "a"], 2],
      [["c"], 1],
      [[], 10],
    ] as const)
      deepStrictEqual(await find(destinations, limit), await separately(destinations, limit));
    deepStrictEqual(
      (await find(["a", "b"], 10)).map((rows) => rows.map(({ sessionId }) => sessionId)),
      [["s2", "s3", "s1"], ["s1"]],
    );
  },

  "rows are removed with their session, with their destination, and when they are old": async (store, notices) => {
    for (const id of ["a", "b"]) await notices.addDestination(id);
    for (const [index, sessionId] of ["s1", "s2", "s3"].entries())
      await createRestingSession(store, sessionId, { at: t0 + index, notices: [{ id: `${sessionId}/1`, notice }] });
    const left = async () =>
      (await notices.list({ limit: 10 })).map(({ destination, sessionId }) => `${destination} ${sessionId}`).toSorted();
    await store.delete("s2", { now: t0 });
    deepStrictEqual(await left(), ["a s1", "a s3", "b s1", "b s3"]);
    strictEqual(await notices.removeDestination("b"), true);
    strictEqual(await notices.removeDestination("b"), false);
    deepStrictEqual(await left(), ["a s1", "a s3"]);
    strictEqual(await notices.drop(t0 + 2, []), 1);
    deepStrictEqual(await left(), ["a s3"]);
    deepStrictEqual(await notices.destinations(), [{ id: "a", body: {} }]);
  },

  "an old row is removed if it is dead, or if it has long been due and the caller does not deliver to its destination":
    async (store, notices) => {
      await notices.addDestination("a");
      const many = Array.from({ length: 1_002 }, (_, index) => ({ id: `s/${index}`, notice }));
      await createRestingSession(store, "s", { at: t0, notices: many });
      const [first, second] = await notices.list({ limit: 2 });
      if (first === undefined || second === undefined) throw new Error("There are no rows.");
      const ids = async () => (await notices.list({ limit: 9 })).map(({ id }) => id);
      strictEqual(await notices.drop(t0 + 1, ["a"]), 0);
      await notices.replace(first, { notice, tries: 8, dueAt: null });
      strictEqual(await notices.drop(t0, ["a"]), 0);
      strictEqual(await notices.drop(t0 + 1, ["a"]), 1);
      // Another worker delivers this row.
      await notices.replace(second, { notice, tries: 1, dueAt: t0 + 1 });
      let removed = 0;
      for (let count = -1; count !== 0; removed += count) count = await notices.drop(t0 + 1, ["b"]);
      strictEqual(removed, 1_000);
      deepStrictEqual(await ids(), ["s/1"]);
    },
});
