/**
 * Schedules, and the slots that have fired.
 */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { PutRow, ScheduleStore, SlotFiring } from "../../ports/schedule-store.js";
import type { Store } from "../../ports/store.js";
import { createCases, createMessage, type StoreCase, t0 } from "./bench.js";

/** A store may lack schedules. In that case, there is nothing to check. */
function scheduleCases(checks: {
  readonly [name: string]: (store: Store, schedules: ScheduleStore, second: () => Promise<Store>) => Promise<void>;
}): readonly StoreCase[] {
  return createCases(
    ["TIME-4#store"],
    Object.fromEntries(
      Object.entries(checks).map(([name, check]): [string, StoreCase["check"]] => [
        name,
        async ({ store, second }) => {
          if (store.schedules !== undefined) await check(store, store.schedules, second);
        },
      ]),
    ),
  );
}

function createRow(id: string, more: Partial<PutRow> = {}): PutRow {
  return { id, rev: 1, slot: t0, dueAt: t0, body: { agent: "press", input: "What is new?" }, ...more };
}

function createFire(id: string, more: Partial<SlotFiring> = {}): SlotFiring {
  return { id, rev: 1, slot: t0, next: { slot: t0 + 60_000, dueAt: t0 + 60_500 }, outcomes: [], posts: [], ...more };
}

const ok = { type: "ok" };

