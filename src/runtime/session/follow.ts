/**
 * Follows a session that another process holds, by its log.
 *
 * 1. The store's watch wakes the follower. A change is only a hint and can be missed, so the follower also polls. It
 *    polls often while somebody waits for a run, because this process may have to take over from a dead holder;
 *    otherwise seldom.
 * 2. A process has one follower for each session, however many subscribers the session has.
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
  /** The last entry whose events were broadcast already. */
  readonly after: number;
  readonly onEvents: (seq: number, events: readonly PublicEvent[]) => void;
  /** Called when the run waits for a person. `seq` is the last entry of the log. */
  readonly onWaiting: (result: RunResult, seq: number) => void;
  /** Whether somebody in this process watches the session or waits for a run. */
  readonly isWanted: () => boolean;
  /** Whether somebody in this process waits for a run, so that this process may have to take over. */
  readonly mayTakeOver: () => boolean;
  /** Tries to become the holder. If it resolves to true, the follower stops. */
  readonly takeOver: () => Promise<boolean>;
  readonly onEnd: (error?: unknown) => void;
};

/** The interval between polls, in milliseconds: while somebody waits for a run, and otherwise. */
const lookEveryMs = { waiting: 250, watching: 1_500 } as const;

/** Starts to follow. Call the returned function to stop. */
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
