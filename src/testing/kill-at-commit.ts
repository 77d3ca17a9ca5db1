/**
 * Kills a program with SIGKILL right before or right after its n-th commit to SQLite, or makes commits fail from the n-th on, as on
 * a full disk. Load this module before the program:
 *
 *     PAWL_KILL_AT="after 3" node --import pawl/testing/kill-at-commit program.js
 *
 * PAWL_KILL_AT is `before N`, `after N`, `full N` or `count`, which prints the number of commits on standard error at the end.
 * Without PAWL_KILL_AT, nothing happens. Commits to all databases of the process count, whether opened through `node:sqlite`, or
 * through `libsql` on a Node without it (Node 20).
 */
import process from "node:process";
import { PawlError } from "../errors.js";
import { loadSqlite } from "../stores/sqlite/driver.js";

/** The part of a database class through which every transaction ends. */
type DatabaseClass = { readonly prototype: { exec: (sql: string) => unknown } };

const setting = process.env.PAWL_KILL_AT;
if (setting !== undefined) interceptCommits(await loadSqlite(), setting);

function interceptCommits({ prototype }: DatabaseClass, setting: string): void {
  const [moment = "", number = "0"] = setting.split(" ");
  if (!/^((before|after|full) [1-9]\d*|count)$/.test(setting))
    throw new PawlError(
      "bad_configuration",
      `PAWL_KILL_AT is "${setting}"; it must be "before N", "after N", "full N" or "count".`,
    );
  const at = Number(number);
  let commits = 0;
  const { exec } = prototype;
  prototype.exec = function (sql) {
    if (sql !== "COMMIT") return exec.call(this, sql);
    commits += 1;
    if (moment === "before" && commits === at) killProcess();
    if (moment === "full" && commits >= at) throw createDiskFullError();
    const result = exec.call(this, sql);
    if (moment === "after" && commits === at) killProcess();
    return result;
  };
  if (moment === "count") process.on("exit", () => process.stderr.write(`commits: ${commits}\n`));
}

function killProcess(): void {
  process.kill(process.pid, "SIGKILL");
}

/** The error that both libraries raise: SQLITE_FULL is 13. */
function createDiskFullError(): Error {
  return Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL", rawCode: 13, errcode: 13 });
}
