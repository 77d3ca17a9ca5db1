/**
 * Follows a session that is not driven in this process, by its log: another process holds it, or it waits for somebody.
 *
 * 1. The follower looks at the log when it begins, when the store says that the session changed, and at intervals: a
 *    change is only a hint and can be missed. The interval is short while somebody waits for a run, because this process
 *    may have to take over from a dead holder.
 * 2. A process has one follower for each session, however many subscribers the session has.
 * 3. A session that waits for a person or a child is taken up only if it is due: a message was posted to it, or one of its
 *    waits is over.
 */
import { dueAt } from "../../core/machine/effects.js";
import { initialState, isWaiting, type State } from "../../core/machine/state.js";
import type { PublicEvent } from "../../core/view/public-event.js";
import type { Clock } from "../../ports/clock.js";
import type { Store } from "../../ports/store.js";
import { readEntries } from "../log/read-entries.js";
import { type Follower, followEntry, openFollower } from "../log/read-log.js";

export type FollowOptions = {
  readonly sessionId: string;
  readonly store: Store;
  readonly clock: Clock;
  /** The last entry whose events were broadcast already. */
  readonly after: number;
  readonly onEvents: (seq: number, events: readonly PublicEvent[]) => void;
  /** Called after each look if somebody in this process waits for a run, with the last state of the session. */
  readonly onWaitedFor: (state: State) => Promise<void>;
  /** Whether somebody in this process watches the session or waits for a run. */
  readonly isWanted: () => boolean;
  /** Whether somebody in this process waits for a run, so that this process may have to take over. */
  readonly mayTakeOver: () => boolean;
  /** Tries to become the holder. If it resolves to true, the follower stops. */
  readonly takeOver: () => Promise<boolean>;
  readonly onEnd: (error?: unknown) => void;
};

export type Following = {
  /** Looks at the log at once. `takeOver`: and takes the session over if it is due. */
  readonly look: (options?: { readonly takeOver?: boolean }) => void;
  readonly stop: () => void;
};

/** The interval between looks, in milliseconds: while somebody waits for a run, and otherwise. */
const lookEveryMs = { waiting: 250, watching: 1_500 } as const;

/** Starts to follow. The caller asks for the first look. */
export function followLog(options: FollowOptions): Following {
  const { sessionId, store, clock } = options;
  let follower: Follower | null = null;
  let state: State = initialState;
  let told = options.after;
  let stopped = false;
  let looking = false;
  let again: "look" | "take over" | null = null;
  let cancel = () => {};

  /** A session without new entries costs one row: its transcript is read only if there is something to tell. */
  async function read(): Promise<void> {
    state = (await store.load(sessionId))?.state ?? initialState;
    if (state.seq <= told) return;
    follower ??= await openFollower(store, sessionId, told);
    for await (const entry of readEntries(store, sessionId, follower.state.seq)) {
      const events = await followEntry(follower, entry);
      if (stopped) return;
      if (entry.seq > told) options.onEvents(entry.seq, events);
      told = Math.max(told, entry.seq);
    }
    if (follower.state.seq > state.seq) state = follower.state;
  }

  async function isDue(): Promise<boolean> {
    if (!isWaiting(state)) return true;
    const due = dueAt(state);
    return (due !== null && due <= clock.now()) || (await store.inbox(sessionId)).length > 0;
  }

  async function lookOnce(mayTakeOver: boolean): Promise<void> {
    await read();
    if (stopped || !options.mayTakeOver()) return;
    if (mayTakeOver && (await isDue()) && !stopped && (await options.takeOver())) stop();
    if (!stopped && options.mayTakeOver()) await options.onWaitedFor(state);
  }

  async function look(takeOver: boolean): Promise<void> {
    if (stopped) return;
    if (looking) {
      if (again !== "take over") again = takeOver ? "take over" : "look";
      return;
    }
    looking = true;
    cancel();
    try {
      let mayTakeOver = takeOver;
      do {
        again = null;
        await lookOnce(mayTakeOver);
        mayTakeOver = again === "take over";
      } while (again !== null && !stopped);
      if (!stopped && !options.isWanted()) stop();
      if (!stopped) cancel = clock.after(intervalMs(), () => void look(true));
    } catch (error) {
      stop(error);
    } finally {
      looking = false;
    }
  }

  /** A session that waits for somebody is due at a known time; if it is due before, the store says so. */
  function intervalMs(): number {
    if (!options.mayTakeOver()) return lookEveryMs.watching;
    if (!isWaiting(state)) return lookEveryMs.waiting;
    const due = dueAt(state);
    const untilDue = due === null ? lookEveryMs.watching : due - clock.now();
    return Math.min(lookEveryMs.watching, Math.max(lookEveryMs.waiting, untilDue));
  }

  function stop(error?: unknown): void {
    if (stopped) return;
    stopped = true;
    cancel();
    unwatch();
    options.onEnd(error);
  }

  const unwatch = store.watch((change) => {
    if (change.sessionId !== sessionId) return;
    const isParked = isWaiting(state);
    if (change.in !== "inbox" || isParked) void look(isParked);
  });
  return { look: ({ takeOver = false } = {}) => void look(takeOver), stop: () => stop() };
}
