/**
 * Schedules in the stores that need no server, and what is refused.
 */
import { describe, expect, test } from "vitest";
import { createMemoryStore, createSchedules, createWorker, type Schedule, type WorkerReport } from "../../src/index.js";
import type { ScheduleStore } from "../../src/store.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { localStores } from "../support/stores.js";
import { verifies } from "../verifies.js";
import { asked, describeSchedules, noon } from "./schedule-cases.js";

const proven = verifies("TIME-4#schedules");

for (const { name, open } of localStores) describeSchedules(name, open);

describe("a schedule", () => {
  test(
    "names its next slots: a time of day that is skipped or repeated comes once, as in Vixie's cron",
    proven,
    async () => {
      const clock = createTestClock(Date.UTC(2026, 2, 28, 12));
      const schedules = createSchedules({ store: createMemoryStore(), clock });
      const next = async (cron: string) => {
        const slots = await schedules.next({ id: "x", cron, timezone: "Europe/Berlin", ...asked }, { count: 3 });
        return slots.map((slot) => new Date(slot).toISOString());
      };
      expect(await next("30 2 * * *")).toEqual([
        "2026-03-29T01:00:00.000Z",
        "2026-03-30T00:30:00.000Z",
        "2026-03-31T00:30:00.000Z",
      ]);
      clock.jump(Date.UTC(2026, 9, 24, 12) - clock.now());
      expect(await next("30 2 * * *")).toEqual([
        "2026-10-25T00:30:00.000Z",
        "2026-10-26T01:30:00.000Z",
        "2026-10-27T01:30:00.000Z",
      ]);
    },
  );

  test("whose time zone this process does not know keeps no other from being fired", proven, async () => {
    const store = createMemoryStore();
    const clock = createTestClock(noon);
    const schedules = createSchedules({ store, clock });
    await schedules.put({ id: "a", cron: "* * * * *", ...asked });
    await schedules.put({ id: "b", cron: "* * * * *", ...asked });
    const row = await store.schedules?.get("a");
    if (row == null) throw new Error("There is no row.");
    const body = { ...(row.body as object), timezone: "Mars/Olympus" };
    await store.schedules?.put({ ...row, rev: 2, body });
    clock.jump(60_000);
    const reports: WorkerReport[] = [];
    const worker = createWorker({ store, agents: [], clock, onReport: (report) => reports.push(report) });
    await worker.runUntilIdle();
    await worker.runUntilIdle();
    const failed = { type: "schedule_failed", scheduleId: "a", retryInMs: 1_000, error: expect.any(Error) };
    const fired = { type: "fired", scheduleId: "b", slot: noon + 60_000 };
    expect(reports.filter(({ type }) => type !== "refused")).toMatchObject([failed, fired]);
    // Putting it again repairs it, and loses nothing.
    await schedules.put({ id: "a", cron: "* * * * *", ...asked });
    await createWorker({ store, agents: [], clock }).runUntilIdle();
    expect(await schedules.slots("a")).toMatchObject([{ slot: noon + 60_000, outcome: "posted" }]);
  });

  test("of a store that keeps time itself runs and counts no slot that the store has not reached", proven, async () => {
    const inner = createMemoryStore();
    const clock = createTestClock(noon);
    let latest = noon;
    if (inner.schedules === undefined) throw new Error("There are no schedules.");
    const store = { ...inner, schedules: { ...inner.schedules, latestSlot: async () => latest } };
    const schedules = createSchedules({ store, clock });
    const outcomes = async () => (await schedules.slots("each")).map(({ slot, outcome }) => [slot - noon, outcome]);
    await schedules.put({ id: "each", cron: "* * * * *", ...asked, overlap: "allow" });
    latest = noon + 90_000;
    // The clock of this process is almost an hour ahead of the store's.
    clock.jump(3_600_000);
    await createWorker({ store, agents: [], clock }).runUntilIdle();
    expect(await outcomes()).toEqual([[60_000, "posted"]]);
    latest = noon + 150_000;
    const edited = await schedules.put({ id: "each", cron: "* * * * *", ...asked, overlap: "allow", input: "Why?" });
    expect(edited).toMatchObject({ rev: 2, nextAt: noon + 180_000 });
    expect((await outcomes())[0]).toEqual([120_000, "posted"]);
    latest = noon + 240_000;
    await createWorker({ store, agents: [], clock }).runUntilIdle();
    expect((await outcomes()).slice(0, 2)).toEqual([
      [240_000, "posted"],
      [180_000, "missed"],
    ]);
  });

  test("that is fired between the read and the write of a change runs its slot once", proven, async () => {
    const inner = createMemoryStore();
    const clock = createTestClock(noon);
    await createSchedules({ store: inner, clock }).put({ id: "a", cron: "* * * * *", ...asked });
    const { schedules: rows } = inner;
    if (rows === undefined) throw new Error("There are no schedules.");
    let hasFired = false;
    const racing: ScheduleStore = {
      ...rows,
      async put(...args) {
        if (!hasFired) {
          hasFired = true;
          clock.jump(60_000);
          await createWorker({ store: inner, agents: [], clock }).runUntilIdle();
        }
        return rows.put(...args);
      },
    };
    const racingStore = { ...inner, schedules: racing };
    await createSchedules({ store: racingStore, clock }).put({ id: "a", cron: "* * * * *", ...asked, input: "Else?" });
    await createWorker({ store: inner, agents: [], clock }).runUntilIdle();
    expect(await createSchedules({ store: inner }).slots("a")).toMatchObject([{ slot: noon + 60_000 }]);
    expect(await createSchedules({ store: inner }).get("a")).toMatchObject({ rev: 2, nextAt: noon + 120_000 });
  });

  test.each<[object, RegExp]>([
    [{ cron: "61 * * * *" }, /cron expression "61 \* \* \* \*"/],
    [{ cron: "0 0 31 2 *" }, /no time within the next ten years/],
    [{ cron: "* * * * *", timezone: "Mars/Olympus" }, /unknown time zone "Mars\/Olympus"/],
    [{ everyMs: 60_000, timezone: "+02:00" }, /unknown time zone "\+02:00"/],
    [{ cron: "* * * * *", everyMs: 1_000 }, /one of/],
    [{}, /one of/],
    [{ everyMs: 10 }, /everyMs/],
    [{ everyMs: 1_000, jitterMs: 1e9 }, /jitterMs/],
    [{ everyMs: Number.MAX_SAFE_INTEGER }, /`everyMs` is more than ten years/],
    [{ at: noon + 4_000 * 86_400_000 }, /`at` is more than ten years from now/],
    [{ cron: "* * * * *", startAt: Date.UTC(99_999, 0) }, /`startAt` is more than ten years from now/],
    [{ at: "2026-11-28T12:00:00" }, /UTC offset/],
    [{ at: "2026-02-30T12:00:00Z" }, /`at` must be/],
    [{ cron: "* * * * *", overlap: "queue" }, /does not work with session "new"/],
    [{ cron: "* * * * *", missed: "all" }, /missed "all" does not work with overlap "skip"/],
    [{ cron: "* * * * *", overlap: "allow", session: "same" }, /needs session "new"/],
    [{ cron: "* * * * *", session: "own" }, /`session` must be/],
    [{ cron: "* * * * *", id: "a/b" }, /letters, digits/],
    [{ cron: "* * * * *", chron: 1 }, /chron/],
    [{ cron: "* * * * *", options: { tools: [] } }, /has no option "tools"/],
    [{ cron: "* * * * *", startAt: 5, endAt: 4 }, /`endAt` is before `startAt`/],
    [{ cron: "* * * * *", endAt: noon - 1 }, /it would never run/],
    [{ at: noon + 5, endAt: noon + 4 }, /it would never run/],
    [{ cron: "@daily" }, /must have five fields, or six/],
    [{ cron: "2030-01-01T08:00:00" }, /must have five fields, or six/],
    [{ cron: "* * * * *", session: { id: "s", agent: "press" } }, /a schedule's session has no option "agent"/],
  ])("%j is refused", proven, async (given, message) => {
    const schedules = createSchedules({ store: createMemoryStore(), clock: createTestClock(noon) });
    const put = schedules.put({ id: "x", ...asked, ...given } as Schedule);
    await expect(put).rejects.toMatchObject({ code: "bad_schedule", message: expect.stringMatching(message) });
    expect(await schedules.list()).toEqual([]);
  });

  test("that is over can be put again, unchanged or changed", proven, async () => {
    const clock = createTestClock(noon);
    const schedules = createSchedules({ store: createMemoryStore(), clock });
    const put = (input: string) => schedules.put({ id: "a", cron: "* * * * *", endAt: noon + 90_000, ...asked, input });
    await put("What is new?");
    clock.jump(100_000);
    expect(await put("What is new?")).toMatchObject({ rev: 1 });
    expect(await put("What else?")).toMatchObject({ rev: 2, nextAt: null });
    expect(await schedules.slots("a")).toMatchObject([{ outcome: "posted" }]);
  });

  test("runs on request as often as it is asked to, and its slots stay as they were", proven, async () => {
    const store = createMemoryStore();
    const clock = createTestClock(noon);
    const schedules = createSchedules({ store, clock });
    await schedules.put({ id: "a", cron: "* * * * *", ...asked });
    clock.jump(60_000);
    await createWorker({ store, agents: [], clock }).runUntilIdle();
    const { last } = (await schedules.get("a")) ?? {};
    expect(last).toMatchObject({ slot: noon + 60_000 });
    const ahead = createSchedules({ store, clock: createTestClock(noon + 11 * 60_000) });
    const runs = await Promise.all([ahead.runNow("a"), ahead.runNow("a")]);
    expect(new Set(runs.map(({ sessionId }) => sessionId)).size).toBe(2);
    expect(await store.list()).toHaveLength(3);
    expect(await schedules.get("a")).toMatchObject({ last, nextAt: noon + 120_000 });
    const edited = await schedules.put({ id: "a", cron: "* * * * *", ...asked, input: "What else?" });
    expect(edited).toMatchObject({ rev: 2, nextAt: noon + 120_000 });
  });

  test("that is not there cannot be changed", proven, async () => {
    const schedules = createSchedules({ store: createMemoryStore() });
    const missing = { code: "no_schedule" };
    await expect(schedules.pause("x")).rejects.toMatchObject(missing);
    await expect(schedules.runNow("x")).rejects.toMatchObject(missing);
    await expect(schedules.slots("x")).rejects.toMatchObject(missing);
    await expect(schedules.next("x")).rejects.toMatchObject(missing);
    expect(await schedules.get("x")).toBeNull();
    expect(await schedules.remove("x")).toBe(false);
  });

  test("needs a store that keeps schedules", proven, () => {
    const { schedules: _, ...store } = createMemoryStore();
    expect(() => createSchedules({ store })).toThrow(/does not support schedules/);
  });
});
