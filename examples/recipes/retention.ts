/**
 * Data retention: each night, conversations that have rested for long are archived, the archive is read back, and only
 * then are they deleted. And everything of a person is deleted when that person asks for it.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { createGunzip, createGzip } from "node:zlib";
import {
  createAgent,
  createMemoryStore,
  deleteSession,
  exportSessions,
  importSessions,
  PawlError,
  type Store,
} from "pawl";
import { openSqliteStore } from "pawl/sqlite";
import { createScriptedModel } from "pawl/testing";

/**
 * Archives what has rested since `before`, a hundred conversations in a file, and deletes it. It may be killed anywhere:
 * a session is in a whole archive before it is deleted, and the next night takes what is left.
 */
async function archiveAndDelete(store: Store, folder: string, before: number): Promise<number> {
  await mkdir(folder, { recursive: true });
  let count = 0;
  for await (const sessionIds of restingSince(store, before)) {
    const path = join(folder, `${new Date().toISOString().replaceAll(":", "-")}.jsonl.gz`);
    const lines = Readable.from(exportSessions(store, { sessionIds })); // with the sessions that they have started
    await pipeline(lines, createGzip(), createWriteStream(`${path}.new`, { mode: 0o600 }));
    const copy = createMemoryStore();
    await importSessions(copy, archiveAt(`${path}.new`)); // it throws if a line, a blob or the end is missing
    await rename(`${path}.new`, path);
    for (const { sessionId, seq } of await copy.list()) if (await deleteAt(store, sessionId, seq)) count += 1;
  }
  return count;
}

function archiveAt(path: string) {
  return { read: () => createReadStream(path).pipe(createGunzip()) };
}

/** The conversations that changed last before `before`, and have neither a run nor a message. */
async function* restingSince(store: Store, before: number): AsyncGenerator<readonly string[]> {
  let after = { updatedAt: before, sessionId: "" };
  for (;;) {
    const page = await store.list({ parent: null, after, limit: 100 });
    const resting = page.filter(({ activity, inbox }) => activity === "resting" && inbox === 0);
    if (resting.length > 0) yield resting.map(({ sessionId }) => sessionId);
    const last = page.at(-1);
    if (last === undefined) return;
    after = { updatedAt: last.updatedAt, sessionId: last.sessionId };
  }
}

/** Deletes the session, unless it has gone on since then. */
async function deleteAt(store: Store, sessionId: string, seq: number): Promise<boolean> {
  if ((await store.describe(sessionId))?.seq !== seq) return false;
  try {
    return await deleteSession(store, sessionId, { now: Date.now() });
  } catch (error) {
    if (error instanceof PawlError && error.code === "session_active") return false;
    throw error;
  }
}

/** Deletes everything of a person, also what is under way and the verdicts about it: a process that drives such a session loses it. */
async function erase(store: Store, person: string): Promise<number> {
  const owned = (await store.list()).filter(({ info }) => info?.principal === person);
  let count = 0;
  for (const { sessionId } of owned)
    if (await deleteSession(store, sessionId, { now: Date.now(), force: true })) count += 1;
  // What is under way may have begun more sessions meanwhile.
  return owned.length === 0 ? count : count + (await erase(store, person));
}

// The night job, which cron or a timer of systemd starts.
async function night(): Promise<void> {
  const keepMs = Number(process.env.KEEP_DAYS ?? 90) * 24 * 3_600_000;
  const store = await openSqliteStore({ path: "sessions.db" });
  console.log(`${await archiveAndDelete(store, "archive", Date.now() - keepMs)} sessions archived and deleted.`);
  await store.close();
}

// The check: twelve conversations. The first night is killed behind its fifth deletion.
async function check(): Promise<void> {
  const store = await openSqliteStore({ path: "sessions.db" });
  const agent = createAgent({ name: "support", model: createScriptedModel(() => ({ text: "Done." })), store });
  for (let number = 1; number <= 12; number += 1)
    await agent.run("Hello", { sessionId: `ticket-${number}`, by: number > 9 ? "ada" : "bob" });
  await agent.shutdown();
  assert.equal(await erase(store, "ada"), 3);

  const program = [fileURLToPath(import.meta.url), "night"];
  const killer = ["--import", import.meta.resolve("pawl/testing/kill-at-commit")];
  const environment = { ...process.env, KEEP_DAYS: "0" };
  const killed = spawnSync(process.execPath, [...killer, ...program], {
    env: { ...environment, PAWL_KILL_AT: "after 5" },
  });
  assert.equal(killed.signal, "SIGKILL");
  const left = (await store.list()).length;
  assert.ok(left > 0 && left < 9);
  const next = spawnSync(process.execPath, program, { env: environment, encoding: "utf8" });
  assert.equal(next.stdout, `${left} sessions archived and deleted.\n`);
  assert.deepEqual(await store.list(), []);
  await store.close();

  // A conversation comes back with its archive.
  const [first = ""] = (await readdir("archive")).filter((file) => file.endsWith(".gz")).sort();
  const again = createMemoryStore();
  assert.equal((await importSessions(again, archiveAt(join("archive", first)))).sessions, 9);
  assert.equal((await agent.with({ store: again }).run("Hello again", { sessionId: "ticket-1" })).status, "completed");
  console.log(`Killed with ${left} of 9 sessions left; the next night took them. None is in no archive.`);
}

await (process.argv[2] === "night" ? night() : check());
