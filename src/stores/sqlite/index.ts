/**
 * Sessions in one SQLite file: a store for one machine and any number of its processes.
 *
 * The library is the SQLite built into Node (22.13 and later), the package `libsql`, or a handle that the caller opened.
 */
import { resolve } from "node:path";
import { anObject, checkOptions, nonEmptyString, numberFrom, type OptionTable, oneOf } from "../../check-options.js";
import { PawlError } from "../../errors.js";
import type { CommitResult, ReleaseResult, Store } from "../../ports/store.js";
import { encodeMessage } from "../shared/encode.js";
import { assumeAlive } from "../shared/lease.js";
import { checkId, hashBlob } from "../shared/rules.js";
import { findTimeProblems } from "../shared/verify-time.js";
import { createWatchers } from "../shared/watchers.js";
import { createCheckpoints, noCheckpoints } from "./checkpoints.js";
import { checkHandle, isBusy, openHandle, type SqliteHandle } from "./driver.js";
import { toOpenError, toStoreError } from "./errors.js";
import { createFile, findHandlePath, prepareFile, protectFiles, type Synchronous } from "./file.js";
import { createIdentityCheck, noIdentityCheck } from "./identity.js";
import { createNoticeStore } from "./notices.js";
import * as reads from "./reads.js";
import {
  applyRedaction,
  createWalScrubber,
  isScrubPending,
  noScrubber,
  prepareRedaction,
  type WalScrubber,
} from "./redact.js";
import { createScheduleStore } from "./schedules.js";
import { type Database, prepareStatements } from "./schema.js";
import * as sessions from "./sessions.js";
import { createSignalStore } from "./signal-store.js";
import { createTransactions, retryWhileBusy, type Transactions } from "./transactions.js";
import { verify } from "./verify.js";
import { createPoller } from "./watch.js";

export { describeSqlite, type SqliteDescription } from "./describe.js";
export type { SqliteHandle, SqliteStatement, SqliteValue } from "./driver.js";

/** The path of the file, which is created for its owner alone if it does not exist. `:memory:` keeps everything in this process. */
type PathOptions = {
  /** The path of the file, which is created if it does not exist. */
  readonly path: string;
  readonly database?: never;
};
/** A handle of `node:sqlite`, `libsql` or `better-sqlite3`. Closing the store does not close the handle. */
type HandleOptions = {
  /** An open database of a SQLite library. */
  readonly database: SqliteHandle;
  readonly path?: never;
};

/** The database, and how the store works with it. */
export type SqliteOptions = (PathOptions | HandleOptions) & {
  /** `full` (the default): commits survive a loss of power. `normal`: they survive the end of the process. */
  readonly synchronous?: Synchronous;
  /** How long to wait for another process's lock before a commit is `busy`, in milliseconds. Default: 5,000. */
  readonly busyMs?: number;
  /** How often to poll for changes by other processes while there are listeners (`watch`), in milliseconds. Default: 250. */
  readonly pollMs?: number;
};

/**
 * Opens a store.
 *
 * Throws a `PawlError`: `missing_package` if Node has no SQLite; `store_open` if the file belongs to another program, or is locked,
 * read-only or not a database; `store_corrupt` if it is damaged; `older_format` or `newer_format` if it has the tables of another version.
 *
 * @example
 * ```ts
 * import { createAgent } from "pawl";
 * import { openSqliteStore } from "pawl/sqlite";
 *
 * const store = await openSqliteStore({ path: "sessions.db" });
 * const agent = createAgent({ model, tools, store });
 * // …
 * await agent.shutdown();
 * await store.close();
 * ```
 */
