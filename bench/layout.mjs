/**
 * How the rows of commits can lie in a SQLite file, and what each layout costs: bytes and time of a commit, alone and in groups, and reads.
 *
 * Bare SQLite with rows as long as Pawl's, the library of this Node, a write-ahead log, synchronous NORMAL. A commit reads the last row's number
 * and adds a row, as the store does; commits of one group share a transaction. Checkpoints are part of the time. Times of commits are those
 * of the processor, so that other programs on the machine count for less.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { inFolder } from "./folder.mjs";
import { openDatabase } from "./peers/sqlite.mjs";
import { machine, median, table } from "./report.mjs";

const columns = "v INTEGER, status TEXT, at REAL, events TEXT, events_sum INTEGER, state TEXT, state_sum INTEGER";
/** As long as those of a step with one tool call and a short text. */
const values = [2, "model_running", 1_790_000_000_000, "e".repeat(515), 1, "s".repeat(817), 1];
const span = 2 ** 32;

/** Rows in the order of their session's number and `seq`: one b-tree, whose pages belong to a session each. */
const clustered = {
  tables: `CREATE TABLE commits (key INTEGER PRIMARY KEY, ${columns}) STRICT`,
  last: "SELECT key FROM commits WHERE key BETWEEN ? * 4294967296 AND ? * 4294967296 + 4294967295 ORDER BY key DESC LIMIT 1",
  lastOf: (session) => [session, session],
  append: "INSERT INTO commits VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
  keyOf: (session, seq) => [session * span + seq],
  all: "SELECT events FROM commits WHERE key BETWEEN ? * 4294967296 AND ? * 4294967296 + 4294967295 ORDER BY key",
  at: "SELECT state FROM commits WHERE key BETWEEN ? * 4294967296 AND ? * 4294967296 + ? ORDER BY key DESC LIMIT 1",
  drop: "DELETE FROM commits WHERE key BETWEEN ? * 4294967296 AND ? * 4294967296 + 4294967295",
};

/** Rows in the order of their commits, and an index of (session, seq). */
const appended = {
  tables: `CREATE TABLE commits (number INTEGER PRIMARY KEY, session INTEGER, seq INTEGER, ${columns}, UNIQUE (session, seq)) STRICT`,
  last: "SELECT seq FROM commits WHERE session = ? ORDER BY seq DESC LIMIT 1",
  lastOf: (session) => [session],
  append: "INSERT INTO commits VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
  keyOf: (session, seq) => [session, seq],
  all: "SELECT events FROM commits WHERE session = ? AND ? > 0 ORDER BY seq",
  at: "SELECT state FROM commits WHERE session = ? AND ? > 0 AND seq <= ? ORDER BY seq DESC LIMIT 1",
  drop: "DELETE FROM commits WHERE session = ? AND ? > 0",
};

/** The session's own row is written with each commit, for lists in the order of the last commit. */
const listed = {
  ...appended,
  tables: `${appended.tables};
    CREATE TABLE sessions (id INTEGER PRIMARY KEY, info TEXT, seq INTEGER, updated_at REAL) STRICT;
    CREATE INDEX sessions_by_update ON sessions (updated_at);
    WITH RECURSIVE ids (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM ids WHERE id < 1000)
    INSERT INTO sessions SELECT id, '${"i".repeat(250)}', 0, 0 FROM ids`,
  also: "UPDATE sessions SET seq = ?, updated_at = ? WHERE id = ?",
};

/** Each row names the first row of its run, which has the complete state. Its own state has only the keys whose values are others. */
const differences = {
  ...appended,
  tables: `CREATE TABLE commits (number INTEGER PRIMARY KEY, session INTEGER, seq INTEGER, ${columns}, base INTEGER, UNIQUE (session, seq)) STRICT`,
  append: "INSERT INTO commits VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
  at: `SELECT own.state, base.state FROM commits own LEFT JOIN commits base ON base.session = own.session AND base.seq = own.base
    WHERE own.session = ? AND ? > 0 AND own.seq <= ? ORDER BY own.seq DESC LIMIT 1`,
  difference: "s".repeat(328),
  commitsOfRun: 100,
};

const layouts = {
  "by session": clustered,
  appended,
  "appended, pages of 2 KiB": { ...appended, pageSize: 2048 },
  "appended, and the session's row": listed,
  "appended, a state in every 16th row": { ...appended, stateEvery: 16 },
  "differences of the state": differences,
};

/** As in the store: beyond this many commits, the rest waits for the next transaction. */
const largestGroup = 256;

function openLayout(path, layout) {
  const database = openDatabase(path);
  database.exec(`PRAGMA page_size = ${layout.pageSize ?? 4096}`);
  database.exec(
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0; PRAGMA secure_delete = ON",
  );
  database.exec(layout.tables);
  const statements = {};
  for (const name of ["last", "append", "also", "all", "at"])
    if (layout[name] !== undefined) statements[name] = database.prepare(layout[name]);
  return { database, statements };
}

