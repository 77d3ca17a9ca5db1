/**
 * Follows a session that another process holds, by its log.
 *
 * 1. The store's watch drives the follower. A change is a hint, so the follower also looks by itself: often while somebody waits for a
 *    run, because the holder may be gone and this process may have to take over; seldom otherwise.
 * 2. A process has one follower for each session, however many watch it.
 */
import { type RunResult, resultOf } from "../../core/view/outcome.js";
import type { PublicEvent } from "../../core/view/public-event.js";
import type { Clock } from "../../ports/clock.js";
import type { Store } from "../../ports/store.js";
import { type Follower, followEntry, openFollower, readEntries } from "../log/read-log.js";

export type FollowOptions = {
  readonly sessionId: string;
  readonly store: Store;
  readonly clock: Clock;
  /** The last entry whose events are known already. */
  readonly after: number;
  readonly onEvents: (seq: number, events: readonly PublicEvent[]) => void;
  /** The run waits for a person; `seq` is the last entry of the log. */
  readonly onWaiting: (result: RunResult, seq: number) => void;
  /** Somebody in this process watches the session or waits for it. */
  readonly isWanted: () => boolean;
  /** Somebody in this process waits for a run, so that the follower may have to take over. */
  readonly mayTakeOver: () => boolean;
  /** Tries to become the holder; true ends the following. */
  readonly takeOver: () => Promise<boolean>;
  readonly onEnd: (error?: unknown) => void;
};

/** Milliseconds between looks that no change asked for: while somebody waits for a run, and otherwise. */
const lookEveryMs = { waiting: 250, watching: 10_000 } as const;

/** Starts to follow; returns the way to stop. */
export function followLog(options: FollowOptions): () => void {
  const { sessionId, store, clock } = options;
  let follower: Follower | null = null;
  let stopped = false;
  let looking = false;
  let changed = false;
  let cancel = () => {};

  async function read(): Promise<void> {
    follower ??= await openFollower(store, sessionId, options.after);
    for await (const entry of readEntries(store, sessionId, follower.state.seq)) {
      const events = followEntry(follower, entry);
      if (stopped) return;
      if (entry.seq > options.after) options.onEvents(entry.seq, events);
    }
    const result = resultOf(sessionId, follower.state, follower.transcript);
    if (result?.status === "awaiting_human") options.onWaiting(result, follower.state.seq);
  }

  async function look(mayTakeOver: boolean): Promise<void> {
    if (stopped) return;
    if (looking) {
      changed = true;
      return;
    }
    looking = true;
    cancel();
    try {
      if (mayTakeOver && options.mayTakeOver() && (await options.takeOver())) return stop();
      do {
        changed = false;
        await read();
      } while (changed && !stopped);
      if (!options.isWanted()) return stop();
      const lookAfterMs = options.mayTakeOver() ? lookEveryMs.waiting : lookEveryMs.watching;
      if (!stopped) cancel = clock.after(lookAfterMs, () => void look(true));
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
    if (change.sessionId === sessionId && change.in !== "inbox") void look(false);
  });
  void look(false);
  return stop;
}
