/**
 * The MCP servers of a conversation. They outlive sessions, because all sessions work on the same folder.
 */
import { isDeepStrictEqual } from "node:util";
import { formatServersToStart, type ResolvedServer, resolveServers } from "../mcp/resolve-servers.js";
import { acceptTools, noServers, restartServer, type StartedServers, startServers } from "../mcp/start-servers.js";
import type { FolderTrust } from "../trust/trust.js";

export type ServerManager = {
  /** Starts the servers that are configured. Running servers stay, unless the configuration has changed. */
  readonly start: (root: string, trust: FolderTrust) => Promise<void>;
  /** Restarts a server, unless `signal` aborts the attempt. Other servers stay. */
  readonly restart: (name: string, root: string, signal: AbortSignal) => Promise<void>;
  /** Accepts tools of a running server. */
  readonly accept: (name: string, tools: readonly string[]) => void;
  readonly current: () => StartedServers;
  readonly close: () => Promise<void>;
};

/**
 * @param onStart called with the names of the servers that are starting, because that may take a while, and with a function that
 * ends the wait for servers that have not answered yet
 */
export function createServerManager(home: string, onStart: (names: string, skip: () => void) => void): ServerManager {
  const closed = new AbortController();
  let restarting: Promise<void> = Promise.resolve();
  let startedSet: readonly ResolvedServer[] = [];
  let current = noServers;
  return {
    async start(root, trust) {
      const serversToStart = resolveServers({ root, home }, trust);
      if (isDeepStrictEqual(serversToStart, startedSet)) return;
      const names = formatServersToStart(serversToStart);
      const skipController = new AbortController();
      const skip = () => skipController.abort(new Error("it had not answered when you skipped the wait"));
      if (names !== "") onStart(names, skip);
      await current.close();
      startedSet = serversToStart;
      current = await startServers(serversToStart, root, skipController.signal);
    },
    async restart(name, root, signal) {
      restarting = restarting.then(async () => {
        current = await restartServer(current, name, root, AbortSignal.any([signal, closed.signal]));
      });
      await restarting;
    },
    accept(name, tools) {
      current = acceptTools(current, name, tools);
    },
    current: () => current,
    async close() {
      closed.abort(new Error("the conversation is over"));
      await restarting;
      await current.close();
    },
  };
}
