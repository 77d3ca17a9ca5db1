/**
 * A bare SQLite, opened as Pawl opens it: the same library and the same journal.
 */
import { createRequire } from "node:module";

/** The built-in library if there is one, else `libsql`; both have `exec`, `prepare`, `run`, `get` and `all`. */
export function openDatabase(path) {
  const BuiltIn = process.getBuiltinModule("node:sqlite")?.DatabaseSync;
  return BuiltIn === undefined ? openLibsql(path) : new BuiltIn(path);
}

/** A library with the calls of better-sqlite3, whose own binary npm does not bring without install scripts. */
export function openLibsql(path) {
  const Libsql = createRequire(import.meta.url)("libsql");
  return new Libsql(path);
}

/** The shape of Pawl's writes to a file for `steps` steps, which a bare SQLite repeats. */
export function shapeOf(path, steps) {
  const database = openDatabase(path);
  const { journal_mode: mode } = database.prepare("PRAGMA journal_mode").get();
  const { rows, events, states } = database
    .prepare("SELECT count(*) AS rows, sum(length(events)) AS events, sum(length(state)) AS states FROM commits")
    .get();
  database.close();
  return {
    // The file does not record that its journal is truncated.
    journal: mode === "wal" ? "wal" : "truncate",
    commitsPerStep: rows / steps,
    eventsLength: Math.round(events / rows),
    stateLength: Math.round(states / rows),
  };
}

/** Rows of that shape, each in a transaction of its own. */
export function bareLog(path, { journal, eventsLength, stateLength }, synchronous) {
  const database = openDatabase(path);
  database.exec(`PRAGMA journal_mode = ${journal}`);
  database.exec(`PRAGMA synchronous = ${synchronous}`);
  database.exec(
    "CREATE TABLE commits (key INTEGER PRIMARY KEY, at REAL NOT NULL, events TEXT NOT NULL, state TEXT NOT NULL) STRICT",
  );
  const begin = database.prepare("BEGIN IMMEDIATE");
  const append = database.prepare("INSERT INTO commits (key, at, events, state) VALUES (?, ?, ?, ?)");
  const end = database.prepare("COMMIT");
  const events = "e".repeat(eventsLength);
  const state = "s".repeat(stateLength);
  let key = 0;
  return {
    commit() {
      key += 1;
      begin.run();
      append.run(key, Date.now(), events, state);
      end.run();
    },
    close: () => database.close(),
  };
}
