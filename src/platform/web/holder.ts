/**
 * The holder of a lease where there are no processes: a browser's page, or an isolate of a server.
 *
 * No other process can check whether it is still alive. So its leases are taken over when they expire, and not before.
 */
import type * as node from "../holder.js";

export const createHolder: typeof node.createHolder = () => {
  const id = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0"));
  ownIds.add(id.join(""));
  // No other holder has this host, so that no process mistakes the pid for one of its own host.
  return { id: id.join(""), host: `web ${id.join("")}`, pid: 0, startedAt: 0 };
};

export const isHolderDead: typeof node.isHolderDead = () => false;

/** The ids of the holders that were created here. A page or an isolate has few agents. */
const ownIds = new Set<string>();

export const isHeldHere: typeof node.isHeldHere = ({ id }) => ownIds.has(id);
