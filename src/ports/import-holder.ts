/**
 * The holder of the sessions that an import is writing.
 */
import type { Holder } from "./store.js";

/** Not a real process, so that a lease of an import is never mistaken for the lease of a dead process. */
export function createImportHolder(id: string): Holder {
  return { id, host: importHost, pid: 0, startedAt: 0 };
}

/** Whether a session is being imported, so that its child sessions may not have been written yet. */
export function isImport({ host, pid }: Holder): boolean {
  return host === importHost && pid === 0;
}

const importHost = "import";
