/** Reads one entry of a session's log by its number. */
import type { Entry } from "../core/machine/event.js";
import type { Store } from "../ports/store.js";

export async function readEntry(
  store: Pick<Store, "read">,
  sessionId: string,
  seq: number,
): Promise<Entry | undefined> {
  return (await store.read(sessionId, seq - 1, 1)).find((entry) => entry.seq === seq);
}
