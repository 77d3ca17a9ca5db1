/**
 * Stores logins to MCP servers in a file that only its owner can read. Processes of the same machine share it under a lock.
 *
 * 1. Many authorization servers accept a refresh token only once, and a second use ends the login. So if two processes have an
 *    expired token, one refreshes it while the other waits, and then reads the new token.
 * 2. A lock is broken immediately if its process has died, and otherwise when it has not been touched for 15 seconds.
 */

import { createHash, randomBytes } from "node:crypto";
import { mkdir, open, readFile, rename, stat, unlink, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isObject } from "../../../core/data/is-object.js";
import type { Json } from "../../../core/data/message.js";
import { PawlError } from "../../../errors.js";
import { createHolder, isHolderDead } from "../../../platform/holder.js";
import type { Holder } from "../../../ports/store.js";

/** The stored login to one server: plain JSON that contains tokens. Empty if there is no login. */
export type McpStoredLogin = { readonly [name: string]: Json };

/**
 * Stores logins to MCP servers, by the address of the server. `fileCredentials` creates one. Your own implementation must keep the
 * logins secret, and its lock must exclude all processes that share it.
 */
export type McpCredentials = {
  /** The stored login of a server; an empty object if there is none. */
  readonly read: (server: string) => Promise<McpStoredLogin>;
  /** Replaces the stored login. An empty object removes it. */
  readonly write: (server: string, login: McpStoredLogin) => Promise<void>;
  /**
   * Runs `act` while no other process does so for this server. If the signal is aborted before its turn comes, rejects with the
   * signal's reason.
   */
  readonly alone: <T>(server: string, act: () => Promise<T>, signal: AbortSignal) => Promise<T>;
};

const maxFileBytes = 1024 * 1024;
const touchMs = 2_000;
const staleMs = 15_000;
const pauseMs = 50;
/** Writing the file takes milliseconds, so a longer wait means that the disk is broken. */
const maxWriteWaitMs = 60_000;

type StoredLogins = { readonly [server: string]: McpStoredLogin };

/**
 * Stores logins in a JSON file. Only its owner can access the file and its locks.
 * @throws PawlError `bad_configuration`, on use, if the file does not contain logins
 */
export function fileCredentials(path: string): McpCredentials {
  const readAll = async (): Promise<StoredLogins> => {
    const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return "{}";
      throw error;
    });
    return parseLogins(path, text);
  };
  const replace = async (logins: StoredLogins) => {
    const draft = `${path}.${randomBytes(6).toString("hex")}`;
    await writeFile(draft, JSON.stringify(logins), { mode: 0o600, flush: true });
    await rename(draft, path);
  };
  return {
    async read(server) {
      const logins = await readAll();
      return Object.hasOwn(logins, server) ? (logins[server] ?? {}) : {};
    },
    // Replaces the whole file, so writes for other servers wait as well.
    write: (server, login) =>
      withLock(`${path}.lock`, AbortSignal.timeout(maxWriteWaitMs), async () => {
        const { [server]: _, ...others } = await readAll();
        await replace(Object.keys(login).length === 0 ? others : { ...others, [server]: login });
      }),
    alone: (server, act, signal) =>
      withLock(`${path}.${createHash("sha256").update(server).digest("hex").slice(0, 16)}.lock`, signal, act),
  };
}

function parseLogins(path: string, text: string): StoredLogins {
  let value: unknown = null;
  try {
    value = text.length > maxFileBytes ? null : JSON.parse(text);
  } catch {
    // Reported below.
  }
  if (isObject(value) && Object.values(value).every(isObject)) return value as StoredLogins;
  throw new PawlError(
    "bad_configuration",
    `${path} does not contain logins to MCP servers. Delete the file and log in again.`,
  );
}

let ownHolder: Holder | undefined;

async function withLock<T>(lock: string, signal: AbortSignal, act: () => Promise<T>): Promise<T> {
  await mkdir(dirname(lock), { recursive: true, mode: 0o700 });
  const release = await acquire(lock, signal);
  try {
    return await act();
  } finally {
    await release();
  }
}

/** @returns a function that releases the lock */
async function acquire(lock: string, signal: AbortSignal): Promise<() => Promise<void>> {
  ownHolder ??= createHolder();
  for (;;) {
    signal.throwIfAborted();
    try {
      const handle = await open(lock, "wx", 0o600);
      await handle.writeFile(JSON.stringify(ownHolder));
      const { ino } = await handle.stat();
      const touching = setInterval(() => void handle.utimes(new Date(), new Date()).catch(() => {}), touchMs);
      touching.unref();
      return async () => {
        clearInterval(touching);
        await handle.close();
        // A process that was stopped for longer than `staleMs` has lost the lock to another one.
        if ((await stat(lock).catch(() => null))?.ino === ino) await unlink(lock).catch(() => {});
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      await removeIfAbandoned(lock);
      await sleep(pauseMs, undefined, { signal });
    }
  }
}

/** If two processes find the same abandoned lock, only one can rename it: the other finds no file, or the lock of the first. */
async function removeIfAbandoned(lock: string): Promise<void> {
  try {
    const { mtimeMs, ino } = await stat(lock);
    const isStale = Date.now() - mtimeMs > staleMs;
    if (!isStale && !isHolderDead(JSON.parse(await readFile(lock, "utf8")) as Holder)) return;
    if ((await stat(lock)).ino !== ino) return;
    const away = `${lock}.${randomBytes(6).toString("hex")}`;
    await rename(lock, away);
    await unlink(away);
  } catch {
    // The lock is gone, or its process is still writing it.
  }
}
