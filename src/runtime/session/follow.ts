/**
 * Follows the log of a session that is not driven in this process: another process holds it, or it waits for a decision.
 *
 * 1. The follower reads the log when it begins, and when the store reports that the session changed. It has no timer while
 *    the session is only watched, unless the store's notifications can be missed: then it also polls. While a caller waits
 *    for a run, it polls often, because this process may have to take over from a dead holder.
 * 2. A process has one follower for each session, however many subscribers the session has.
 * 3. Between its reads, the follower of a session that is only watched keeps nothing in memory, unless a run is in progress.
 * 4. If the session is deleted, the follower ends: nothing more will come, and the session is not claimed, which would create it again.
 *    This also applies if another session has begun under its id: its events are not those that come next.
 * 5. A session that waits for a person or a child is taken over only if it is due: a message was posted to it, or one of its
 *    waits is over.
 */
import { dueAt } from "../../core/machine/effects.js";
import { initialState, isResting, isWaiting, type State } from "../../core/machine/state.js";
import type { PublicEvent } from "../../core/view/public-event.js";
import type { PawlError } from "../../errors.js";
import type { Clock } from "../../ports/clock.js";
import { createNoSessionError, createReplacedSessionError } from "../log/driver-errors.js";
import { readEntries } from "../log/read-entries.js";
import { type Follower, followEntry, openFollower } from "../log/read-log.js";
import { type WatchedLogs, watchLog } from "./watch-logs.js";

export type FollowOptions = {
  readonly sessionId: string;
  readonly logs: WatchedLogs;
  readonly clock: Clock;
  /** The last entry whose events were already broadcast. */
  readonly after: number;
  readonly onEvents: (seq: number, events: readonly PublicEvent[]) => void;
  /** Called after each read if a caller in this process waits for a run, with the last state of the session. */
  readonly onWaitedFor: (state: State) => Promise<void>;
  /** Whether this process has a subscriber, or a caller that waits for a run. */
  readonly isWanted: () => boolean;
  /** Whether a caller in this process waits for a run, so that this process may have to take over. */
  readonly mayTakeOver: () => boolean;
  /** Tries to become the holder. If it resolves to true, the follower stops. */
  readonly takeOver: () => Promise<boolean>;
  /** Whether this process is sending the first request to the session, which may not exist yet. */
  readonly isStarting: () => boolean;
  /** Called if the session was deleted. The follower stops. */
  readonly onDeleted: (error: PawlError) => void;
  readonly onEnd: (error?: unknown) => void;
};

export type PollOptions = {
  /** Whether the session is also taken over if it is due. */
  readonly takeOver?: boolean;
  /** Milliseconds until the read, unless the store reports a change before. Default: at once. */
  readonly afterMs?: number;
};

export type Following = {
  /** Reads the log. */
  readonly poll: (options?: PollOptions) => void;
  readonly stop: () => void;
};

/** The interval between reads, in milliseconds: while a caller waits for a run, and otherwise. */
const pollEveryMs = { waiting: 250, watching: 1_500 } as const;

