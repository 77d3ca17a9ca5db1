/**
 * Sessions in PostgreSQL 13 or later: the store of several machines.
 *
 * The connection is a pool of the package `pg`, which this store makes or the caller gives, or PGlite.
 */
import { checkOptions, numberFrom, type OptionTable, someText, wholeNumber } from "../../check-options.js";
import { PawlError } from "../../errors.js";
import type { CommitResult, Store } from "../../ports/store.js";
import { nobodyIsDead } from "../shared/lease.js";
import { checkId } from "../shared/rules.js";
import { encodeMessage } from "../shared/storable.js";
import { createWatchers } from "../shared/watchers.js";
import { openFailure, storeFailure } from "./client.js";
import { type Connected, connect, connectionRules, otherNames, type PostgresConnection } from "./connect.js";
import { createCommitting, type Database } from "./group.js";
import { prepareTables } from "./migrate.js";
import { patiently } from "./patience.js";
import { openListening, ownListening } from "./pool.js";
import * as reads from "./reads.js";
import { prepare, redact } from "./redact.js";
import * as sessions from "./sessions.js";
import { createStatements } from "./statements.js";
import { verify } from "./verify.js";
import { createWatch, type Listening, type Watch } from "./watch.js";

export { describePostgres, type GrantOptions, grantsFor, migrate, type PostgresDescription } from "./admin.js";
export type { PostgresQuery } from "./client.js";
export type { PostgresConnection } from "./connect.js";

/** Where the database is, and how the store works with it. */
export type PostgresOptions = PostgresConnection & {
  /**
   * The address for notifications. Needed if `url` leads to a pooler that hands each statement to another connection, as PgBouncer
   * does, or if a pool is given: without it, changes by other processes are found every `pollMs`. Default: `url`.
   */
  readonly listenUrl?: string;
  /** The most connections, if the store opens them. Default: 10. */
  readonly connections?: number;
  /**
   * How long to wait for a lock, or for a server that is away, before an operation fails: milliseconds, 5000. A single statement that
   * stays without an answer is given up after 10 s, or after `busyMs` if that is longer, and after 30 s at most.
   */
  readonly busyMs?: number;
  /** How often to look for changes that no notification told of, while there are listeners: milliseconds, 1000. */
  readonly pollMs?: number;
};

/** Of both kinds of connections together. */
type AllOptions = { readonly [Key in keyof PostgresOptions | "url" | "pool"]?: unknown };

const rules: OptionTable<AllOptions> = {
  ...connectionRules,
  listenUrl: someText,
  connections: wholeNumber(1),
  busyMs: numberFrom(0),
  pollMs: numberFrom(1),
};

