/**
 * What a piece of work costs in a PostgreSQL server: statements by kind, and processor time.
 *
 * The server counts its statements itself, with `pg_stat_statements`. Processor time is that of `/proc`: so the server must be on this
 * machine, and this machine must be Linux.
 */
import { readdirSync, readFileSync } from "node:fs";

/** Settings of a server that counts. */
export const countingSettings = [
  "shared_preload_libraries=pg_stat_statements",
  "pg_stat_statements.track=top",
  "pg_stat_statements.track_utility=off",
  "pg_stat_statements.track_planning=on",
];

/** What a statement is for, by its text. The first that matches counts. */
const kinds = [
  ["commit", /\.append\(/],
  ["notification", /pg_notify/],
  ["look for changes", /pg_snapshot_xmin/],
  ["look for due sessions", /RECURSIVE clock AS/],
  ["claim", /\.claim\(/],
  ["release", /\.release\(/],
  ["renew", /lease_until =/],
  ["post", /\.post\(/],
  ["read of the inbox", /inbox_of\(/],
  ["read of the state", /state_at\(|c\.state_sum/],
  ["read of the log", /c\.events_sum/],
  ["list", /WITH resting/],
  ["description", /"infoSum"/],
  ["bare row", /INSERT INTO bare_commits/],
];

const kindOf = (text) => kinds.find(([, pattern]) => pattern.test(text))?.[0] ?? "other";

/** @param client a connection of a role that may make extensions */
export async function createCosts(client) {
  await client.query("CREATE EXTENSION IF NOT EXISTS pg_stat_statements");
  const [{ pid }] = (await client.query("SELECT pg_backend_pid() AS pid")).rows;
  const server = statOf(pid).parent;
  const clientMs = () => ownMs() + liveChildrenMs(process.pid, server);
  return {
    /** Runs the work. Resolves to what it cost: calls and milliseconds by kind, and processor milliseconds of both sides. */
    async of(work) {
      await client.query("SELECT pg_stat_statements_reset()");
      const before = { server: serverMs(server), client: clientMs() };
      const result = await work();
      const after = { server: serverMs(server), client: clientMs() };
      const { rows } = await client.query(
        `SELECT query, calls::float8 AS calls, total_exec_time AS ms, total_plan_time AS planning FROM pg_stat_statements
         WHERE query NOT LIKE '%pg_stat_statements%'`,
      );
      const found = new Map();
      for (const { query, calls, ms, planning } of rows) {
        const kind = kindOf(query);
        const sum = found.get(kind) ?? { calls: 0, ms: 0, planning: 0 };
        found.set(kind, { calls: sum.calls + calls, ms: sum.ms + ms, planning: sum.planning + planning });
      }
      return {
        result,
        kinds: found,
        serverMs: after.server - before.server,
        clientMs: after.client - before.client,
      };
    },
  };
}

const msOfTick = 10;

/** The fields of a process's line in /proc, behind its name. */
function statOf(pid) {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [user, system, ofEndedUser, ofEndedSystem] = fields.slice(11, 15).map(Number);
  return {
    parent: Number(fields[1]),
    own: (user + system) * msOfTick,
    ofEnded: (ofEndedUser + ofEndedSystem) * msOfTick,
  };
}

/** Processor milliseconds that a process has taken by itself. */
export const processMs = (pid) => statOf(pid).own;

/** Of the server and all its processes, those that have ended too. */
function serverMs(server) {
  const { own, ofEnded } = statOf(server);
  return own + ofEnded + liveChildrenMs(server);
}

function liveChildrenMs(parent, except = 0) {
  let ms = 0;
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name) || Number(name) === except) continue;
    try {
      const stat = statOf(name);
      if (stat.parent === parent) ms += stat.own;
    } catch {
      // It has ended meanwhile, and counts with its parent.
    }
  }
  return ms;
}

function ownMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Rows of a table: each kind with its statements and its time in the server, by so many steps. */
export function costRows({ kinds: found }, steps) {
  return [...found]
    .sort(([, a], [, b]) => b.ms + b.planning - a.ms - a.planning)
    .map(([kind, { calls, ms, planning }]) => [
      kind,
      (calls / steps).toFixed(3),
      ((1_000 * ms) / calls).toFixed(0),
      ((1_000 * planning) / calls).toFixed(0),
      ((1_000 * (ms + planning)) / steps).toFixed(0),
    ]);
}

export const costHeads = ["statement", "of a step", "µs each to run", "µs each to plan", "µs a step in the server"];

export function costSentence({ result, serverMs, clientMs }, steps) {
  const of = (ms) => `${((1_000 * ms) / steps).toFixed(0)} µs`;
  return `A step takes ${of(result)}, of which ${of(clientMs)} are processor time of the clients and ${of(serverMs)} of the server.`;
}
