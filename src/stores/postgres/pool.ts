/**
 * Connections that the store opens itself, with the package `pg`; and who hears notifications.
 */
import { PawlError } from "../../errors.js";
import type { PostgresQuery } from "./client.js";
import type { Listening } from "./watch.js";

type Pg = typeof import("pg");

const connectTimeoutMs = 10_000;
/**
 * A server that has vanished without a word answers no statement, and a pooler whose server is away keeps statements for minutes: it
 * counts as gone after this long, or after the patience of the store if that is longer.
 */
const statementTimeoutMs = 10_000;
const longestStatementMs = 30_000;
const reconnectMs = 1_000;
const longestEndMs = 5_000;

export type OpenedPool = { readonly query: PostgresQuery; readonly close: () => Promise<void> };

export type PoolOptions = {
  readonly connections: number;
  /** The patience of the store, in milliseconds. Default: 0. */
  readonly busyMs?: number;
  /** For statements that may take long: no time limit ends them, neither of this process nor of the server. Default: false. */
  readonly isUnlimited?: boolean;
};

/** @throws PawlError `missing_package`, `bad_configuration` */
export async function openPool(
  url: string,
  { connections, busyMs = 0, isUnlimited = false }: PoolOptions,
): Promise<OpenedPool> {
  const { Pool } = await loadPg();
  const pool = new Pool({
    ...connectionOf(url),
    max: connections,
    ...(isUnlimited ? { options: "-c statement_timeout=0" } : { query_timeout: statementLimit(busyMs) }),
    // What writes must not keep a process alive that has nothing else to do.
    allowExitOnIdle: true,
  });
  keepErrors(pool);
  const query: PostgresQuery = { query: (text, values) => pool.query(text, values === undefined ? [] : [...values]) };
  return { query, close: () => ended(pool.end()) };
}

function statementLimit(busyMs: number): number {
  return Math.min(longestStatementMs, Math.max(statementTimeoutMs, busyMs));
}

/**
 * Waits for connections to end, and not for long. The timer keeps the process alive meanwhile: connections without work do not, and
 * whoever waits for this would never go on.
 */
async function ended(ending: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, longestEndMs);
  });
  await Promise.race([ending.catch(() => {}), patience]);
  clearTimeout(timer);
}

type Errors = { readonly on: (event: "error", listener: () => void) => unknown };

/**
 * Without a listener, a connection that the server drops ends the process. The next statement opens another one.
 * @returns a function that takes the listener away
 */
export function keepErrors(pool: object): () => void {
  if (!("on" in pool && typeof pool.on === "function" && "off" in pool && typeof pool.off === "function"))
    return () => {};
  const listener = () => {};
  const { on, off } = pool as { readonly on: Errors["on"]; readonly off: Errors["on"] };
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

function connectionOf(url: string) {
  return {
    connectionString: verified(url),
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    fallback_application_name: "pawl",
  };
}

/** These hosts are this machine: a connection to them can be read by nobody else. */
const ownHosts: ReadonlySet<string> = new Set(["", "localhost", "127.0.0.1", "[::1]"]);
const checkedModes: ReadonlySet<string | null> = new Set([null, "allow", "prefer", "require", "verify-ca"]);

/**
 * The address, so that a connection to another machine is encrypted and the server's certificate checked, unless the address says
 * `sslmode=disable` or `sslmode=no-verify`.
 */
export function verified(url: string): string {
  const address = addressOf(url);
  const mode = address.searchParams.get("sslmode");
  const host = address.searchParams.get("host") ?? address.hostname;
  const isOwn = ownHosts.has(host) || host.startsWith("/") || host.toLowerCase().startsWith("%2f");
  if (!checkedModes.has(mode) || (mode === null && isOwn)) return url;
  address.searchParams.set("sslmode", "verify-full");
  return address.href;
}

function addressOf(url: string): URL {
  try {
    const address = new URL(url);
    if (/^postgres(?:ql)?:$/.test(address.protocol)) return address;
  } catch {
    // It is refused below, without a word of it: it may hold a password.
  }
  throw new PawlError(
    "bad_configuration",
    "The address of a PostgreSQL store must be of the form postgres://user:password@host:5432/database.",
  );
}

/** A connection of its own, which connects again when it is lost. @throws PawlError `missing_package`, `bad_configuration` */
export async function openListening(url: string): Promise<Listening> {
  const { Client } = await loadPg();
  const connection = connectionOf(url);
  let client: import("pg").Client | null = null;
  let retry: NodeJS.Timeout | null = null;
  let isClosed = false;

  async function listen(channel: string, onMessage: (payload: string) => void, onReturn: () => void): Promise<void> {
    const opened = new Client({ ...connection, query_timeout: statementTimeoutMs });
    client = opened;
    const lost = () => {
      if (client !== opened || isClosed) return;
      client = null;
      opened.end().catch(() => {});
      retry = setTimeout(() => {
        listen(channel, onMessage, onReturn).then(onReturn, () => {});
      }, reconnectMs);
      retry.unref();
    };
    opened.on("error", lost);
    opened.on("end", lost);
    opened.on("notification", ({ payload }) => onMessage(payload ?? ""));
    try {
      await opened.connect();
      await opened.query(`LISTEN "${channel}"`);
      // To hear must not keep a process alive. The types leave this method out.
      (opened as unknown as { readonly unref: () => void }).unref();
    } catch (error) {
      lost();
      throw error;
    }
  }

  return {
    listen,
    async close() {
      isClosed = true;
      if (retry !== null) clearTimeout(retry);
      if (client !== null) await ended(client.end());
    },
  };
}

type Pglite = PostgresQuery & {
  readonly listen: (channel: string, callback: (payload: string) => void) => Promise<() => Promise<void>>;
};

/** PGlite has notifications of its own. A pool that was given has none that could be listened to: the store looks by itself. */
export function ownListening(pool: PostgresQuery): Listening | null {
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
