/**
 * Copies the log of a trial, with its child sessions, into a store for the inspector.
 */
import type { Store } from "../ports/store.js";
import { exportSessions } from "../stores/transfer/export.js";
import { importSessions } from "../stores/transfer/import.js";

/** Replaces the log of a previous run of the same trial. */
export async function keepLog(from: Store, to: Store): Promise<void> {
  let text = "";
  for await (const line of exportSessions(from)) text += line;
  for (const { sessionId } of await from.list()) await to.delete(sessionId, { now: Date.now(), force: true });
  await importSessions(to, {
    async *read() {
      yield text;
    },
  });
}
