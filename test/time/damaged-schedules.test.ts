/**
 * Rows of schedules that cannot be read or fired, among others that can.
 */
import { describe, expect, test } from "vitest";
import {
  createClient,
  createMemoryStore,
  createSchedules,
  createWorker,
  PawlError,
  type Store,
  type WorkerReport,
} from "../../src/index.js";
import { createTestClock, type TestClock } from "../../src/testing/test-clock.js";
import { openFileStore, withHandle } from "../stores/open.js";
import { verifies } from "../verifies.js";
import { asked, createRequest, noon, runUntilRefused } from "./schedule-cases.js";

const proven = verifies("TIME-4#schedules");
const aMinute = 60_000;

async function work(store: Store, clock: TestClock): Promise<readonly WorkerReport[]> {
  await store.post("s", createRequest(clock.now()));
  return runUntilRefused(store, clock);
}

test("a delayed message that cannot be read hides no other, and can be withdrawn", verifies("TIME-3"), async () => {
  const { store, path, close } = await openFileStore({ synchronous: "normal" });
  const clock = createTestClock(noon);
  const session = createClient({ store, clock }).session("s");
  for (const runId of ["a", "b", "c"]) await session.send("Go.", { agent: "press", afterMs: aMinute, runId });
  await withHandle(path, (handle) => handle.exec("UPDATE schedules SET body = '{' WHERE id LIKE '%:b'"));
  expect((await session.scheduled()).map(({ runId }) => runId)).toEqual(["a", "c"]);
  await expect(session.scheduled({ runId: "b" })).rejects.toMatchObject({ code: "store_corrupt" });
  clock.jump(aMinute);
  const reports: WorkerReport[] = [];
  await createWorker({ store, agents: [], clock, onReport: (report) => reports.push(report) }).runUntilIdle();
  expect(reports.filter(({ type }) => type === "schedule_failed")).toMatchObject([
    { scheduleId: "send:s:b", error: { code: "store_corrupt" } },
  ]);
  expect(await session.unsend("b")).toBe("unsent");
  await close();
});

