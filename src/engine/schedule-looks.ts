/**
 * Polling for due schedules: each look fires what is due.
 */
import { PawlError } from "../errors.js";
import type { Clock } from "../ports/clock.js";
import type { ScheduleStore } from "../ports/schedule-store.js";
import type { Store } from "../ports/store.js";
import { pauseAfterFailuresMs } from "./retries.js";
import { fireDue } from "./schedules/fire-due.js";
import { refreshSlots } from "./schedules/refresh-slots.js";
import type { WorkerReport } from "./worker-options.js";

export type ScheduleLooks = {
  /**
   * Fires what is due. The first call also recomputes the next slots, because time zone rules may have changed since they were stored.
   * Returns whether a run was posted. Rejects if the store fails.
   */
  readonly fire: () => Promise<boolean>;
  /** Fires if the last look was `pollMs` ago, or something has become due since. */
  readonly fireIfDue: () => Promise<void>;
  /** `fireIfDue` for a worker that keeps running: if the store fails, returns the failure, and the next look comes after `retryInMs`. */
  readonly look: () => Promise<LookFailure | null>;
  /** Milliseconds until the next look is needed. */
  readonly msToNext: () => number;
};

export type LookFailure = { readonly error: unknown; readonly retryInMs: number };

type LookOptions = {
  readonly store: Store;
  readonly clock: Clock;
  readonly pollMs: number;
  readonly onReport: (report: WorkerReport) => void;
  readonly isStopped: () => boolean;
};

export function createScheduleLooks(options: LookOptions): ScheduleLooks {
  const { schedules } = options.store;
  return schedules === undefined ? noLooks(options) : createLooks(options, schedules);
}

/** For a store without schedules. */
function noLooks({ pollMs }: LookOptions): ScheduleLooks {
  return { fire: async () => false, fireIfDue: async () => {}, look: async () => null, msToNext: () => pollMs };
}

function createLooks(
  { store, clock, pollMs, onReport, isStopped }: LookOptions,
  schedules: ScheduleStore,
): ScheduleLooks {
  const reads = {
    load: (sessionId: string) => store.load(sessionId),
    inbox: (sessionId: string) => store.inbox(sessionId),
    schedules,
  };
  /** Rows that failed, and when they are retried, on the scale of the clock's `elapsed`. */
  const failures = new Map<string, { readonly times: number; readonly until: number }>();
  let isRefreshed = false;
  /** How many looks in a row have failed. */
  let failedLooks = 0;
  /** When the next look is due, on the scale of the clock's `elapsed`. */
  let nextLookAt = Number.NEGATIVE_INFINITY;

  async function fire(): Promise<boolean> {
    const now = clock.now();
    if (!isRefreshed) await refreshSlots(schedules, now);
    isRefreshed = true;
    const posted = await fireDue(reads, now, {
      onFired: (run) => onReport({ type: "fired", ...run }),
      onFailed(scheduleId, error) {
        const times = (failures.get(scheduleId)?.times ?? 0) + 1;
        const retryInMs = pauseAfterFailuresMs(times);
        failures.set(scheduleId, { times, until: clock.elapsed() + retryInMs });
        onReport({ type: "schedule_failed", scheduleId, error, retryInMs });
      },
      onSettled: (id) => void failures.delete(id),
      isSkipped: (id) => clock.elapsed() < (failures.get(id)?.until ?? Number.NEGATIVE_INFINITY),
      countSkipped: () => [...failures.values()].filter(({ until }) => clock.elapsed() < until).length,
      onAllRead(dueIds) {
        for (const id of failures.keys()) if (!dueIds.has(id)) failures.delete(id);
      },
      isStopped,
    });
    const nextDueAt = await schedules.nextDueAt(now);
    nextLookAt = clock.elapsed() + Math.min(pollMs, (nextDueAt ?? Number.POSITIVE_INFINITY) - now);
    return posted > 0;
  }

  return {
    fire,
    async fireIfDue() {
      if (clock.elapsed() >= nextLookAt) await fire();
    },
    async look() {
      if (clock.elapsed() < nextLookAt) return null;
      try {
        await fire();
        failedLooks = 0;
        return null;
      } catch (error) {
        if (error instanceof PawlError && error.code === "store_closed") throw error;
        failedLooks += 1;
        const retryInMs = pauseAfterFailuresMs(failedLooks);
        nextLookAt = clock.elapsed() + retryInMs;
        return { error, retryInMs };
      }
    },
    msToNext: () => Math.min(pollMs, Math.max(0, nextLookAt - clock.elapsed())),
  };
}
