/**
 * A worker: fires the due schedules of a store, finds its due sessions, and drives them.
 *
 * A session is due if no process holds it and it has a message in its inbox, its driver died, or one of its waits is over.
 * Any number of workers can share a store. The store's claim decides which of them drives a session.
 */

import { checkOptions } from "../check-options.js";
import { PawlError } from "../errors.js";
import type { Clock } from "../ports/clock.js";
import type { Holder } from "../ports/store.js";
import { createCheckedClock } from "../runtime/agent/checked-clock.js";
import { createContention } from "./contention.js";
import { createNoticeDelivery } from "./notice-delivery.js";
import { pauseAfterFailuresMs } from "./retries.js";
import { createSchedulePoller } from "./schedule-poller.js";
import { createScoring } from "./scoring.js";
import { createSessionDrives } from "./session-drives.js";
import { checkGrace, type GraceOptions, type Worker, type WorkerOptions, workerOptionRules } from "./worker-options.js";

/** How many due sessions a worker requests for each session that it can drive. */
const overfetchFactor = 4;

/** How often a worker removes expired signals, and how many in one transaction. */
const dropEveryMs = 60_000;
const signalsPerDrop = 1_000;

/** How long a worker waits for its claims before it claims more, in milliseconds. Finding an agent may take long. */
const maxClaimMs = 100;

type WorkerDeps = {
  readonly clock: Clock;
  readonly isDead: (holder: Holder) => boolean;
  /** Returns a number from 0 up to 1. */
  readonly random: () => number;
};