/**
 * Opens a store. Makes its tables if there are none, for which its role needs the right to create a schema. When it resolves, changes by
 * other processes are heard.
 *
 * Throws a `PawlError`: `missing_package` if there is no `pg`, `store_open` if the server cannot be reached or used, or if the database
 * has another encoding than UTF8, `older_format` or `newer_format` if it has the tables of another version.
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
  const connected = await connect("openPostgresStore()", options, { connections, busyMs });
  const { place } = connected;
  const { name } = place;
  const db: Database = {
    query: (text, values) => place.query.query(text, values === undefined ? [] : [...values]),
    statements: createStatements(place.schema),
    file: name,
  };
  const watchers = createWatchers();
  let listening: Listening | null = null;
  try {
    await prepareTables(place);
    listening = listenUrl === undefined ? ownListening(place.query) : await openListening(listenUrl);
    const watch = await createWatch(db, watchers, { channel: `pawl_${place.schema}`, listening, pollMs });
    return assemble(db, { watchers, watch, busyMs, connected });
  } catch (error) {
    await listening?.close();
    await connected.close();
    throw openFailure(error, name);
  }
}

type Assembly = {
  readonly watchers: ReturnType<typeof createWatchers>;
  readonly watch: Watch;
  readonly busyMs: number;
  readonly connected: Connected;
};

function assemble(db: Database, { watchers, watch, busyMs, connected }: Assembly): Store {
  const committing = createCommitting(db, busyMs);
  let closing: Promise<void> | null = null;
  const check = (): void => {
    if (closing !== null) throw new PawlError("store_closed", `The store ${db.file} is closed. Open it again.`);
  };
  /** @param work may take effect twice, if an answer is lost */
  const run = async <Result>(work: (isAgain: boolean) => Promise<Result>): Promise<Result> => {
    check();
    try {
      return await patiently(work, busyMs);
    } catch (error) {
      throw storeFailure(error, db.file);
    }
  };

  return {
    tellsAllChanges: true,
    claim: async (sessionId, options) => {
      checkId("session", sessionId);
      return await run(() => sessions.claim(db, sessionId, options));
    },
    renew: async (leases, _now, leaseMs) =>
      leases.length === 0 ? [] : await run(() => sessions.renew(db, leases, leaseMs)),
    release: (lease) => run(() => sessions.release(db, lease)),
    commit: async (lease, commit): Promise<CommitResult> => {
      check();
      for (const id of commit.record ?? []) checkId("message", id);
      try {
        const result = await committing.commit(lease, commit);
        if (result.type === "ok" && commit.events.length > 0)
          watch.tell({ sessionId: lease.sessionId, in: "log", key: String(result.seq) });
        return result;
      } catch (error) {
        throw storeFailure(error, db.file);
      }
    },
    redact: async (lease, redaction): Promise<CommitResult> => {
      const { sessionId } = lease;
      const prepared = await run(() => prepare(db, sessionId, redaction));
      const result = await run((isAgain) => redact(db, lease, redaction, prepared, isAgain));
      if (result.type === "ok") watch.tell({ sessionId, in: "log", key: String(result.seq) });
      return result;
    },
    load: (sessionId) => run(() => reads.loadAt(db, sessionId, Number.MAX_SAFE_INTEGER)),
    loadAt: (sessionId, seq) => run(() => reads.loadAt(db, sessionId, seq)),
    read: (sessionId, after = 0, limit = Number.MAX_SAFE_INTEGER) => run(() => reads.read(db, sessionId, after, limit)),
    post: async (sessionId, message) => {
      checkId("session", sessionId);
      checkId("message", message.id);
      const posted = { id: message.id, at: message.at, body: encodeMessage(message) };
      const result = await run((isAgain) => sessions.post(db, sessionId, posted, isAgain));
      if (result.type === "posted") watch.tell({ sessionId, in: "inbox", key: message.id });
      return result;
    },
    inbox: (sessionId) => run(() => reads.inbox(db, sessionId)),
    messageIds: (sessionId, options) => run(() => reads.messageIds(db, sessionId, options)),
    list: (options = {}) => run(() => reads.list(db, options)),
    describe: (sessionId) => run(() => reads.describe(db, sessionId)),
    asking: (options = {}) => run(() => reads.asking(db, options)),
    due: (now, limit, isDead = nobodyIsDead) => run(() => reads.due(db, now, limit, isDead)),
    watch: (listener) => {
      check();
      const stop = watchers.add(listener);
      watch.start();
      return stop;
    },
    putBlob: (sessionId, bytes) => run(() => sessions.putBlob(db, sessionId, bytes)),
    getBlob: (sessionId, hash) => run(() => reads.getBlob(db, sessionId, hash)),
    delete: async (sessionId, options) => {
      const isDeleted = await run(() => sessions.remove(db, sessionId, options));
      if (isDeleted) watchers.notify({ sessionId });
      return isDeleted;
    },
    verify: (sessionId) => run(() => verify(db, sessionId ?? null)),
    close: () => {
      closing ??= close();
      return closing;
    },
  };

  async function close(): Promise<void> {
    watchers.end();
    await committing.settled();
    await watch.stop();
    await connected.close();
  }
}
