/**
 * Sessions in PostgreSQL 13 or later: a store for several machines.
 *
 * The connection is a pool of the package `pg`, which the store creates or the caller passes, or PGlite.
 */
import { checkOptions, integerFrom, nonEmptyString, numberFrom, type OptionTable } from "../../check-options.js";
import { PawlError } from "../../errors.js";
import type { CommitResult, Store } from "../../ports/store.js";
import { encodeMessage } from "../shared/encode.js";
import { assumeAlive } from "../shared/lease.js";
import { checkId } from "../shared/rules.js";
import { findTimeProblems } from "../shared/verify-time.js";
import { createWatchers } from "../shared/watchers.js";
import { toOpenError, toStoreError } from "./client.js";
import { connect, connectionRules, type OpenConnection, otherNames, type PostgresConnection } from "./connect.js";
import { createCommitQueue } from "./group.js";
import { ensureTables } from "./migrate.js";
import { createNoticeStore } from "./notices.js";
import { createPgliteListener, openListener } from "./pool.js";
import * as reads from "./reads.js";
import { applyRedaction, prepareRedaction } from "./redact.js";
import { retryTransient } from "./retry.js";
import { createScheduleStore } from "./schedules.js";
import * as sessions from "./sessions.js";
import { createSignalStore, type SignalAccess } from "./signals.js";
import type { Database } from "./statements.js";
import { createStatements } from "./statements.js";
import { verify } from "./verify.js";
import { createWatch, type NotificationListener, type Watch } from "./watch.js";

export { describePostgres, type GrantOptions, grantsFor, migrate, type PostgresDescription } from "./admin.js";
export type { PostgresQuery } from "./client.js";
export type { PostgresConnection } from "./connect.js";

/** The database, and how the store works with it. */
export type PostgresOptions = PostgresConnection & {
  /**
   * The address for notifications. Needed if `url` leads to a pooler that sends each statement through a different connection, like
   * PgBouncer, or if a pool is passed: without it, changes by other processes are found by polling every `pollMs`. Default: `url`.
   */
  readonly listenUrl?: string;
  /** The maximum number of connections, if the store opens them. Default: 10. */
  readonly connections?: number;
  /**
   * How long to wait for a lock or an unreachable server before an operation fails, in milliseconds. Default: 5,000. A single statement
   * without a response is abandoned after 10 s, or after `busyMs` if that is longer, but after 30 s at most.
   */
  readonly busyMs?: number;
  /** How often to poll for changes that no notification reported, while there are listeners, in milliseconds. Default: 1,000. */
  readonly pollMs?: number;
};

/** The union of both kinds of connections. */
type AllOptions = { readonly [Key in keyof PostgresOptions | "url" | "pool"]?: unknown };

const rules: OptionTable<AllOptions> = {
  ...connectionRules,
  listenUrl: nonEmptyString,
  connections: integerFrom(1),
  busyMs: numberFrom(0),
  pollMs: numberFrom(1),
};

/**
 * Opens a store. Creates its tables if there are none, for which the role needs the right to create a schema. Once this has resolved,
 * changes by other processes are reported.
 *
 * Throws a `PawlError`: `missing_package` if `pg` is not installed; `store_open` if the server cannot be reached or used, or if the
 * database's encoding is not UTF8; `older_format` or `newer_format` if it has the tables of another version.
 *
 * @example
 * ```ts
 * import { openPostgresStore } from "pawl/postgres";
 *
 * const store = await openPostgresStore({ url: "postgres://worker@db.internal/sessions", connections: 20 });
 * const worker = createWorker({ store, agents: [createAgent({ name: "support", model, tools, store })] });
 * await worker.run();
 * ```
 */
export async function openPostgresStore(options: PostgresOptions): Promise<Store> {
  checkOptions<AllOptions>("openPostgresStore()", rules, options, {
    otherNames: { ...otherNames, max: "connections" },
  });
  const { url, listenUrl = url, connections = 10, busyMs = 5_000, pollMs = 1_000 } = options;
  const connection = await connect("openPostgresStore()", options, { connections, busyMs });
  const { target } = connection;
  const { name } = target;
  const db: Database = {
    query: (text, values) => target.query.query(text, values === undefined ? [] : [...values]),
    statements: createStatements(target.schema),
    storeName: name,
  };
  const watchers = createWatchers();
  let notifications: NotificationListener | null = null;
  try {
    await ensureTables(target);
    notifications = listenUrl === undefined ? createPgliteListener(target.query) : await openListener(listenUrl);
    const watch = await createWatch(db, watchers, { channel: `pawl_${target.schema}`, notifications, pollMs });
    return createStore(db, { watchers, watch, busyMs, connection });
  } catch (error) {
    await notifications?.close();
    await connection.close();
    throw toOpenError(error, name);
  }
}

type StoreDeps = {
  readonly watchers: ReturnType<typeof createWatchers>;
  readonly watch: Watch;
  readonly busyMs: number;
  readonly connection: OpenConnection;
};

