/**
 * Tells the holder of a session that somebody may have posted to it.
 */
import type { Clock } from "../ports/clock.js";
import type { Store } from "../ports/store.js";

/** A store tells of the holder's own commits too: so the inbox is looked at, but not each time. */
const lookEveryMs = 100;

export function watchInbox(sessionId: string, store: Store, clock: Clock, look: () => void): () => void {
  let cancel: (() => void) | null = null;
  const stop = store.watch((change) => {
    if (change.sessionId !== sessionId || cancel !== null) return;
    cancel = clock.after(lookEveryMs, () => {
      cancel = null;
      look();
    });
  });
  return () => {
    stop();
    cancel?.();
  };
}
