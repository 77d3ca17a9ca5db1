/**
 * The MCP servers of a conversation. They outlive a session, because all sessions work on the same folder.
 */
import { isDeepStrictEqual } from "node:util";
import { namesToStart, type ServerInForce, serversInForce } from "../mcp/servers-in-force.js";
import { noServers, restartServer, type StartedServers, startServers } from "../mcp/start-servers.js";
import type { FolderTrust } from "../trust/trust.js";

export type PresentServers = {
  /** Starts those that are in force. Servers that run stay, unless others are in force by now. */
  readonly start: (root: string, trust: FolderTrust) => Promise<void>;
  /** Ends a server and starts it again, unless `signal` ends the attempt. Other servers stay. */
  readonly restart: (name: string, root: string, signal: AbortSignal) => Promise<void>;
  readonly present: () => StartedServers;
  readonly close: () => Promise<void>;
};

/**
 * @param onStart told the names of the servers that are started, because that may take a while, and what ends the wait for those that
 * have not answered yet
 */
export function createPresentServers(home: string, onStart: (names: string, skip: () => void) => void): PresentServers {
  const closed = new AbortController();
  let restarting: Promise<void> = Promise.resolve();
  let inForce: readonly ServerInForce[] = [];
  let present = noServers;
  return {
    async start(root, trust) {
      const wanted = serversInForce({ root, home }, trust);
      if (isDeepStrictEqual(wanted, inForce)) return;
      const names = namesToStart(wanted);
      const skipped = new AbortController();
      const skip = () => skipped.abort(new Error("it had not answered when you went on without it"));
      if (names !== "") onStart(names, skip);
      await present.close();
      inForce = wanted;
      present = await startServers(wanted, root, skipped.signal);
    },
    async restart(name, root, signal) {
      restarting = restarting.then(async () => {
        present = await restartServer(present, name, root, AbortSignal.any([signal, closed.signal]));
      });
      await restarting;
    },
    present: () => present,
    async close() {
      closed.abort(new Error("the conversation is over"));
      await restarting;
      await present.close();
    },
  };
}
