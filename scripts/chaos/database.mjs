/**
 * The database of the chaos test: PostgreSQL behind PgBouncer, killed after so many commits and started again.
 */
import { setTimeout as pause } from "node:timers/promises";
import { pgBouncerProgram, postgresPrograms, startPgBouncer, startPostgres } from "../postgres/server.mjs";
import { createRandom } from "./random.mjs";
import { busyMs } from "./store.mjs";

/** The least and the most commits until the first death, and between two. */
const commits = [20, 400];

/** What has to be installed; null if nothing has to be. */
export function missingPrograms() {
  const missing = [
    ...(postgresPrograms() === null ? ["PostgreSQL (apt-get install postgresql)"] : []),
    ...(pgBouncerProgram() === null ? ["PgBouncer (apt-get install pgbouncer)"] : []),
  ];
  return missing.length === 0 ? null : `It needs ${missing.join(" and ")}, on Debian.`;
}

/** @param {{ seed: number }} options */
export async function createDatabase({ seed }) {
  const random = createRandom(seed, "database");
  const server = await startPostgres();
  const pooler = await startPgBouncer(server.url, { poolSize: 10 });
  const ends = { "lost its first process": 0, "was killed whole": 0, "lost its pooler": 0, "was away for long": 0 };
  const ways = {
    "lost its first process": [() => server.kill("postmaster"), () => server.restart()],
    "was killed whole": [() => server.kill("whole"), () => server.restart()],
    "lost its pooler": [() => pooler.kill(), () => pooler.restart()],
  };
  let left = random.whole(...commits);
  let isLast = false;
  let dying = null;

  async function die() {
    const how = random.one(Object.keys(ways));
    const isLong = random.isTrue(0.25);
    const [kill, restart] = ways[how];
    await kill();
    // Longer than the patience of the servers: their runs are interrupted, and taken up again.
    if (isLong) await pause(2 * busyMs);
    await restart();
    ends[how] += 1;
    if (isLong) ends["was away for long"] += 1;
    left = random.whole(...commits);
    dying = null;
  }

  return {
    place: { url: pooler.url, listenUrl: server.url },
    /** How it has died, and how often. */
    ends,
    /** A server has committed. */
    committed() {
      if (dying !== null || isLast) return;
      left -= 1;
      if (left === 0) dying = die();
    },
    /** It dies no more. */
    async stay() {
      isLast = true;
      await dying;
    },
    async close() {
      await pooler.close();
      await server.close();
    },
  };
}