export function buildWorker(options: WorkerOptions, { clock: defaultClock, isDead, random }: WorkerDeps): Worker {
  checkOptions("createWorker()", workerOptionRules, options);
  const clock = createCheckedClock(options.clock ?? defaultClock);
  const { store, concurrency = 16, pollMs = 1_000, onReport = () => {} } = options;
  const contention = createContention(clock, random);
  const drives = createSessionDrives(options, {
    clock,
    contention,
    isStopped: () => isStopped,
    isRunning: (id) => running.has(id),
  });
  const running = new Map<string, Promise<void>>();
  const schedulePoller = createSchedulePoller({ store, clock, pollMs, onReport, isStopped: () => isStopped });
  const scoring = createScoring(options, clock);
  const noticeDelivery = createNoticeDelivery(options, { clock, random });
  let isStopped = false;
  /** Whether the store has changed in a way that the last query for due sessions may have missed. */
  let isWoken = false;
  /** Whether the last query left due sessions unclaimed. */
  let hasLeftDue = false;
  let interruptWait = () => {};
  /** When expired signals are removed next, on the scale of the clock's `elapsed`. */
  let nextDropAt = Number.NEGATIVE_INFINITY;

  function wake(): void {
    isWoken = true;
    interruptWait();
  }

  /** Removes expired signals, at most once a minute: nothing depends on their removal. */
  async function dropOldSignals(): Promise<void> {
    if (store.signals === undefined || clock.elapsed() < nextDropAt) return;
    nextDropAt = clock.elapsed() + dropEveryMs;
    // The rest is removed in the next turns, so that claims do not wait for a backlog.
    if ((await store.signals.drop(clock.now(), signalsPerDrop)) === signalsPerDrop) nextDropAt = clock.elapsed();
  }

  /** Starts due sessions, up to the concurrency limit. Resolves to whether any session was due. */
  async function claimDue(): Promise<boolean> {
    isWoken = false;
    hasLeftDue = running.size >= concurrency;
    if (isStopped || hasLeftDue) return false;
    await contention.backOff();
    isWoken = false;
    if (isStopped) return false;
    // Over-fetch and start at a random offset, so that workers polling the same list do not collide.
    const limit = overfetchFactor * concurrency + running.size + drives.countBackedOff();
    const found = new Set(await store.due(clock.now(), limit, isDead));
    drives.forgetStalls((id) => !found.has(id) && !running.has(id));
    const due = [...found].filter((id) => !running.has(id) && !drives.isBackedOff(id));
    hasLeftDue = due.length < found.size;
    let begunCount = 0;
    const pendingClaims = new Set<Promise<void>>();
    const losses = contention.losses();
    for (const sessionId of rotateAtRandom(due, concurrency - running.size, random)) {
      if (pendingClaims.size >= contention.maxClaims()) await waitAtMost(maxClaimMs, Promise.race(pendingClaims));
      if (isStopped || running.size >= concurrency) break;
      if (running.has(sessionId)) continue;
      // Another worker is claiming from the same list. Query again for the rest of it.
      if (contention.losses() > losses) {
        isWoken = true;
        break;
      }
      const claimSettled = startDriving(sessionId).then(() => void pendingClaims.delete(claimSettled));
      pendingClaims.add(claimSettled);
      begunCount += 1;
    }
    if (begunCount < due.length) hasLeftDue = true;
    return due.length > 0;
  }

  /** Resolves when the claim has been won or lost. */
  function startDriving(sessionId: string): Promise<void> {
    return new Promise((resolve) => {
      const driving = drives.drive(sessionId, resolve).finally(() => {
        running.delete(sessionId);
        resolve();
        // Anything else that becomes due is reported by the store's `watch`.
        if (!drives.takeReleased(sessionId) || hasLeftDue) wake();
      });
      running.set(sessionId, driving);
    });
  }

  function waitAtMost(ms: number, promise: Promise<unknown>): Promise<void> {
    return new Promise((resolve) => {
      const cancel = clock.after(ms, resolve);
      void promise.then(cancel).then(resolve);
    });
  }

  async function runUntilIdle(): Promise<void> {
    drives.checkAgents();
    await noticeDelivery.register();
    // A session may be done before its claim is awaited, so only a query that finds nothing due ends the loop.
    await schedulePoller.fire();
    while ((await claimDue()) || running.size > 0 || (await schedulePoller.fire())) {
      if (running.size > 0) await Promise.race(running.values());
      await schedulePoller.fireIfDue();
    }
    await scoring.catchUp({ isForced: true });
    await noticeDelivery.catchUp({ isForced: true });
    await dropOldSignals();
  }

  async function run(): Promise<void> {
    drives.checkAgents();
    // A commit does not make a session due. A message, a time or the end of a process does.
    const unwatch = store.watch((change) => {
      if (change.in !== "log") wake();
    });
    let failures = 0;
    try {
      while (!isStopped) {
        try {
          await noticeDelivery.register();
          const failure = await schedulePoller.poll();
          // Sessions are driven even while schedules cannot be fired.
          await claimDue();
          if (failure !== null) onReport({ type: "store_failed", ...failure });
          void scoring.catchUp();
          void noticeDelivery.catchUp();
          await dropOldSignals();
          failures = 0;
          await waitForWake(schedulePoller.msToNext());
        } catch (error) {
          if (error instanceof PawlError && error.code === "store_closed") throw error;
          failures += 1;
          const retryInMs = pauseAfterFailuresMs(failures);
          onReport({ type: "store_failed", error, retryInMs });
          await waitForWake(retryInMs, { onlyOnStop: true });
        }
      }
    } finally {
      unwatch();
    }
  }

  /** @param onlyOnStop whether only `stop`, and no change in the store, ends the wait early */
  function waitForWake(ms: number, { onlyOnStop = false } = {}): Promise<void> {
    return new Promise((resolve) => {
      const cancel = clock.after(ms, resolve);
      interruptWait = () => {
        if (onlyOnStop && !isStopped) return;
        cancel();
        resolve();
      };
      if (isStopped || isWoken) interruptWait();
    });
  }

  async function stop(options: GraceOptions = {}): Promise<void> {
    checkGrace("stop()", options);
    const { graceMs = 5_000 } = options;
    isStopped = true;
    wake();
    const scoringEnd = scoring.stop(graceMs);
    await drives.shutdownAgents(graceMs);
    await Promise.all(running.values());
    await scoringEnd;
    await noticeDelivery.stop();
  }

  const status = () => Object.freeze({ running: running.size, refused: Object.freeze([...drives.refusedIds()]) });

  return { runUntilIdle, run, stop, status };
}

/** Rotates the list to a random start. If it is longer than the free slots, the start is chosen so that no slot wraps around. */
function rotateAtRandom(due: readonly string[], slots: number, random: () => number): readonly string[] {
  const startCount = due.length <= slots ? due.length : due.length - slots + 1;
  const start = Math.floor(random() * startCount);
  return [...due.slice(start), ...due.slice(0, start)];
}
