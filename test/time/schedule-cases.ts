/**
 * Schedules in a store: each slot is one run or is counted, in any number of processes, whatever the clock does.
 */
import { describe, expect, test } from "vitest";
import {
  createMemoryStore,
  createSchedules,
  createWorker,
  type Schedules,
  type Store,
  type WorkerReport,
} from "../../src/index.js";
import { createTestClock, type TestClock } from "../../src/testing/test-clock.js";
import { createDurableAgent } from "../support/durable-tool.js";
import { withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const proven = verifies("TIME-4#schedules");
const aMinute = 60_000;
const aDay = 86_400_000;
/** A Saturday, at noon UTC. In the past, because PostgreSQL fires no slot that its clock has not reached. */
export const noon = Date.UTC(2025, 10, 29, 12);
export const asked = { agent: "press", input: "What is new?" };

type Setting = {
  readonly store: Store;
  readonly clock: TestClock;
  readonly schedules: Schedules;
  /** A worker without agents fires what is due, and drives nothing. */
  readonly fire: () => Promise<number>;
  /** What became of slots, newest first, for example `posted 1`. */
  readonly outcomes: (id: string) => Promise<readonly string[]>;
};

async function listSessions(store: Store): Promise<readonly string[]> {
  return (await store.list()).map(({ sessionId }) => sessionId).sort();
}

function createPress(store: Store, clock: TestClock) {
  return createDurableAgent(() => "noted", {}, { name: "press", store, clock });
}

export function describeSchedules(
  name: string,
  open: () => Promise<{ readonly store: Store; readonly close: () => Promise<void> }>,
): void {
  const scheduleTest = (title: string, work: (setting: Setting) => Promise<void>) =>
    test(title, proven, () =>
      withStore(open, async (store) => {
        const clock = createTestClock(noon);
        const schedules = createSchedules({ store, clock });
        const fire = async () => {
          const reports: WorkerReport[] = [];
          await createWorker({ store, agents: [], clock, onReport: (report) => reports.push(report) }).runUntilIdle();
          return reports.filter(({ type }) => type === "fired").length;
        };
        const outcomes = async (id: string) =>
          (await schedules.slots(id, { limit: 1_000 })).map(({ outcome, count = 1 }) => `${outcome} ${count}`);
        await work({ store, clock, schedules, fire, outcomes });
        expect(await store.verify()).toEqual([]);
      }),
    );

  describe(`schedules in ${name}`, () => {
    scheduleTest(
      "each slot is one run, in many workers, also after the clock was set back",
      async ({ store, clock, schedules, fire }) => {
        await schedules.put({ id: "each", cron: "* * * * *", ...asked, overlap: "allow", missed: "all" });
        clock.jump(aMinute);
        await Promise.all([fire(), fire(), fire()]);
        expect(await listSessions(store)).toEqual(["each@2025-11-29T12:01:00.000Z"]);
        clock.jump(-50_000);
        expect(await fire()).toBe(0);
        clock.jump(50_000 + 10 * aMinute);
        const fired = await Promise.all([fire(), fire(), fire()]);
        // Each run is reported once.
        expect(fired.reduce((sum, count) => sum + count, 0)).toBe(10);
        expect(await listSessions(store)).toHaveLength(11);
        expect((await schedules.get("each"))?.nextAt).toBe(noon + 12 * aMinute);
        const slots = await schedules.slots("each");
        expect(slots.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 11 }, () => "posted"));
      },
    );

    scheduleTest("a worker fires a schedule and drives its runs", async ({ store, clock, schedules }) => {
      const press = createPress(store, clock);
      const time = { cron: "0 8 * * 1-5", timezone: "Europe/Berlin" };
      await schedules.put({ id: "morning", ...time, ...asked, principal: "ada" });
      clock.jump(2 * aDay);
      await createWorker({ store, agents: [press], clock }).runUntilIdle();
      const monday = "morning@2025-12-01T07:00:00.000Z";
      expect(await press.session(monday).result()).toMatchObject({ status: "completed", runId: monday });
      const [summary] = await store.list();
      const info = { agent: "press", principal: "ada", title: "What is new?" };
      expect(summary).toMatchObject({ sessionId: monday, info });
      const started = (await store.read(monday)).find(({ event }) => event.type === "run_started");
      expect(started).toMatchObject({ event: { by: "schedule:morning" } });
    });

    scheduleTest(
      "of missed slots the newest runs, or all, or none, and the others are counted",
      async ({ clock, schedules, fire, outcomes }) => {
        const put = (id: string, missed: "last" | "all" | "skip", everyMs: number) =>
          schedules.put({ id, everyMs, missed, overlap: "allow", ...asked });
        await put("last", "last", 1_000);
        await put("all", "all", 1_000);
        await put("skip", "skip", aDay);
        clock.jump(30 * aDay + 90_000);
        await fire();
        expect(await outcomes("last")).toEqual(["posted 1", `missed ${30 * 86_400 + 89}`]);
        expect((await schedules.slots("last", { limit: 1 }))[0]?.slot).toBe(clock.now());
        const all = await outcomes("all");
        expect(all.filter((outcome) => outcome === "posted 1")).toHaveLength(100);
        expect(all.at(-1)).toBe(`missed ${30 * 86_400 + 90 - 100}`);
        expect((await schedules.slots("all", { limit: 1_000 })).at(-1)?.slot).toBe(clock.now() - 100_000);
        expect(await outcomes("skip")).toEqual(["missed 30"]);
      },
    );

    scheduleTest(
      "a cron schedule that was missed very often catches up at once, and counts its slots up to a bound",
      async ({ clock, schedules, fire }) => {
        await schedules.put({ id: "each", cron: "* * * * * *", ...asked });
        clock.jump(30 * aDay);
        expect(await fire()).toBe(1);
        expect(await schedules.slots("each")).toMatchObject([
          { outcome: "posted", slot: clock.now() },
          { outcome: "missed", count: expect.any(Number), isMinimum: true },
        ]);
        expect((await schedules.get("each"))?.nextAt).toBe(clock.now() + 1_000);
      },
    );

    scheduleTest(
      "a jitter much longer than the interval repeats no slot and loses none",
      async ({ clock, schedules, fire }) => {
        // Of so long a jitter, hundreds of slots within the jitter are due in a row: more than are counted one by one.
        const jitterMs = 86_400_000;
        await schedules.put({ id: "jitter", everyMs: 1_000, jitterMs, overlap: "allow", ...asked });
        clock.jump(jitterMs + 10 * aMinute);
        await fire();
        for (let look = 0; look < 30; look += 1) {
          clock.jump(2 * aMinute);
          await fire();
        }
        const slots = (await schedules.slots("jitter", { limit: 1_000 })).toReversed();
        const posted = slots.filter(({ outcome }) => outcome === "posted").map(({ slot }) => slot);
        expect(new Set(posted).size).toBe(posted.length);
        const counted = slots.reduce((sum, { count = 1 }) => sum + count, 0);
        const { nextAt } = (await schedules.get("jitter")) ?? {};
        expect(counted).toBeGreaterThan(0);
        expect(nextAt).toBe(noon + (counted + 1) * 1_000);
      },
    );

    scheduleTest(
      "while the last run goes on or has not begun, its schedule skips slots",
      async ({ store, clock, schedules, fire, outcomes }) => {
        await schedules.put({ id: "each", cron: "* * * * *", ...asked });
        clock.jump(aMinute);
        await fire();
        clock.jump(aMinute);
        await fire();
        expect(await outcomes("each")).toEqual(["overlap 1", "posted 1"]);
        await createWorker({ store, agents: [createPress(store, clock)], clock }).runUntilIdle();
        clock.jump(aMinute);
        await fire();
        expect(await outcomes("each")).toEqual(["posted 1", "overlap 1", "posted 1"]);
      },
    );

    scheduleTest(
      "a paused schedule runs and misses nothing, and goes on with the next slot",
      async ({ store, clock, schedules, fire, outcomes }) => {
        await schedules.put({ id: "each", cron: "* * * * *", ...asked });
        expect(await schedules.pause("each")).toMatchObject({ paused: true, nextAt: null, rev: 2 });
        clock.jump(10 * aMinute + 1);
        expect(await fire()).toBe(0);
        expect(await schedules.resume("each")).toMatchObject({ nextAt: noon + 11 * aMinute, rev: 3 });
        expect(await outcomes("each")).toEqual([]);
        expect(await store.list()).toEqual([]);
      },
    );

    scheduleTest(
      "a change loses no slot that was reached and repeats none, and putting the same again changes nothing",
      async ({ store, clock, schedules, fire, outcomes }) => {
        const put = (cron: string, more = {}) =>
          schedules.put({ id: "each", cron, ...asked, overlap: "allow", ...more });
        await put("* * * * *", { jitterMs: aMinute });
        clock.jump(aMinute);
        expect(await put("*/5 * * * *")).toMatchObject({ rev: 2, nextAt: noon + 5 * aMinute });
        expect(await listSessions(store)).toEqual(["each@2025-11-29T12:01:00.000Z"]);
        expect(await put("*/5 * * * *")).toMatchObject({ rev: 2, nextAt: noon + 5 * aMinute });
        const refused = schedules.put({ id: "each", cron: "* * * * *", ...asked }, { ifNew: true });
        await expect(refused).rejects.toMatchObject({ code: "schedule_exists" });
        clock.jump(-aMinute);
        expect(await put("* * * * *")).toMatchObject({ nextAt: noon + 2 * aMinute });
        clock.jump(2 * aMinute);
        await fire();
        expect(await outcomes("each")).toEqual(["posted 1", "posted 1"]);
      },
    );

    scheduleTest(
      "a change during a long jitter fires what was reached as one, and no change fires nothing",
      async ({ store, clock, schedules, outcomes }) => {
        const given = { id: "jitter", everyMs: 1_000, jitterMs: 3_600_000, overlap: "allow", ...asked } as const;
        await schedules.put(given);
        clock.jump(30 * aMinute);
        expect(await schedules.put(given)).toMatchObject({ rev: 1, nextAt: noon + 1_000 });
        expect(await store.list()).toEqual([]);
        await schedules.pause("jitter");
        expect(await outcomes("jitter")).toEqual(["posted 1", "missed 1799"]);
        expect(await store.list()).toHaveLength(1);
      },
    );

    scheduleTest(
      "runs share one session, come at intervals, once, late by a jitter, and on request",
      async ({ store, clock, schedules, fire }) => {
        await schedules.put({
          id: "same",
          everyMs: 10_000,
          session: "same",
          overlap: "queue",
          missed: "all",
          ...asked,
        });
        await schedules.put({ id: "own", at: noon + 5_000, session: { id: "mine" }, ...asked });
        const jitter = { id: "jitter", cron: "* * * * *", jitterMs: 30_000, ...asked };
        const { nextAt } = await schedules.put(jitter);
        expect(nextAt).toBe(noon + aMinute);
        clock.jump(20_000);
        await fire();
        expect((await store.inbox("same")).map(({ id }) => id)).toEqual([
          "run/same@2025-11-29T12:00:10.000Z",
          "run/same@2025-11-29T12:00:20.000Z",
        ]);
        expect((await store.inbox("mine")).map(({ id }) => id)).toEqual(["run/own@2025-11-29T12:00:05.000Z"]);
        expect(await schedules.get("own")).toMatchObject({ nextAt: null });
        const due = (await store.schedules?.get("jitter"))?.dueAt ?? 0;
        // Another process computes the same.
        const other = createMemoryStore();
        await createSchedules({ store: other, clock }).put(jitter);
        expect((await other.schedules?.get("jitter"))?.dueAt).toBe(due);
        expect(due).toBeGreaterThan(noon + aMinute);
        expect(due).toBeLessThan(noon + aMinute + 30_000);
        const { sessionId, runId } = await schedules.runNow("jitter");
        expect((await store.inbox(sessionId)).map(({ id }) => id)).toEqual([`run/${runId}`]);
        expect(await schedules.slots("jitter")).toMatchObject([{ outcome: "manual", runId }]);
        expect(await schedules.get("jitter")).toMatchObject({ nextAt: noon + aMinute });
      },
    );

    scheduleTest(
      "a worker that starts corrects a slot that older rules of its time zone had given",
      async ({ store, clock, schedules }) => {
        await schedules.put({ id: "morning", cron: "0 8 * * *", timezone: "Europe/Berlin", ...asked });
        const row = await store.schedules?.get("morning");
        if (row == null || row.slot === null) throw new Error("There is no slot.");
        const wrong = row.slot + 3_600_000;
        await store.schedules?.put({ id: "morning", rev: 2, slot: wrong, dueAt: wrong, body: row.body });
        const start = async () => {
          // A worker corrects slots before its first look, in which it takes this session.
          await store.post("s", createRequest(clock.now()));
          await runUntilRefused(store, clock);
        };
        await start();
        expect(await schedules.get("morning")).toMatchObject({ rev: 3, nextAt: row.slot });
        await start();
        expect(await schedules.get("morning")).toMatchObject({ rev: 3 });
      },
    );

    scheduleTest(
      "a worker that starts between a slot and the end of its jitter loses no slot",
      async ({ store, clock, schedules, fire, outcomes }) => {
        const { nextAt } = await schedules.put({ id: "jitter", cron: "0 13 * * *", jitterMs: 3_600_000, ...asked });
        const { dueAt } = (await store.schedules?.get("jitter")) ?? {};
        expect(dueAt).toBeGreaterThan(noon + 62 * aMinute);
        clock.jump(61 * aMinute);
        await store.post("s", createRequest(clock.now()));
        await runUntilRefused(store, clock);
        expect(await schedules.get("jitter")).toMatchObject({ rev: 1, nextAt });
        clock.jump(60 * aMinute);
        expect(await fire()).toBe(1);
        expect(await outcomes("jitter")).toEqual(["posted 1"]);
      },
    );
  });
}

/** Runs a worker until it has refused the session "s", because it has no agent. Returns its other reports. */
export async function runUntilRefused(store: Store, clock: TestClock): Promise<readonly WorkerReport[]> {
  const reports: WorkerReport[] = [];
  const worker = createWorker({ store, agents: [], clock, onReport: (report) => reports.push(report) });
  const running = worker.run();
  await expect.poll(() => worker.status().refused).toContain("s");
  await worker.stop();
  await running;
  return reports.filter(({ type }) => type !== "refused");
}

export function createRequest(at: number) {
  const session = { agent: "nobody" };
  const input = [{ role: "user", parts: [{ type: "text", text: "Hello" }] }] as const;
  return { id: "run/1", at, body: { type: "input", mode: "queue", runId: "1", input, session } } as const;
}