export async function openSqliteStore(options: SqliteOptions): Promise<Store> {
  checkSqliteOptions(options);
  const { synchronous = "full", busyMs = 5000, pollMs = 250 } = options;
  const { handle, file, isFile } = await openDatabase(options);
  const ownsHandle = options.database === undefined;
  try {
    const prepare = { synchronous, guardsCheckpoints: ownsHandle };
    const needsGuard = await retryWhileBusy(() => prepareFile(handle, file, prepare), busyMs);
    if (ownsHandle && options.path !== memoryPath) protectFiles(file);
    const db = { statements: prepareStatements(handle), file };
    // This is the last step that may fail, so the error handler below does not have to close its connection.
    const checkpoints = needsGuard ? createCheckpoints(handle, await openHandle(file), file) : noCheckpoints;
    const checkIdentity = isFile ? createIdentityCheck(file) : noIdentityCheck;
    const transactions = createTransactions({ handle, file, busyMs, checkpoints, checkIdentity });
    const scrubber = isFile
      ? createWalScrubber(handle, file, needsGuard ? checkpoints.checkpointNow : null)
      : noScrubber;
    if (isFile && isScrubPending(file)) await scrubber.scrub();
    return createStore(db, transactions, pollMs, scrubber, () => {
      checkpoints.close();
      if (ownsHandle) handle.close();
    });
  } catch (error) {
    if (ownsHandle) handle.close();
    throw toOpenError(error, file);
  }
}

/** The union of both kinds of options. */
type AllOptions = { readonly path?: string; readonly database?: SqliteHandle } & Pick<
  SqliteOptions,
  "synchronous" | "busyMs" | "pollMs"
>;

const optionRules: OptionTable<AllOptions> = {
  path: nonEmptyString,
  database: anObject,
  synchronous: oneOf("full", "normal"),
  busyMs: numberFrom(0),
  pollMs: numberFrom(1),
};

const otherNames = { file: "path", filename: "path", url: "path", db: "database", connection: "database" };

function checkSqliteOptions(options: SqliteOptions): void {
  checkOptions<AllOptions>("openSqliteStore()", optionRules, options, { otherNames });
  if ((options.path === undefined) === (options.database === undefined))
    throw new PawlError(
      "bad_configuration",
      "openSqliteStore() takes either `path` or `database`. Pass exactly one of them.",
    );
}

const memoryPath = ":memory:";

type OpenedDatabase = { readonly handle: SqliteHandle; readonly file: string; readonly isFile: boolean };

async function openDatabase(options: SqliteOptions): Promise<OpenedDatabase> {
  if (options.database !== undefined) {
    checkHandle(options.database);
    const file = findHandlePath(options.database);
    return { handle: options.database, file: file || "in memory", isFile: file !== "" };
  }
  if (options.path === memoryPath) return { handle: await openHandle(memoryPath), file: "in memory", isFile: false };
  let file = resolve(options.path);
  try {
    file = createFile(file);
    return { handle: await openHandle(file), file, isFile: true };
  } catch (error) {
    throw toOpenError(error, file);
  }
}

