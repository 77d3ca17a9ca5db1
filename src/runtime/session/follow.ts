/**
 * Follows a session that another process holds, by its log.
 */
import { type RunResult, resultOf } from "../../core/view/outcome.js";
import type { PublicEvent } from "../../core/view/public-event.js";
import type { Clock } from "../../ports/clock.js";
import type { Store } from "../../ports/store.js";
import { createFollower, followEntry, readEntries } from "../log/read-log.js";

export type FollowOptions = {
  readonly sessionId: string;
  readonly store: Store;
  readonly clock: Clock;
  /** The last entry whose events are known already. */
  readonly after: number;
  readonly onEvents: (seq: number, events: readonly PublicEvent[]) => void;
  /** The run waits for a person; the last entry that is known. */
  readonly onWaiting: (result: RunResult, seq: number) => void;
  readonly isWanted: () => boolean;
  /** Tries to become the holder; true ends the following. */
  readonly takeOver: () => Promise<boolean>;
  readonly onEnd: (error?: unknown) => void;
};

const lookEveryMs = 250;

/** Starts to follow; returns the way to stop. */
export function followLog(options: FollowOptions): () => void {
  const { sessionId, store, clock } = options;
  const follower = createFollower(sessionId);
  let stopped = false;
  let looking = false;
  let cancel = () => {};

  async function read(): Promise<void> {
    for await (const entry of readEntries(store, sessionId, follower.state.seq)) {
      const events = followEntry(follower, entry);
      if (stopped) return;
      if (entry.seq > options.after) options.onEvents(entry.seq, events);
    }
    const result = resultOf(sessionId, follower.state, follower.transcript);
    if (result?.status === "awaiting_human") options.onWaiting(result, follower.state.seq);
  }

  async function look(mayTakeOver: boolean): Promise<void> {
    if (looking || stopped) return;
    looking = true;
    cancel();
    try {
      if (mayTakeOver && (await options.takeOver())) return stop();
      await read();
      if (!options.isWanted()) return stop();
      if (!stopped) cancel = clock.after(lookEveryMs, () => void look(true));
    } catch (error) {
      stop(error);
    } finally {
      looking = false;
    }
  }

  function stop(error?: unknown): void {
    if (stopped) return;
    stopped = true;
    cancel();
    unwatch();
    options.onEnd(error);
  }

  const unwatch = store.watch((change) => {
    if (change.sessionId === sessionId) void look(false);
  });
  void look(false);
  return stop;
}
