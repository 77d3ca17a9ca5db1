/**
 * `pawl doctor`: checks what Pawl needs, and whether it can write to its session store.
 */
import { randomUUID } from "node:crypto";
import { existsSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Store } from "../../index.js";
import { isHolderDead } from "../../inspect.js";
import { defaultModels, findLocalModel } from "../../models/index.js";
import { describePostgres, type PostgresConnection } from "../../stores/postgres/index.js";
import { describeSqlite, openSqliteStore } from "../../stores/sqlite/index.js";
import { chooseConfiguredModel } from "../agent/choose-model.js";
import { resolveConfiguration } from "../configuration/resolve-configuration.js";
import { listPendingCalls } from "../decisions/pending-calls.js";
import { exitCodes, formatError } from "../exit.js";
import { resolveFolder } from "../files/resolve-folder.js";
import { openStore, withPostgres, withSqlite } from "../files/session-store.js";
import { parseStoreLocation, resolveHome } from "../files/store-location.js";
import { listHooks } from "../hooks/resolve-hooks.js";
import type { Terminal } from "../terminal/terminal.js";
import { formatCount, sanitize } from "../terminal/text.js";
import { readFolderTrust } from "../trust/trust.js";
import { formatSize, openFolderSandbox } from "./sandbox.js";

/** `note` is not a failure, but worth knowing. */
type Check = {
  readonly name: string;
  readonly status: "ok" | "note" | "failed";
  readonly what: string;
  /** Figures for programs that read the JSON; `what` says the same in words. */
  readonly details?: { readonly [name: string]: number | null };
};
type Finding = Omit<Check, "name">;

const ok = (what: string): Finding => ({ status: "ok", what });
const noted = (what: string): Finding => ({ status: "note", what });
const failed = (what: string): Finding => ({ status: "failed", what });

export async function doctor(options: { readonly json?: true }, terminal: Terminal): Promise<number> {
  const home = resolveHome(process.env);
  const checkers: readonly Checker[] = [
    ["node", checkNode],
    ["sessions", () => checkSessions(home)],
    ...storeCheckers(home),
    ["people", () => checkPendingCalls(home)],
    ["due", () => checkDue(home)],
    ["keys", checkKeys],
    ["server", checkServer],
    ["model", () => checkModel(home)],
    ["sandbox", checkSandbox],
    ["hooks", () => checkHooks(home)],
  ];
  const checks: Check[] = [];
  for (const [name, checker] of checkers) {
    terminal.status(`… ${name}`);
    const finding = terminal.redaction.value(await runCheck(checker));
    const check = { name, ...collapseRepeatedFailure(finding, checks) };
    checks.push(check);
    if (options.json !== true) terminal.out(formatCheck(check, terminal));
  }
  terminal.status(null);
  const isHealthy = checks.every(({ status }) => status !== "failed");
  if (options.json === true) terminal.json({ ok: isHealthy, home, checks });
  else terminal.out(isHealthy ? "No problems found.\n" : "Problems found: see the lines marked ✗.\n");
  return isHealthy ? exitCodes.done : exitCodes.failed;
}

type Checker = readonly [string, () => Finding | Promise<Finding>];

function storeCheckers(home: string): readonly Checker[] {
  try {
    const location = parseStoreLocation(home, process.env);
    if (location.type === "postgres")
      return [
        ["postgres", () => checkPostgres(location.connection)],
        ["writing", () => withStore(home, measureWrite)],
      ];
    const { path, isNamed } = location;
    // The check of the sessions reports that a file is missing.
    if (isNamed && !existsSync(path)) return [];
    return [
      ["sqlite", () => checkSqlite(path)],
      [
        "files",
        () => (isNamed ? checkModes([path], `chmod 600 ${path}`) : checkModes([home, path], `chmod 700 ${home}`)),
      ],
      ["writing", () => checkWriting(dirname(path))],
    ];
  } catch {
    // The check of the sessions reports what is wrong with the address.
    return [];
  }
}

async function runCheck(checker: () => Finding | Promise<Finding>): Promise<Finding> {
  try {
    return await checker();
  } catch (error) {
    return failed(formatError(error, false));
  }
}