describe("a schedule that cannot be read", () => {
  test("keeps no other from being listed or fired, and is repaired by putting it again", proven, async () => {
    const { store, path, close } = await openFileStore({ synchronous: "normal" });
    const clock = createTestClock(noon);
    const schedules = createSchedules({ store, clock });
    for (const id of ["a", "b", "c"]) await schedules.put({ id, cron: "* * * * *", ...asked });
    await schedules.pause("c");
    await withHandle(path, (handle) => handle.exec("UPDATE schedules SET body = '{' WHERE id IN ('a', 'c')"));
    expect((await schedules.list()).map(({ id }) => id)).toEqual(["b"]);
    expect((await schedules.list({ limit: 1 })).map(({ id }) => id)).toEqual(["b"]);
    const corrupt = { code: "store_corrupt" };
    await expect(schedules.get("a")).rejects.toMatchObject(corrupt);
    await expect(schedules.pause("a")).rejects.toMatchObject(corrupt);
    clock.jump(aMinute);
    const reports = await work(store, clock);
    expect(reports).toMatchObject([
      { type: "schedule_failed", scheduleId: "a", error: corrupt },
      { type: "fired", scheduleId: "b" },
    ]);
    await schedules.put({ id: "a", cron: "* * * * *", ...asked });
    await createWorker({ store, agents: [], clock }).runUntilIdle();
    expect(await schedules.slots("a")).toMatchObject([{ slot: noon + aMinute, outcome: "posted" }]);
    expect(await schedules.remove("c")).toBe(true);
    await close();
  });

  test("keeps no session from being driven if its last run is in a session of a newer format", proven, async () => {
    const inner = createMemoryStore();
    const clock = createTestClock(noon);
    const schedules = createSchedules({ store: inner, clock });
    await schedules.put({ id: "a", cron: "* * * * *", ...asked });
    clock.jump(aMinute);
    await createWorker({ store: inner, agents: [], clock }).runUntilIdle();
    const newer = new PawlError("newer_format", "The session is of a newer format.");
    const store: Store = {
      ...inner,
      load: (sessionId) => (sessionId === "s" ? inner.load(sessionId) : Promise.reject(newer)),
      inbox: async (sessionId) => (sessionId === "s" ? inner.inbox(sessionId) : []),
    };
    clock.jump(aMinute);
    const reports = await work(store, clock);
    expect(reports).toMatchObject([{ type: "schedule_failed", scheduleId: "a", error: newer }]);
    expect(await createSchedules({ store, clock }).pause("a")).toMatchObject({ paused: true });
  });

  test("or a table of them keeps no worker from driving sessions", proven, async () => {
    const inner = createMemoryStore();
    const clock = createTestClock(noon);
    const { schedules } = inner;
    if (schedules === undefined) throw new Error("There are no schedules.");
    const store: Store = {
      ...inner,
      schedules: { ...schedules, due: () => Promise.reject(new Error("the table is gone")) },
    };
    expect(await work(store, clock)).toContainEqual(
      expect.objectContaining({ type: "store_failed", error: new Error("the table is gone"), retryInMs: 1_000 }),
    );
  });

  test("is forgotten by a worker once it is removed", proven, async () => {
    const store = createMemoryStore();
    const clock = createTestClock(noon);
    const schedules = createSchedules({ store, clock });
    await schedules.put({ id: "a", cron: "* * * * *", ...asked });
    const row = await store.schedules?.get("a");
    if (row == null || store.schedules === undefined) throw new Error("There is no row.");
    const limits: number[] = [];
    const { due } = store.schedules;
    Object.assign(store.schedules, {
      due(now: number, limit: number) {
        limits.push(limit);
        return due(now, limit);
      },
    });
    const body = { ...(row.body as object), v: 2 };
    for (let n = 0; n < 3; n += 1) await store.schedules.put({ ...row, id: `b${n}`, dueAt: noon, body });
    clock.jump(aMinute);
    const failed: string[] = [];
    const onReport = (report: WorkerReport) => {
      if (report.type === "schedule_failed") failed.push(`${report.scheduleId} ${report.retryInMs}`);
    };
    const worker = createWorker({ store, agents: [], clock, onReport });
    await worker.runUntilIdle();
    expect(failed).toEqual(["b0 1000", "b1 1000", "b2 1000"]);
    const [firstLimit = 0] = limits;
    for (let n = 0; n < 3; n += 1) await schedules.remove(`b${n}`);
    await worker.runUntilIdle();
    await worker.runUntilIdle();
    // A row that failed makes the page that is read longer.
    expect(limits.at(-1)).toBe(firstLimit);
    await store.schedules.put({ ...row, id: "b0", dueAt: noon, body });
    await worker.runUntilIdle();
    expect(failed.slice(3)).toEqual(["b0 1000"]);
  });

  test("leaves room for others, however many fail", proven, async () => {
    const store = createMemoryStore();
    const clock = createTestClock(noon);
    const schedules = createSchedules({ store, clock });
    await schedules.put({ id: "a", cron: "* * * * *", ...asked });
    const row = await store.schedules?.get("a");
    if (row == null) throw new Error("There is no row.");
    const body = { ...(row.body as object), v: 2 };
    for (let n = 0; n < 300; n += 1) await store.schedules?.put({ ...row, id: `b${n}`, dueAt: noon, body });
    clock.jump(aMinute);
    const reports: WorkerReport[] = [];
    const worker = createWorker({ store, agents: [], clock, onReport: (report) => reports.push(report) });
    await worker.runUntilIdle();
    expect(reports.filter(({ type }) => type === "fired")).toMatchObject([{ scheduleId: "a" }]);
    const failed = reports.filter(({ type }) => type === "schedule_failed");
    expect(failed).toHaveLength(300);
    expect(failed[0]).toMatchObject({ error: { code: "newer_format" } });
  });
});
