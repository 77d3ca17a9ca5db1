/**
 * States of the past: `loadAt` finds one at or before an entry.
 */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { cases, claim, commit, sessionWith, stateAt, t0 } from "./bench.js";

export const loadingAt = cases(["STOR-1", "STOR-3"], {
  "there is no state at an entry of a session that is not there": async ({ store }) => {
    strictEqual(await store.loadAt("none", 1), null);
    await claim(store);
    strictEqual(await store.loadAt("s", 1), null);
  },
  "the state at an entry is that of a row at or before it, and from the last entry on that of the last row": async ({
    store,
  }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, { events: 3 });
    await commit(store, lease, 3, { events: 1 });
    await commit(store, lease, 4, { events: 2 });
    const found = [0, 1, 2, 3, 4, 5, 6, 7].map(async (seq) => (await store.loadAt("s", seq))?.seq ?? null);
    const [first, second, third, atThree, atFour, atFive, atSix, behind] = await Promise.all(found);
    deepStrictEqual([first, second, third, atThree, atSix, behind], [null, null, null, 3, 6, 6]);
    ok(atFour === 3 || atFour === 4);
    ok(atFive === 3 || atFive === 4);
    const five = await store.loadAt("s", 5);
    deepStrictEqual(five?.state, stateAt(five?.seq ?? 0, "model_running"));
  },
  "the state at an entry is at most 64 entries older than the last row at or before it": async ({ store }) => {
    const lease = await claim(store);
    const rows: number[] = [];
    for (let seq = 0; seq < 300; rows.push(seq))
      seq = await commit(store, lease, seq, { events: (rows.length % 3) + 1 });
    for (let seq = rows[0] ?? 0; seq <= 300; seq++) {
      const row = Math.max(...rows.filter((at) => at <= seq));
      const found = await store.loadAt("s", seq);
      ok(found !== null && found.seq <= row && found.seq >= row - 64);
      deepStrictEqual(found, { seq: found.seq, state: stateAt(found.seq, "model_running") });
      ok(rows.includes(found.seq));
    }
  },
  "the state at the end is the last one": async ({ store, reopened }) => {
    await sessionWith(store, 3);
    deepStrictEqual(await store.loadAt("s", Number.MAX_SAFE_INTEGER), await store.load("s"));
    deepStrictEqual(await (await reopened()).loadAt("s", 3), { seq: 3, state: stateAt(3, "model_running") });
  },
  "a commit without events is no row": async ({ store }) => {
    const lease = await sessionWith(store, 2);
    await commit(store, lease, 2, { events: 0, state: stateAt(2, "failed") });
    deepStrictEqual(await store.loadAt("s", 2), { seq: 2, state: stateAt(2, "model_running") });
  },
  "states of sessions that are written in turn are kept apart": async ({ store }) => {
    const leases = { a: await claim(store, "a"), b: await claim(store, "b") };
    for (let seq = 0; seq < 4; seq++) {
      await commit(store, leases.a, seq, { state: stateAt(seq + 1, "preparing") });
      await commit(store, leases.b, seq, { state: stateAt(seq + 1, "tool_running") });
    }
    const [a, b] = [await store.loadAt("a", 2), await store.loadAt("b", 3)];
    deepStrictEqual(a?.state, stateAt(a?.seq ?? 0, "preparing"));
    deepStrictEqual(b?.state, stateAt(b?.seq ?? 0, "tool_running"));
    deepStrictEqual((await store.read("b")).length, 4);
  },
  "a new session under an old id has no old states": async ({ store }) => {
    await sessionWith(store, 3);
    await store.delete("s", { now: t0, force: true });
    await sessionWith(store, 1);
    strictEqual((await store.loadAt("s", 3))?.seq, 1);
  },
});