function createStore(db: Database, { watchers, watch, busyMs, connection }: StoreDeps): Store {
  const commitQueue = createCommitQueue(db, busyMs);
  let closing: Promise<void> | null = null;
  const assertOpen = (): void => {
    if (closing !== null) throw new PawlError("store_closed", `The store ${db.storeName} is closed. Open it again.`);
  };
  /** @param work may take effect twice, if a reply is lost */
  const runWithRetry = async <Result>(work: (isRetry: boolean) => Promise<Result>): Promise<Result> => {
    assertOpen();
    try {
      return await retryTransient(work, busyMs);
    } catch (error) {
      throw toStoreError(error, db.storeName);
    }
  };

  const access: SignalAccess = {
    run: runWithRetry,
    notify: (change) => watch.notifyAll({ ...change, in: "inbox" }),
  };
  const timeStores = {
    signals: createSignalStore(db, access),
    schedules: createScheduleStore(db, access),
    notices: createNoticeStore(db, access),
  };

  return {
    tellsAllChanges: true,
    claim: async (sessionId, options) => {
      checkId("session", sessionId);
      return await runWithRetry((isRetry) => sessions.claim(db, sessionId, options, isRetry));
    },
    renew: async (leases, _now, leaseMs) =>
      leases.length === 0 ? [] : await runWithRetry(() => sessions.renew(db, leases, leaseMs)),
    release: (lease) => runWithRetry(() => sessions.release(db, lease)),
    commit: async (lease, commit): Promise<CommitResult> => {
      assertOpen();
      for (const id of commit.record ?? []) checkId("message", id);
      try {
        const { sessionId } = lease;
        const result = await commitQueue.commit(lease, commit);
        if (result.type !== "ok") return result;
        if (commit.events.length > 0) watch.notifyAll({ sessionId, in: "log", key: String(result.seq) });
        // A new wait may have received a kept signal.
        if (commit.waits !== undefined) watch.notifyAll({ sessionId, in: "inbox", key: `waits/${result.seq}` });
        return result;
      } catch (error) {
        throw toStoreError(error, db.storeName);
      }
    },
    redact: async (lease, redaction): Promise<CommitResult> => {
      const { sessionId } = lease;
      const prepared = await runWithRetry(() => prepareRedaction(db, sessionId, redaction));
      const result = await runWithRetry((isRetry) => applyRedaction(db, lease, redaction, prepared, isRetry));
      if (result.type === "ok") watch.notifyAll({ sessionId, in: "log", key: String(result.seq) });
      return result;
    },
    load: (sessionId) => runWithRetry(() => reads.loadAt(db, sessionId, Number.MAX_SAFE_INTEGER)),
    loadAt: (sessionId, seq) => runWithRetry(() => reads.loadAt(db, sessionId, seq)),
    read: (sessionId, after = 0, limit = Number.MAX_SAFE_INTEGER) =>
      runWithRetry(() => reads.readEntries(db, sessionId, after, limit)),
    post: async (sessionId, message) => {
      checkId("session", sessionId);
      checkId("message", message.id);
      const storedMessage = { id: message.id, at: message.at, body: encodeMessage(message) };
      const result = await runWithRetry((isRetry) => sessions.post(db, sessionId, storedMessage, isRetry));
      if (result.type === "posted") watch.notifyAll({ sessionId, in: "inbox", key: message.id });
      return result;
    },
    inbox: (sessionId) => runWithRetry(() => reads.readInbox(db, sessionId)),
    messageIds: (sessionId, options) => runWithRetry(() => reads.listMessageIds(db, sessionId, options)),
    list: (options = {}) => runWithRetry(() => reads.listSessions(db, options)),
    describe: (sessionId) => runWithRetry(() => reads.readSummary(db, sessionId)),
    asking: (options = {}) => runWithRetry(() => reads.listAsking(db, options)),
    due: (now, limit, isDead = assumeAlive) => runWithRetry(() => reads.listDue(db, now, limit, isDead)),
    watch: (listener) => {
      assertOpen();
      const stop = watchers.add(listener);
      watch.start();
      return stop;
    },
    putBlob: (sessionId, bytes) => runWithRetry(() => sessions.putBlob(db, sessionId, bytes)),
    getBlob: (sessionId, hash) => runWithRetry(() => reads.getBlob(db, sessionId, hash)),
    delete: async (sessionId, options) => {
      const isDeleted = await runWithRetry((isRetry) => sessions.deleteSession(db, sessionId, options, isRetry));
      if (isDeleted) watch.notifyDeleted(sessionId);
      return isDeleted;
    },
    ...timeStores,
    verify: async (sessionId) => [
      ...(await runWithRetry(() => verify(db, sessionId ?? null))),
      ...(await findTimeProblems(timeStores, sessionId ?? null)),
    ],
    close: () => {
      closing ??= close();
      return closing;
    },
  };

  async function close(): Promise<void> {
    watchers.end();
    await commitQueue.settled();
    await watch.stop();
    await connection.close();
  }
}