/** One fault may make several checks fail. Its message is shown once. */
function collapseRepeatedFailure(finding: Finding, earlierChecks: readonly Check[]): Finding {
  const cause = earlierChecks.find(({ status, what }) => status === "failed" && what === finding.what);
  return cause === undefined ? finding : noted(`not checked because of the failure under ${cause.name}`);
}

function formatCheck({ name, status, what }: Check, { styleOut }: Terminal): string {
  const marks = { ok: styleOut("green", "✓"), note: styleOut("yellow", "•"), failed: styleOut("red", "✗") };
  return `${marks[status]} ${name.padEnd(9)} ${sanitize(what)}\n`;
}

/** The oldest version of Node that is supported. */
const oldestNode = [20, 19] as const;

function checkNode(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const isOld = major < oldestNode[0] || (major === oldestNode[0] && minor < oldestNode[1]);
  const detail = `Node ${process.version} on ${process.platform} ${process.arch}`;
  return isOld ? failed(`${detail}; ${oldestNode.join(".")} or later is needed`) : ok(detail);
}

async function withStore(home: string, inspect: (store: Store) => Promise<Finding>): Promise<Finding> {
  const store = await openStore(home);
  try {
    return await inspect(store);
  } finally {
    await store.close();
  }
}

async function checkSessions(home: string): Promise<Finding> {
  return withStore(home, async (store) => {
    const { length } = await store.list();
    const problems = await store.verify();
    const [first] = problems;
    const location = parseStoreLocation(home, process.env);
    const where = location.type === "file" ? location.path : "the database";
    const what = `${formatCount(length, "session")} in ${where}`;
    if (first === undefined) return ok(what);
    const session = first.sessionId === null ? "" : `session ${first.sessionId}: `;
    return failed(`${what}; ${formatCount(problems.length, "fault")}, the first: ${session}${first.what}`);
  });
}

async function checkSqlite(path: string): Promise<Finding> {
  const { driver, version, journal, tables, format } = await withSqlite(() => describeSqlite(path));
  const log = format === null ? "no log yet" : `log format ${format}`;
  return {
    ...ok(`SQLite ${version} by ${driver}, journal mode ${journal}, tables ${tables}, ${log}`),
    details: { tables, format },
  };
}

/** @param fixCommand the command that closes the files to others */
function checkModes(paths: readonly string[], fixCommand: string): Finding {
  const modes = paths.map((path) => ({ path, mode: statSync(path).mode & 0o777 }));
  const what = modes.map(({ path, mode }) => `${path} is ${mode.toString(8).padStart(4, "0")}`).join(", ");
  const isOpen = process.platform !== "win32" && modes.some(({ mode }) => (mode & 0o077) !== 0);
  return isOpen ? noted(`${what}; other users of this machine can read it. To prevent that: ${fixCommand}`) : ok(what);
}

const maxClockDifferenceMs = 5_000;

async function checkPostgres(connection: PostgresConnection): Promise<Finding> {
  const { version, tables, format, isEncrypted, clockAheadMs } = await withPostgres(() => describePostgres(connection));
  const log = format === null ? "no log yet" : `log format ${format}`;
  const safety = isEncrypted === null ? "" : isEncrypted ? ", encrypted" : ", not encrypted";
  const what = `PostgreSQL ${version}, tables ${tables ?? "none"}, ${log}${safety}`;
  const details = { tables, format, clockAheadMs };
  if (Math.abs(clockAheadMs) < maxClockDifferenceMs) return { ...ok(what), details };
  const seconds = (Math.abs(clockAheadMs) / 1_000).toFixed(0);
  const differs = `its clock is ${seconds} s ${clockAheadMs > 0 ? "ahead of" : "behind"} this machine's`;
  return { ...noted(`${what}; ${differs}. Waits end early or late by that much`), details };
}

