/**
 * Every morning: on weekdays at eight, an agent reports what is new. Any number of workers may run, and any of them may be killed.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Clock, createAgent, createSchedules, createWorker, defineTool, type Store } from "pawl";
import { openSqliteStore } from "pawl/sqlite";
import { createScriptedModel, createTestClock } from "pawl/testing";

const readIssues = defineTool({
  name: "read_issues",
  description: "Reads the titles of the issues that were opened since the last report.",
  input: { type: "object", properties: {}, additionalProperties: false },
  readOnly: true,
  execute: () => ["The queue loses its last item", "A dark theme"],
});

/** Stands for a service that honors idempotency keys: a call that runs again after a kill posts the same message. */
const postReport = defineTool({
  name: "post_report",
  description: "Posts the report to the team's channel.",
  input: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  recover: "rerun",
  async execute({ text }, { idempotencyKey }) {
    await mkdir("channel", { recursive: true });
    await writeFile(join("channel", encodeURIComponent(idempotencyKey)), String(text));
    return "Posted.";
  },
});

/** Each program puts the schedules when it starts. One that has not changed stays as it is. */
async function putSchedules(store: Store, options: { readonly clock?: Clock } = {}): Promise<void> {
  await createSchedules({ store, ...options }).put({
    id: "morning",
    cron: "0 8 * * 1-5",
    timezone: "Europe/Berlin",
    agent: "press",
    input: "Report what is new, in a few sentences.",
  });
}

// The worker. Start as many as you like: each slot is one run.
async function work(): Promise<void> {
  const store = await openSqliteStore({ path: "sessions.db" });
  await putSchedules(store);
  const worker = createWorker({ store, agents: [createPress(store)] });
  process.once("SIGTERM", () => worker.stop());
  await worker.run();
  await store.close();
}

function createPress(store: Store, options: { readonly clock?: Clock } = {}) {
  const model = createScriptedModel(({ messages }) => {
    const results = messages.filter(({ role }) => role === "tool").length;
    if (results === 0) return { calls: [{ name: "read_issues" }] };
    return results === 1 ? { calls: [{ name: "post_report", input: { text: "Two new issues." } }] } : { text: "Done." };
  });
  return createAgent({ name: "press", model, tools: [readIssues, postReport], store, ...options });
}

/** One look of a worker, at a time that the check chooses. */
async function lookAt(now: number): Promise<void> {
  const clock = createTestClock(now);
  const store = await openSqliteStore({ path: "sessions.db" });
  await createWorker({ store, agents: [createPress(store, { clock })], clock }).runUntilIdle();
  await store.close();
}

// The check: four mornings on which the first worker is killed after its first, second, third and fourth commit, and a long holiday.
async function check(): Promise<void> {
  const store = await openSqliteStore({ path: "sessions.db" });
  const clock = createTestClock(Date.UTC(2025, 10, 30, 12)); // a Sunday
  await putSchedules(store, { clock });
  const schedules = createSchedules({ store, clock });
  const look = (day: number, environment = {}) => {
    const program = [fileURLToPath(import.meta.url), "look", String(Date.UTC(2025, 11, day, 7, 0, 30))];
    const killer = ["--import", import.meta.resolve("pawl/testing/kill-at-commit")];
    return spawnSync(process.execPath, [...killer, ...program], { env: { ...process.env, ...environment } });
  };
  for (const day of [1, 2, 3, 4]) {
    assert.equal(look(day, { PAWL_KILL_AT: `after ${day}` }).signal, "SIGKILL");
    assert.equal(look(day).status, 0);
  }
  assert.equal(look(18).status, 0); // nobody worked for two weeks

  const slots = (await schedules.slots("morning")).map(({ slot, outcome, count = 1 }) => [
    new Date(slot).toISOString().slice(0, 10),
    outcome,
    count,
  ]);
  assert.deepEqual(slots.slice(0, 2), [
    ["2025-12-18", "posted", 1],
    ["2025-12-17", "missed", 9],
  ]);
  assert.deepEqual(
    slots.slice(2).map(([day]) => day),
    ["2025-12-04", "2025-12-03", "2025-12-02", "2025-12-01"],
  );
  const sessions = await store.list();
  assert.deepEqual(new Set(sessions.map(({ status }) => status)), new Set(["completed"]));
  assert.equal(sessions.length, 5);
  assert.equal((await readdir("channel")).length, 5);
  await store.close();
  console.log("Five reports on five mornings, four of them after a kill; nine missed slots were counted.");
}

if (process.argv[2] === "work") await work();
else await (process.argv[2] === "look" ? lookAt(Number(process.argv[3])) : check());