/** Starts to follow. The caller requests the first read with `poll`. */
export function followLog(options: FollowOptions): Following {
  const { sessionId, logs, clock } = options;
  const { store } = logs;
  let follower: Follower | null = null;
  let state: State = initialState;
  let publishedSeq = options.after;
  /** Whether the session is known to have existed. If it no longer exists, it was deleted. */
  let hasExisted = options.after > 0;
  let isStopped = false;
  let isPolling = false;
  let pendingPoll: "poll" | "take over" | null = null;
  let cancel = () => {};

  /** Without new entries, this reads only one row: the transcript is loaded only if there are events to broadcast. */
  async function read(): Promise<void> {
    state = (await store.load(sessionId))?.state ?? initialState;
    if (state.session !== null) hasExisted = true;
    if (state.seq <= publishedSeq) return;
    let isStale = false;
    follower ??= await openFollower(store, sessionId, publishedSeq);
    for await (const entry of readEntries(store, sessionId, follower.state.seq)) {
      const events = await followEntry(follower, entry);
      if (isStopped) return;
      if (entry.seq > publishedSeq) options.onEvents(entry.seq, events);
      publishedSeq = Math.max(publishedSeq, entry.seq);
      // The content of earlier entries has changed.
      if (entry.event.type === "content_redacted") isStale = true;
    }
    if (follower.state.seq > state.seq) state = follower.state;
    if (isStale) follower = null;
  }

  /** The error if the session was deleted. Most polls find a log, which they have just read. */
  async function findDeletion(): Promise<PawlError | null> {
    if (state.seq < publishedSeq)
      return state.session === null ? createNoSessionError(sessionId) : createReplacedSessionError(sessionId);
    if (state.session !== null) return null;
    const isPosted = (await store.inbox(sessionId)).length > 0;
    if (isPosted) hasExisted = true;
    if (isPosted || (!hasExisted && options.isStarting())) return null;
    // A message may have been consumed in between.
    return (await store.load(sessionId)) === null ? createNoSessionError(sessionId) : null;
  }

  async function isDue(): Promise<boolean> {
    if (!isWaiting(state)) return true;
    const due = dueAt(state);
    return (due !== null && due <= clock.now()) || (await store.inbox(sessionId)).length > 0;
  }

  async function pollOnce(mayTakeOver: boolean): Promise<void> {
    await read();
    if (isStopped) return;
    const deletion = await findDeletion();
    if (deletion !== null && !isStopped) options.onDeleted(deletion);
    if (deletion !== null) return stop();
    if (isStopped || !options.mayTakeOver()) return;
    if (mayTakeOver && (await isDue()) && !isStopped && (await options.takeOver())) stop();
    if (!isStopped && options.mayTakeOver()) await options.onWaitedFor(state);
  }

  async function poll(takeOver: boolean): Promise<void> {
    if (isStopped) return;
    if (isPolling) {
      if (pendingPoll !== "take over") pendingPoll = takeOver ? "take over" : "poll";
      return;
    }
    isPolling = true;
    cancel();
    try {
      let mayTakeOver = takeOver;
      do {
        pendingPoll = null;
        await pollOnce(mayTakeOver);
        mayTakeOver = pendingPoll === "take over";
      } while (pendingPoll !== null && !isStopped);
      if (!isStopped && !options.isWanted()) stop();
      if (!options.mayTakeOver()) forgetTranscript();
      const ms = isStopped ? null : intervalMs();
      if (ms !== null) cancel = clock.after(ms, () => void poll(true));
    } catch (error) {
      stop(error);
    } finally {
      isPolling = false;
    }
  }

  /** Keeps the transcript only while the session is active. The state is needed only to take over. */
  function forgetTranscript(): void {
    if (isResting(state) || isWaiting(state)) follower = null;
    state = initialState;
  }

  /** A waiting session is due at a known time; if it is due earlier, the store sends a notification. Null: no timer. */
  function intervalMs(): number | null {
    if (!options.mayTakeOver()) return store.tellsAllChanges === true ? null : pollEveryMs.watching;
    if (!isWaiting(state)) return pollEveryMs.waiting;
    const due = dueAt(state);
    const untilDue = due === null ? pollEveryMs.watching : due - clock.now();
    return Math.min(pollEveryMs.watching, Math.max(pollEveryMs.waiting, untilDue));
  }

  function stop(error?: unknown): void {
    if (isStopped) return;
    isStopped = true;
    cancel();
    unwatch();
    options.onEnd(error);
  }

  const unwatch = watchLog(logs, sessionId, (change) => {
    const isParked = isWaiting(state);
    if (change.in !== "inbox" || isParked) void poll(isParked);
  });
  return {
    poll({ takeOver = false, afterMs } = {}) {
      if (afterMs === undefined || isPolling) return void poll(takeOver);
      cancel();
      cancel = clock.after(afterMs, () => void poll(takeOver));
    },
    stop: () => stop(),
  };
}
