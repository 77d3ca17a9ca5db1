/**
 * Connections that the store opens itself, with the package `pg`, and listeners for notifications.
 */
import { PawlError } from "../../errors.js";
import type { PostgresQuery } from "./client.js";
import type { NotificationListener } from "./watch.js";

type Pg = typeof import("pg");

const connectTimeoutMs = 10_000;
/**
 * A server that has vanished silently answers no statement, and a pooler whose server is down holds statements for minutes. The server
 * counts as lost after this time, or after the store's `busyMs` if that is longer.
 */
const statementTimeoutMs = 10_000;
const maxStatementMs = 30_000;
const reconnectMs = 1_000;
const maxEndMs = 5_000;

export type PoolHandle = { readonly query: PostgresQuery; readonly close: () => Promise<void> };

export type PoolOptions = {
  readonly connections: number;
  /** How long the store retries a statement, in milliseconds. Default: 0. */
  readonly busyMs?: number;
  /** For statements that may take long: disables the time limits of this process and of the server. Default: false. */
  readonly isUnlimited?: boolean;
};

/** @throws PawlError `missing_package`, `bad_configuration` */
export async function openPool(
  url: string,
  { connections, busyMs = 0, isUnlimited = false }: PoolOptions,
): Promise<PoolHandle> {
  const { Pool } = await loadPg();
  const pool = new Pool({
    ...createConnectionOptions(url),
    max: connections,
    ...(isUnlimited ? { options: "-c statement_timeout=0" } : { query_timeout: statementTimeout(busyMs) }),
    // Idle connections must not keep an otherwise idle process alive.
    allowExitOnIdle: true,
  });
  ignorePoolErrors(pool);
  const query: PostgresQuery = { query: (text, values) => pool.query(text, values === undefined ? [] : [...values]) };
  return { query, close: () => awaitEnd(pool.end()) };
}

function statementTimeout(busyMs: number): number {
  return Math.min(maxStatementMs, Math.max(statementTimeoutMs, busyMs));
}

/**
 * Waits for connections to end, for a limited time. The timer keeps the process alive meanwhile, because idle connections do not, and the
 * awaiting caller would never continue.
 */
async function awaitEnd(ending: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, maxEndMs);
  });
  await Promise.race([ending.catch(() => {}), timeout]);
  clearTimeout(timer);
}

type ErrorEmitter = { readonly on: (event: "error", listener: () => void) => unknown };

/**
 * Ignores errors of idle connections. Without an `error` listener, a connection that the server drops ends the process. The next statement
 * opens a new connection.
 * @returns a function that removes the listener
 */
export function ignorePoolErrors(pool: object): () => void {
  if (!("on" in pool && typeof pool.on === "function" && "off" in pool && typeof pool.off === "function"))
    return () => {};
  const listener = () => {};
  const { on, off } = pool as { readonly on: ErrorEmitter["on"]; readonly off: ErrorEmitter["on"] };
  on.call(pool, "error", listener);
  return () => void off.call(pool, "error", listener);
}

async function loadPg(): Promise<Pick<Pg, "Pool" | "Client">> {
  try {
    const pg = await import("pg");
    return pg.default;
  } catch (cause) {
    throw new PawlError(
      "missing_package",
      "openPostgresStore() with a url needs the package pg. Install it: npm install pg",
      { cause },
    );
  }
}

function createConnectionOptions(url: string) {
  return {
    connectionString: requireTls(url),
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    fallback_application_name: "pawl",
  };
}

/** Hosts that refer to this machine, so that no other machine can read the connection. */
const localHosts: ReadonlySet<string> = new Set(["", "localhost", "127.0.0.1", "[::1]"]);
const verifiedModes: ReadonlySet<string | null> = new Set([null, "allow", "prefer", "require", "verify-ca"]);

/**
 * The address, changed so that a connection to another machine is encrypted and the server's certificate is checked, unless the address
 * contains `sslmode=disable` or `sslmode=no-verify`.
 */
export function requireTls(url: string): string {
  const address = parseAddress(url);
  const mode = address.searchParams.get("sslmode");
  const host = address.searchParams.get("host") ?? address.hostname;
  const isLocal = localHosts.has(host) || host.startsWith("/") || host.toLowerCase().startsWith("%2f");
  if (!verifiedModes.has(mode) || (mode === null && isLocal)) return url;
  address.searchParams.set("sslmode", "verify-full");
  return address.href;
}

function parseAddress(url: string): URL {
  try {
    const address = new URL(url);
    if (/^postgres(?:ql)?:$/.test(address.protocol)) return address;
  } catch {
    // Rejected below. The message does not quote the address, because it may contain a password.
  }
  throw new PawlError(
    "bad_configuration",
    "The address of a PostgreSQL store must have the form postgres://user:password@host:5432/database.",
  );
}

/** Opens a separate connection, which reconnects when it is lost. @throws PawlError `missing_package`, `bad_configuration` */
export async function openListener(url: string): Promise<NotificationListener> {
  const { Client } = await loadPg();
  const connection = createConnectionOptions(url);
  let client: import("pg").Client | null = null;
  let retry: NodeJS.Timeout | null = null;
  let isClosed = false;

  async function listen(channel: string, onMessage: (payload: string) => void, onReconnect: () => void): Promise<void> {
    const opened = new Client({ ...connection, query_timeout: statementTimeoutMs });
    client = opened;
    const onLost = () => {
      if (client !== opened || isClosed) return;
      client = null;
      opened.end().catch(() => {});
      retry = setTimeout(() => {
        listen(channel, onMessage, onReconnect).then(onReconnect, () => {});
      }, reconnectMs);
      retry.unref();
    };
    opened.on("error", onLost);
    opened.on("end", onLost);
    opened.on("notification", ({ payload }) => onMessage(payload ?? ""));
    try {
      await opened.connect();
      await opened.query(`LISTEN "${channel}"`);
      // Listening must not keep a process alive. The types do not declare this method.
      (opened as unknown as { readonly unref: () => void }).unref();
    } catch (error) {
      onLost();
      throw error;
    }
  }

  return {
    listen,
    async close() {
      isClosed = true;
      if (retry !== null) clearTimeout(retry);
      if (client !== null) await awaitEnd(client.end());
    },
  };
}

type Pglite = PostgresQuery & {
  readonly listen: (channel: string, callback: (payload: string) => void) => Promise<() => Promise<void>>;
};

/** PGlite has its own notifications. A pool that the caller passed cannot be listened to, so the store polls. */
export function createPgliteListener(pool: PostgresQuery): NotificationListener | null {
  if (!("listen" in pool && typeof pool.listen === "function")) return null;
  const pglite = pool as Pglite;
  let stop: (() => Promise<void>) | null = null;
  return {
    async listen(channel, onMessage) {
      stop = await pglite.listen(channel, onMessage);
    },
    async close() {
      await stop?.();
    },
  };
}