/** Writes, syncs and reads a message in a temporary session, and removes the session. */
async function measureWrite(store: Store): Promise<Finding> {
  const sessionId = `doctor-${randomUUID()}`;
  // Claimed, so that no worker picks up the session.
  const holder = { id: sessionId, host: "doctor", pid: process.pid, startedAt: 0 };
  await store.claim(sessionId, { holder, now: Date.now(), leaseMs: 60_000 });
  const startedAt = performance.now();
  try {
    await store.post(sessionId, { id: "doctor", at: Date.now(), body: { type: "abort" } });
    const tookMs = performance.now() - startedAt;
    const found = await store.inbox(sessionId);
    return found.length === 1
      ? ok(`a synced write took ${tookMs.toFixed(1)} ms`)
      : failed("a message that was just written could not be read back");
  } finally {
    await store.delete(sessionId, { now: Date.now(), force: true });
  }
}

/** Measures a write in a temporary store next to the real one, and removes that store. */
async function checkWriting(folder: string): Promise<Finding> {
  const path = join(folder, `doctor-${process.pid}.db`);
  try {
    const store = await withSqlite(() => openSqliteStore({ path }));
    try {
      return await measureWrite(store);
    } finally {
      await store.close();
    }
  } finally {
    for (const suffix of ["", "-journal", "-wal", "-shm"]) rmSync(`${path}${suffix}`, { force: true });
  }
}

/** Calls that wait for an answer. */
async function checkPendingCalls(home: string): Promise<Finding> {
  return withStore(home, async (store) => {
    const { length } = await listPendingCalls(store);
    const waits = length === 1 ? "waits" : "wait";
    return length === 0
      ? ok("no call waits for an answer")
      : noted(`${formatCount(length, "call")} ${waits}: pawl approvals`);
  });
}

/** Sessions that no process continues. */
async function checkDue(home: string): Promise<Finding> {
  return withStore(home, async (store) => {
    const { length } = await store.due(Date.now(), Number.POSITIVE_INFINITY, isHolderDead);
    return length === 0
      ? ok("no session is due")
      : noted(`${formatCount(length, "session")} ${length === 1 ? "is" : "are"} due: pawl worker`);
  });
}

/** Prints the names of variables, never their values. */
function checkKeys(): Finding {
  const names = ["PAWL_MODEL", "OPENAI_BASE_URL", ...defaultModels.map(({ key }) => key)];
  const set = names.filter((name) => (process.env[name] ?? "").trim() !== "");
  return set.length === 0 ? noted("no model key is set") : ok(`set: ${set.join(", ")}`);
}

const serverTimeoutMs = 1_000;

async function checkServer(): Promise<Finding> {
  const found = await findLocalModel(process.env, { fetch: globalThis.fetch, timeoutMs: serverTimeoutMs });
  if (found === undefined) return noted("no model server answers on this machine");
  return ok(`${found.server} at ${found.address} has ${found.name}`);
}

async function checkModel(home: string): Promise<Finding> {
  const configured = resolveConfiguration({ root: resolveFolder("."), home });
  const { model, why } = await chooseConfiguredModel(configured.model, {}, configured);
  return model.id === "demo" ? noted(why) : ok(why);
}

/** Checks the hooks of this folder and the person's own. An invalid file fails the check, with its path. */
function checkHooks(home: string): Finding {
  const hooks = listHooks(readFolderTrust(resolveFolder("."), home));
  const off = hooks.find((hook) => hook.off !== null);
  const counted = formatCount(hooks.length, "hook");
  if (off !== undefined) return noted(`${counted}; the hooks of ${off.path} are off: ${off.off}`);
  return ok(hooks.length === 0 ? "no hooks in files" : `${counted} in files; /hooks lists them`);
}

const maxHomeBytes = 2 * 1024 ** 3;

/** Checks the sandbox of this folder, with its settings. */
function checkSandbox(): Finding {
  const { sandbox, why, size } = openFolderSandbox(".");
  if (why !== null) return noted(why);
  const what = `${sandbox.describe()[0]}; pawl sandbox shows what they see`;
  return size.bytes < maxHomeBytes
    ? ok(what)
    : noted(`${what}. Their home folder takes up ${formatSize(size)}: pawl sandbox clean removes it`);
}
