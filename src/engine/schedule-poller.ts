/**
 * Polls for due schedules, and fires them.
 */
import { PawlError } from "../errors.js";
import type { Clock } from "../ports/clock.js";
import type { ScheduleStore } from "../ports/schedule-store.js";
import type { Store } from "../ports/store.js";
import { pauseAfterFailuresMs } from "./retries.js";
import { fireDue } from "./schedules/fire-due.js";
import { refreshSlots } from "./schedules/refresh-slots.js";
import type { WorkerReport } from "./worker-options.js";

export type SchedulePoller = {
  /**
   * Fires what is due. The first call also recomputes the next slots, because time zone rules may have changed since they were stored.
   * Returns whether a run was posted. Rejects if the store fails.
   */
  readonly fire: () => Promise<boolean>;
  /** Fires if the last poll was `pollMs` ago, or something has become due since. */
  readonly fireIfDue: () => Promise<void>;
  /** `fireIfDue` for a worker that keeps running: if the store fails, returns the failure, and the next poll comes after `retryInMs`. */
  readonly poll: () => Promise<PollFailure | null>;
  /** Milliseconds until the next poll is due. */
  readonly msToNext: () => number;
};

export type PollFailure = { readonly error: unknown; readonly retryInMs: number };

type PollerOptions = {
  readonly store: Store;
  readonly clock: Clock;
  readonly pollMs: number;
  readonly onReport: (report: WorkerReport) => void;
  readonly isStopped: () => boolean;
};

export function createSchedulePoller(options: PollerOptions): SchedulePoller {
  const { schedules } = options.store;
  return schedules === undefined ? createIdlePoller(options) : createPoller(options, schedules);
}

/** For a store without schedules. */
function createIdlePoller({ pollMs }: PollerOptions): SchedulePoller {
  return { fire: async () => false, fireIfDue: async () => {}, poll: async () => null, msToNext: () => pollMs };
}

function createPoller(
  { store, clock, pollMs, onReport, isStopped }: PollerOptions,
  schedules: ScheduleStore,
): SchedulePoller {
  const reads = {
    load: (sessionId: string) => store.load(sessionId),
    inbox: (sessionId: string) => store.inbox(sessionId),
    schedules,
  };
  /** Rows that failed, and when they are retried, on the scale of the clock's `elapsed`. */
  const failures = new Map<string, { readonly times: number; readonly until: number }>();
  let isRefreshed = false;
  /** How many polls in a row have failed. */
  let failedPolls = 0;
  /** When the next poll is due, on the scale of the clock's `elapsed`. */
  let nextPollAt = Number.NEGATIVE_INFINITY;

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
    nextPollAt = clock.elapsed() + Math.min(pollMs, (nextDueAt ?? Number.POSITIVE_INFINITY) - now);
    return posted > 0;
  }

  return {
    fire,
    async fireIfDue() {
      if (clock.elapsed() >= nextPollAt) await fire();
    },
    async poll() {
      if (clock.elapsed() < nextPollAt) return null;
      try {
        await fire();
        failedPolls = 0;
        return null;
      } catch (error) {
        if (error instanceof PawlError && error.code === "store_closed") throw error;
        failedPolls += 1;
        const retryInMs = pauseAfterFailuresMs(failedPolls);
        nextPollAt = clock.elapsed() + retryInMs;
        return { error, retryInMs };
      }
    },
    msToNext: () => Math.min(pollMs, Math.max(0, nextPollAt - clock.elapsed())),
  };
}
