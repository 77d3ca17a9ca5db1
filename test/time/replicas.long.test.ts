/**
 * Schedules that several workers fire, while workers are killed and the schedule is edited: each slot is one run.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { createSchedules, type Store } from "../../src/index.js";
import { openPostgresStore } from "../../src/stores/postgres/index.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { createDatabase, hasPostgres, usePostgres } from "../support/postgres.js";
import { verifies } from "../verifies.js";
import { asked } from "./schedule-cases.js";

const script = fileURLToPath(new URL("../fixtures/schedule-worker.mjs", import.meta.url));
const proven = { ...verifies("TIME-4#schedules"), timeout: 120_000 };
const kills = 8;
const replicas = 3;

/** Workers in processes of their own, of which one is killed again and again. */
function startReplicas(args: readonly string[]) {
  const children: ChildProcess[] = [];
  const start = () => {
    const child = spawn(process.execPath, [script, ...args], { stdio: ["ignore", "ignore", "inherit"] });
    children.push(child);
  };
  for (let count = 0; count < replicas; count += 1) start();
  onTestFinished(() => {
    for (const child of children) child.kill("SIGKILL");
  });
  return {
    async killOldest() {
      const child = children.shift();
      if (child === undefined) throw new Error("No worker runs.");
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      start();
    },
    async stop() {
      const running = children.splice(0);
      for (const child of running) child.kill("SIGTERM");
      await Promise.all(running.map((child) => child.exitCode ?? child.signalCode ?? once(child, "exit")));
    },
  };
}

async function checkReplicas(store: Store, args: readonly string[]): Promise<void> {
  const schedules = createSchedules({ store });
  const everySecond = { id: "each", everyMs: 1_000, overlap: "allow", missed: "all", ...asked } as const;
  const { nextAt: firstSlot } = await schedules.put(everySecond);
  const workers = startReplicas(args);
  for (let kill = 0; kill < kills; kill += 1) {
    await expect.poll(async () => (await schedules.slots("each")).length).toBeGreaterThan(kill);
    await workers.killOldest();
    // An edit makes stale what a worker has just planned.
    await schedules.put({ ...everySecond, input: `What is new? ${kill}` });
  }
  await schedules.pause("each");
  const slots = (await schedules.slots("each", { limit: 1_000 })).toReversed();
  const sessionIds = slots.map(({ slot }) => `each@${new Date(slot).toISOString()}`);
  const isDone = async () =>
    (await Promise.all(sessionIds.map((id) => store.describe(id)))).every((summary) => summary?.status === "completed");
  await expect.poll(isDone).toBe(true);
  await workers.stop();

  expect(slots.map(({ outcome }) => outcome)).toEqual(slots.map(() => "posted"));
  expect(slots.map(({ slot }) => slot)).toEqual(slots.map((_, index) => (firstSlot ?? 0) + index * 1_000));
  expect((await store.list()).map(({ sessionId }) => sessionId).toSorted()).toEqual(sessionIds.toSorted());
  for (const sessionId of sessionIds) {
    const runs = (await store.read(sessionId)).filter(({ event }) => event.type === "run_started");
    expect(runs, sessionId).toHaveLength(1);
  }
  expect(await store.verify()).toEqual([]);
}

test("in a SQLite file, each slot is one run although workers are killed", proven, async () => {
  const folder = mkdtempSync(join(tmpdir(), "pawl-schedules-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "sessions.db");
  const store = await openSqliteStore({ path });
  await checkReplicas(store, ["sqlite", path]);
  await store.close();
});

describe.runIf(hasPostgres)("on PostgreSQL", () => {
  const server = usePostgres(["fsync=off"]);

  test("each slot is one run although workers are killed", proven, async () => {
    const url = await createDatabase(server());
    const store = await openPostgresStore({ url, connections: 3 });
    await checkReplicas(store, ["postgres", url]);
    await store.close();
  });
});
