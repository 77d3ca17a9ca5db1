/**
 * Past states: `loadAt` finds a state at or before an entry.
 */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { claim, commit, createCases, createHeldSession, createState, t0 } from "./bench.js";

export const loadAtCases = createCases(["STOR-1", "STOR-3"], {
  "a missing session has no state at an entry": async ({ store }) => {
    strictEqual(await store.loadAt("none", 1), null);
    await claim(store);
    strictEqual(await store.loadAt("s", 1), null);
  },
  "the state at an entry is from a row at or before it and, from the last entry on, from the last row": async ({
    store,
  }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, { events: 3 });
    await commit(store, lease, 3, { events: 1 });
    await commit(store, lease, 4, { events: 2 });
    const found = [0, 1, 2, 3, 4, 5, 6, 7].map(async (seq) => (await store.loadAt("s", seq))?.seq ?? null);
    const [first, second, third, atThree, atFour, atFive, atSix, afterEnd] = await Promise.all(found);
    deepStrictEqual([first, second, third, atThree, atSix, afterEnd], [null, null, null, 3, 6, 6]);
    ok(atFour === 3 || atFour === 4);
    ok(atFive === 3 || atFive === 4);
    const five = await store.loadAt("s", 5);
    deepStrictEqual(five?.state, createState(five?.seq ?? 0, "model_running"));
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
      deepStrictEqual(found, { seq: found.seq, state: createState(found.seq, "model_running") });
      ok(rows.includes(found.seq));
    }
  },
  "the state at the end is the last one": async ({ store, reopened }) => {
    await createHeldSession(store, 3);
    deepStrictEqual(await store.loadAt("s", Number.MAX_SAFE_INTEGER), await store.load("s"));
    deepStrictEqual(await (await reopened()).loadAt("s", 3), { seq: 3, state: createState(3, "model_running") });
  },
  "a commit without events is not a row": async ({ store }) => {
    const lease = await createHeldSession(store, 2);
    await commit(store, lease, 2, { events: 0, state: createState(2, "failed") });
    deepStrictEqual(await store.loadAt("s", 2), { seq: 2, state: createState(2, "model_running") });
  },
  "the states of sessions that are written alternately stay separate": async ({ store }) => {
    const leases = { a: await claim(store, "a"), b: await claim(store, "b") };
    for (let seq = 0; seq < 4; seq++) {
      await commit(store, leases.a, seq, { state: createState(seq + 1, "preparing") });
      await commit(store, leases.b, seq, { state: createState(seq + 1, "tool_running") });
    }
    const [a, b] = [await store.loadAt("a", 2), await store.loadAt("b", 3)];
    deepStrictEqual(a?.state, createState(a?.seq ?? 0, "preparing"));
    deepStrictEqual(b?.state, createState(b?.seq ?? 0, "tool_running"));
    deepStrictEqual((await store.read("b")).length, 4);
  },
  "a new session under an old id has no old states": async ({ store }) => {
    await createHeldSession(store, 3);
    await store.delete("s", { now: t0, force: true });
    await createHeldSession(store, 1);
    strictEqual((await store.loadAt("s", 3))?.seq, 1);
  },
});