function createStore(
  db: Database,
  transactions: Transactions,
  pollMs: number,
  scrubber: WalScrubber,
  closeHandle: () => void,
): Store {
  const { file } = db;
  const watchers = createWatchers();
  const poller = createPoller(db, watchers, transactions.readNow, pollMs);
  const throwStoreError = (error: unknown): never => {
    throw toStoreError(error, file);
  };
  const write = <Result>(work: () => Result, bytes?: number): Promise<Result> =>
    transactions.write(work, bytes).catch(throwStoreError);
  const read = <Result>(work: () => Result): Promise<Result> => transactions.read(work).catch(throwStoreError);
  const writeOrBusy = <Result>(
    work: () => Result,
    bytes?: number,
    writer?: string,
  ): Promise<Result | { readonly type: "busy" }> =>
    transactions
      .write(work, bytes, writer)
      .catch((error: unknown) => (isBusy(error) ? { type: "busy" } : throwStoreError(error)));
  const close = async (): Promise<void> => {
    poller.stop();
    watchers.end();
    await transactions.drain();
    closeHandle();
  };
  let closing: Promise<void> | null = null;
  const access = { read, write, notify: (sessionId: string) => watchers.notify({ sessionId, in: "inbox" }) };
  const timeStores = {
    signals: createSignalStore(db, access),
    schedules: createScheduleStore(db, access),
    notices: createNoticeStore(db, access),
  };

  return {
    claim: async (sessionId, options) => {
      checkId("session", sessionId);
      return await write(() => sessions.claim(db, sessionId, options));
    },
    renew: async (leases, now, leaseMs) =>
      leases.length === 0 ? [] : await write(() => sessions.renew(db, leases, now, leaseMs)),
    release: (lease): Promise<ReleaseResult> => writeOrBusy(() => sessions.release(db, lease)),
    commit: async (lease, commit): Promise<CommitResult> => {
      for (const id of commit.record ?? []) checkId("message", id);
      const encoded = sessions.encodeCommit(lease.sessionId, commit);
      const bytes = encoded.events.length + encoded.state.length;
      const result = await writeOrBusy(() => sessions.append(db, lease, commit, encoded), bytes, lease.sessionId);
      // A new wait may have received a kept signal.
      const changed = commit.waits === undefined ? ({ in: "log" } as const) : {};
      if (result.type === "ok") watchers.notify({ sessionId: lease.sessionId, ...changed });
      return result;
    },
    redact: async (lease, redaction): Promise<CommitResult> => {
      const { sessionId } = lease;
      const prepared = await prepareRedaction(db, read, sessionId, redaction);
      const encoded = sessions.encodeCommit(sessionId, redaction.commit);
      scrubber.markPending();
      const result = await writeOrBusy(() => applyRedaction(db, lease, redaction, prepared, encoded));
      // Scrub even if nothing was written, because an earlier redaction may have been interrupted.
      await scrubber.scrub();
      if (result.type === "ok") watchers.notify({ sessionId, in: "log" });
      return result;
    },
    load: (sessionId) => read(() => reads.load(db, sessionId)),
    loadAt: (sessionId, seq) => read(() => reads.loadAt(db, sessionId, seq)),
    read: (sessionId, after = 0, limit = Number.MAX_SAFE_INTEGER) =>
      read(() => reads.readEntries(db, sessionId, after, limit)),
    post: async (sessionId, message) => {
      checkId("session", sessionId);
      checkId("message", message.id);
      const storedMessage = { id: message.id, at: message.at, body: encodeMessage(message) };
      const result = await write(() => sessions.post(db, sessionId, storedMessage), storedMessage.body.length);
      if (result.type === "posted") watchers.notify({ sessionId, in: "inbox" });
      return result;
    },
    inbox: (sessionId) => read(() => reads.readInbox(db, sessionId)),
    messageIds: (sessionId, options) => read(() => reads.listMessageIds(db, sessionId, options)),
    list: (options = {}) => read(() => reads.listSessions(db, options)),
    describe: (sessionId) => read(() => reads.readSummary(db, sessionId)),
    asking: (options = {}) => read(() => reads.listAsking(db, options)),
    due: (now, limit, isDead = assumeAlive) => read(() => reads.listDue(db, now, limit, isDead)),
    watch: (listener) => {
      transactions.assertOpen();
      const stop = watchers.add(listener);
      poller.start();
      return stop;
    },
    tellsAllChanges: true,
    putBlob: async (sessionId, bytes) => {
      const hash = hashBlob(bytes);
      await write(() => sessions.putBlob(db, sessionId, hash, bytes), bytes.length);
      return hash;
    },
    getBlob: (sessionId, hash) => read(() => reads.getBlob(db, sessionId, hash)),
    delete: async (sessionId, options) => {
      const isDeleted = await write(() => sessions.deleteSession(db, sessionId, options));
      if (isDeleted) watchers.notify({ sessionId });
      return isDeleted;
    },
    ...timeStores,
    verify: async (sessionId) => [
      ...(await verify(db, read, sessionId ?? null)),
      ...(await findTimeProblems(timeStores, sessionId ?? null)),
    ],
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}