export const scheduleStoreCases = scheduleCases({
  "a schedule is returned as it was put, and a change needs the next revision": async (_, schedules) => {
    strictEqual(await schedules.get("a"), null);
    deepStrictEqual(await schedules.put(createRow("a")), ok);
    deepStrictEqual(await schedules.get("a"), createRow("a"));
    deepStrictEqual(await schedules.put(createRow("a")), { type: "conflict", rev: 1 });
    deepStrictEqual(await schedules.put(createRow("a", { rev: 3 })), { type: "conflict", rev: 1 });
    deepStrictEqual(await schedules.put(createRow("b", { rev: 2 })), { type: "conflict", rev: 0 });
    const changed = createRow("a", { rev: 2, slot: null, dueAt: null, body: { agent: "other" } });
    deepStrictEqual(await schedules.put(changed), ok);
    deepStrictEqual(await schedules.get("a"), changed);
  },

  "a change is a conflict if the schedule has fired since the caller read it": async (_, schedules) => {
    deepStrictEqual(await schedules.put(createRow("a"), { slot: null }), ok);
    await schedules.fire(createFire("a"));
    const changed = createRow("a", { rev: 2 });
    deepStrictEqual(await schedules.put(changed, { slot: t0 }), { type: "conflict", rev: 1 });
    strictEqual((await schedules.get("a"))?.slot, t0 + 60_000);
    deepStrictEqual(await schedules.put(changed, { slot: t0 + 60_000 }), ok);
    await schedules.fire(createFire("a", { rev: 2, next: null }));
    deepStrictEqual(await schedules.put(createRow("a", { rev: 3 }), { slot: t0 }), { type: "conflict", rev: 2 });
    deepStrictEqual(await schedules.put(createRow("a", { rev: 3 }), { slot: null }), ok);
  },

  "schedules are listed by id, page by page, apart from the delayed messages of each session": async (_, schedules) => {
    for (const id of ["c", "a", "b"]) await schedules.put(createRow(id));
    for (const id of ["send:s:2", "send:s:1"]) await schedules.put(createRow(id, { sessionId: "s" }));
    const ids = async (options: Parameters<ScheduleStore["list"]>[0]) =>
      (await schedules.list(options)).map(({ id }) => id);
    deepStrictEqual(await ids({ limit: 2 }), ["a", "b"]);
    deepStrictEqual(await ids({ after: "b", limit: 2 }), ["c"]);
    deepStrictEqual(await ids({ sessionId: "s", limit: 10 }), ["send:s:1", "send:s:2"]);
    deepStrictEqual(await ids({ sessionId: "t", limit: 10 }), []);
  },

  "due schedules are listed in order, and paused schedules are never due": async (_, schedules) => {
    for (const [id, dueAt] of [
      ["late", t0 - 5],
      ["soon", t0 + 1],
      ["now", t0],
      ["paused", null],
    ] as const)
      await schedules.put(createRow(id, { dueAt, slot: dueAt }));
    const ids = async (now: number, limit = 10) => (await schedules.due(now, limit)).map(({ id }) => id);
    deepStrictEqual(await ids(t0), ["late", "now"]);
    deepStrictEqual(await ids(t0, 1), ["late"]);
    strictEqual(await schedules.nextDueAt(t0), t0 + 1);
    strictEqual(await schedules.nextDueAt(t0 + 1), null);
  },

  "a slot that fires posts its messages and moves the schedule forward, all or nothing": async (store, schedules) => {
    await schedules.put(createRow("a"));
    const last = { slot: t0, sessionId: "s", runId: "run" };
    const posted = { slot: t0, outcome: "posted", at: t0, sessionId: "s", runId: "run" } as const;
    const missed = { slot: t0 - 60_000, outcome: "missed", at: t0, count: 3 } as const;
    const posts = [{ sessionId: "s", message: createMessage("1") }];
    for (const stale of [{ rev: 2 }, { slot: t0 + 1 }, { id: "b" }])
      strictEqual(await schedules.fire(createFire("a", { posts, outcomes: [posted], ...stale })), false);
    deepStrictEqual(await store.inbox("s"), []);
    deepStrictEqual(await schedules.slots("a", 10), []);
    strictEqual(await schedules.fire(createFire("a", { posts, outcomes: [missed, posted], last })), true);
    deepStrictEqual(
      (await store.inbox("s")).map(({ id }) => id),
      ["1"],
    );
    deepStrictEqual(await store.due(t0, 10), ["s"]);
    deepStrictEqual(await schedules.get("a"), { ...createRow("a", { slot: t0 + 60_000, dueAt: t0 + 60_500 }), last });
    deepStrictEqual(await schedules.slots("a", 10), [posted, missed]);
    strictEqual(await schedules.fire(createFire("a", { posts })), false);
    deepStrictEqual(await store.verify(), []);
  },

  "a slot that fires writes its notices for each known destination, all or nothing": async (store, schedules) => {
    const { notices } = store;
    if (notices === undefined) return;
    const written = [{ id: "schedule:a/1/schedule.missed", at: t0 + 7, notice: { type: "schedule.missed" } }];
    await schedules.put(createRow("a"));
    strictEqual(await schedules.fire(createFire("a", { notices: written })), true);
    deepStrictEqual(await notices.list({ limit: 10 }), []);
    for (const id of ["x", "y"]) await notices.addDestination(id);
    strictEqual(await schedules.fire(createFire("a", { notices: written })), false);
    deepStrictEqual(await notices.list({ limit: 10 }), []);
    strictEqual(
      await schedules.fire({ ...createFire("a", { notices: written, next: null }), slot: t0 + 60_000 }),
      true,
    );
    const rows = await notices.list({ limit: 10 });
    deepStrictEqual(
      rows.map(({ destination, id, sessionId, at, dueAt, notice }) => [destination, id, sessionId, at, dueAt, notice]),
      ["x", "y"].map((id) => [id, "schedule:a/1/schedule.missed", null, t0 + 7, 0, { type: "schedule.missed" }]),
    );
    deepStrictEqual(await store.verify(), []);
  },

  "a message whose id is taken is skipped, and the schedule moves forward": async (store, schedules) => {
    await store.post("s", createMessage("1"));
    await schedules.put(createRow("a"));
    const posts = [
      { sessionId: "s", message: createMessage("1") },
      { sessionId: "s", message: createMessage("2") },
    ];
    strictEqual(await schedules.fire(createFire("a", { posts })), true);
    deepStrictEqual(
      (await store.inbox("s")).map(({ id }) => id),
      ["1", "2"],
    );
  },

  "if many callers fire a slot at the same time, only one succeeds": async (store, schedules, second) => {
    await schedules.put(createRow("a"));
    const other = (await second()).schedules ?? schedules;
    const fires = Array.from({ length: 10 }, (_, n) =>
      (n % 2 === 0 ? schedules : other).fire(
        createFire("a", { posts: [{ sessionId: `s${n}`, message: createMessage(`${n}`) }] }),
      ),
    );
    strictEqual((await Promise.all(fires)).filter((isFired) => isFired).length, 1);
    strictEqual((await store.list()).length, 1);
  },

  "a change keeps the slots and the last run, and makes earlier plans stale": async (_, schedules) => {
    await schedules.put(createRow("a"));
    const last = { slot: t0, sessionId: "s", runId: "run" };
    const outcome = { slot: t0, outcome: "posted", at: t0 } as const;
    await schedules.fire(createFire("a", { outcomes: [outcome], last }));
    await schedules.put(createRow("a", { rev: 2, slot: t0 + 60_000, dueAt: t0 + 60_000 }));
    strictEqual(await schedules.fire(createFire("a", { slot: t0 + 60_000 })), false);
    deepStrictEqual((await schedules.get("a"))?.last, last);
    deepStrictEqual(await schedules.slots("a", 1), [outcome]);
  },

  "a delayed message is removed when it is sent, and with its session": async (store, schedules) => {
    await schedules.put(createRow("send:s:1", { sessionId: "s" }));
    await schedules.put(createRow("send:s:2", { sessionId: "s" }));
    const posts = [{ sessionId: "s", message: createMessage("1") }];
    strictEqual(await schedules.fire(createFire("send:s:1", { posts, next: null, remove: true })), true);
    strictEqual(await schedules.get("send:s:1"), null);
    strictEqual(await store.delete("s", { now: t0, force: true }), true);
    strictEqual(await schedules.get("send:s:2"), null);
  },

  "delayed messages of sessions that have not begun are listed, and are removed with their session": async (
    store,
    schedules,
  ) => {
    await schedules.put(createRow("a"));
    for (const sessionId of ["s", "t"])
      for (const n of [1, 2]) await schedules.put(createRow(`send:${sessionId}:${n}`, { sessionId }));
    const ids = async (options: { readonly after?: string; readonly limit: number }) =>
      (await schedules.list({ isDelayed: true, ...options })).map(({ id }) => id);
    deepStrictEqual(await ids({ limit: 3 }), ["send:s:1", "send:s:2", "send:t:1"]);
    deepStrictEqual(await ids({ after: "send:t:1", limit: 3 }), ["send:t:2"]);
    strictEqual(await store.delete("s", { now: t0 }), true);
    strictEqual(await store.delete("s", { now: t0 }), false);
    deepStrictEqual(await ids({ limit: 3 }), ["send:t:1", "send:t:2"]);
    deepStrictEqual(
      (await schedules.list({ limit: 3 })).map(({ id }) => id),
      ["a"],
    );
  },

  "a schedule is removed together with its slots": async (_, schedules) => {
    await schedules.put(createRow("a"));
    await schedules.fire(createFire("a", { outcomes: [{ slot: t0, outcome: "posted", at: t0 }] }));
    strictEqual(await schedules.remove("a"), true);
    strictEqual(await schedules.remove("a"), false);
    strictEqual(await schedules.get("a"), null);
    deepStrictEqual(await schedules.slots("a", 10), []);
    deepStrictEqual(await schedules.put(createRow("a")), ok);
  },

  "a store keeps the last 1,000 slots of a schedule": async (_, schedules) => {
    await schedules.put(createRow("a"));
    const outcomes = Array.from({ length: 1_100 }, (_, n) => ({ slot: n, outcome: "overlap", at: n }) as const);
    await schedules.fire(createFire("a", { outcomes: outcomes.slice(0, 600) }));
    await schedules.fire(createFire("a", { slot: t0 + 60_000, next: null, outcomes: outcomes.slice(600) }));
    const slots = await schedules.slots("a", 2_000);
    strictEqual(slots.length, 1_000);
    deepStrictEqual([slots[0]?.slot, slots.at(-1)?.slot], [1_099, 100]);
  },

  "a session accepts 1,000 delayed messages": async (_, schedules) => {
    const rows = Array.from({ length: 1_000 }, (_, n) => createRow(`send:s:${n}`, { sessionId: "s" }));
    await Promise.all(rows.map((row) => schedules.put(row)));
    deepStrictEqual(await schedules.put(createRow("send:s:more", { sessionId: "s" })), { type: "full" });
    deepStrictEqual(await schedules.put(createRow("send:s:1", { sessionId: "s", rev: 2 })), ok);
    deepStrictEqual(await schedules.put(createRow("send:t:1", { sessionId: "t" })), ok);
  },
});