function commitAll({ database, statements }, layout, path, sessions, commits) {
  const seqs = new Array(sessions + 1).fill(0);
  let logged = 0;
  const before = process.cpuUsage();
  for (let done = 0; done < commits; ) {
    const first = done;
    database.exec("BEGIN IMMEDIATE");
    for (; done < commits && done - first < Math.min(sessions, largestGroup); done += 1) {
      const session = (done % sessions) + 1;
      statements.last.all(...layout.lastOf(session));
      seqs[session] += 1;
      statements.append.run(...layout.keyOf(session, seqs[session]), ...rowOf(layout, seqs[session]));
      statements.also?.run(seqs[session], done, session);
    }
    database.exec("COMMIT");
    const { size } = statSync(`${path}-wal`);
    if (size > 4_000_000) {
      database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      logged += size;
    }
  }
  logged += statSync(`${path}-wal`).size;
  const { user, system } = process.cpuUsage(before);
  return { us: (user + system) / commits, bytes: logged / commits };
}

/** What a commit writes, beside the key of its row. */
function rowOf({ stateEvery, difference, commitsOfRun }, seq) {
  if (stateEvery !== undefined) return seq % stateEvery === 1 ? values : values.with(5, "");
  if (difference === undefined) return values;
  const since = (seq - 1) % commitsOfRun;
  return since === 0 ? [...values, null] : [...values.with(5, difference), seq - since];
}

async function measureCommits(layout, sessions, commits) {
  return await inFolder((folder) => {
    const path = join(folder, "layout.db");
    const opened = openLayout(path, layout);
    const cost = commitAll(opened, layout, path, sessions, commits);
    opened.database.close();
    return cost;
  });
}

/** Reads of one session of 10,000 rows, whose commits came in turn with those of `sessions` - 1 others. */
async function measureReads(layout, sessions, rows) {
  return await inFolder((folder) => {
    const path = join(folder, "layout.db");
    const opened = openLayout(path, layout);
    commitAll(opened, layout, path, sessions, rows * sessions);
    opened.database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    opened.database.close();
    const { database, statements } = reopenLayout(path, layout);
    const timed = (times, work) =>
      median(
        Array.from({ length: times }, (_, index) => {
          const before = performance.now();
          work(index);
          return performance.now() - before;
        }),
      );
    const whole = timed(5, () => statements.all.all(1, 1));
    const last = timed(200, () => statements.at.all(1, 1, rows)) * 1000;
    const middle = timed(200, (index) => statements.at.all(1, 1, ((index * 7919) % rows) + 1)) * 1000;
    const drop = timed(1, () => database.prepare(layout.drop).run(1, 1));
    database.close();
    return { whole, last, middle, drop };
  });
}

function reopenLayout(path, layout) {
  const database = openDatabase(path);
  database.exec("PRAGMA secure_delete = ON; PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = NORMAL");
  return { database, statements: { all: database.prepare(layout.all), at: database.prepare(layout.at) } };
}

/** The quickest round: what else the machine does only ever adds. */
async function bestOf(rounds, measure) {
  let best;
  for (let round = 0; round < rounds; round += 1) {
    const found = await measure();
    if (best === undefined || found.us < best.us) best = found;
  }
  return best;
}

export async function run({ quick, json, rest }) {
  const only = rest.includes("--only") ? rest[rest.indexOf("--only") + 1].split(",") : Object.keys(layouts);
  const commits = quick ? 4_000 : 20_000;
  const rows = quick ? 1_000 : 10_000;
  const found = [];
  for (const name of only) {
    const layout = layouts[name];
    const counts = [1, 100, 1_000];
    const costs = [];
    for (const sessions of counts)
      costs.push(await bestOf(quick ? 1 : 3, () => measureCommits(layout, sessions, commits)));
    const reads = [];
    for (const sessions of [1, 20]) reads.push(await measureReads(layout, sessions, rows));
    found.push({ name, costs, reads });
  }
  if (json) return console.log(JSON.stringify({ machine: machine(), commits, rows, found }, null, 2));
  console.log(`${machine()}; SQLite with a write-ahead log, synchronous NORMAL; rows of 1.4 kB; µs and KB a commit\n`);
  const cost = ({ us, bytes }) => `${us.toFixed(0)} / ${(bytes / 1000).toFixed(1)}`;
  const perLayout = ({ name, costs }) => [name, ...costs.map(cost)];
  console.log(table(["layout", "1 session", "100 in groups", "1,000 in groups"], found.map(perLayout)));
  console.log(
    `\nReads of a session of ${rows.toLocaleString("en")} rows, alone in its file / among 20 that grew in turn\n`,
  );
  const both = (reads, what, digits) => reads.map((read) => read[what].toFixed(digits)).join(" / ");
  const readsOf = ({ name, reads }) => [
    name,
    both(reads, "whole", 1),
    both(reads, "last", 1),
    both(reads, "middle", 1),
    both(reads, "drop", 0),
  ];
  const heads = ["layout", "whole log, ms", "last state, µs", "a state in the middle, µs", "delete, ms"];
  console.log(table(heads, found.map(readsOf)));
}
