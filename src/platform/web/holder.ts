/**
 * The holder of a lease where there are no processes: a page in a browser, or a server's isolate.
 *
 * Other processes cannot check whether this holder is alive, so its leases are taken over only after they expire.
 */
import type * as node from "../holder.js";

export const createHolder: typeof node.createHolder = () => {
  const id = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0"));
  ownIds.add(id.join(""));
  // This host name is unique, so that no process mistakes the pid for a process on its own host.
  return { id: id.join(""), host: `web ${id.join("")}`, pid: 0, startedAt: 0 };
};

export const isHolderDead: typeof node.isHolderDead = () => false;

/** The ids of the holders created here. A page or an isolate has few agents. */
const ownIds = new Set<string>();

export const isHeldHere: typeof node.isHeldHere = ({ id }) => ownIds.has(id);
