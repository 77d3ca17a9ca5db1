/**
 * The slots of a schedule: the times at which it runs, in epoch milliseconds.
 *
 * 1. The next slot depends only on the schedule and the previous slot. So setting the clock back repeats no slot.
 * 2. Times of day that daylight saving time skips or repeats follow Vixie cron, as in croner by default. A fixed time runs once: at the
 *    first of the two, or right after the gap. Steps, ranges and lists run at both, and not in the gap.
 */

import type { Cron } from "croner";
import { getErrorMessage } from "../../core/data/error-message.js";
import { PawlError } from "../../errors.js";
import { sha256 } from "../../platform/hash.js";
import { maxSlotRows, type ScheduleStore } from "../../ports/schedule-store.js";
import { tenYearsMs } from "../../runtime/lib/parse-time.js";
import type { ScheduleBody } from "./schedule.js";

/** Loads croner on first use, because most programs have no schedules. */
export async function loadCron(): Promise<typeof Cron> {
  return (await import("croner")).Cron;
}

export type SlotClock = {
  /** The first slot after this time; null if there is none. */
  readonly after: (time: number) => number | null;
  /** The newest slots up to this time, at most `count`, oldest first. */
  readonly latest: (time: number, count: number) => readonly number[];
};

const maxCachedCrons = 1_000;
const crons = new Map<string, Cron>();

function getCron(Cron: Awaited<ReturnType<typeof loadCron>>, pattern: string, timezone: string): Cron {
  const key = `${timezone} ${pattern}`;
  const cached = crons.get(key);
  if (cached !== undefined) return cached;
  const cron = new Cron(pattern, { timezone, mode: "5-or-6-parts", paused: true });
  if (crons.size >= maxCachedCrons) crons.clear();
  crons.set(key, cron);
  return cron;
}

/** @throws TypeError | RangeError if this version of croner or of Node does not know the cron expression or the time zone */
export function createSlotClock(Cron: Awaited<ReturnType<typeof loadCron>>, schedule: ScheduleBody): SlotClock {
  const { when, startAt = Number.NEGATIVE_INFINITY, endAt = Number.POSITIVE_INFINITY } = schedule;
  const bounded = (slot: number | null): number | null => (slot === null || slot > endAt ? null : slot);
  if ("at" in when) {
    const isIn = when.at >= startAt && when.at <= endAt;
    return {
      after: (time) => (isIn && when.at > time ? when.at : null),
      latest: (time, count) => (isIn && when.at <= time && count > 0 ? [when.at] : []),
    };
  }
  if ("everyMs" in when) {
    const { everyMs, from } = when;
    // Slots are numbered from 0.
    const numberAt = (time: number) => Math.floor((time - from) / everyMs);
    return {
      after(time) {
        const number = Math.max(0, numberAt(Math.max(time, startAt - 1)) + 1);
        return bounded(from + number * everyMs);
      },
      latest(time, count) {
        const last = numberAt(Math.min(time, endAt));
        const first = Math.max(0, Math.ceil((startAt - from) / everyMs), last - count + 1);
        return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => from + (first + index) * everyMs);
      },
    };
  }
  const cron = getCron(Cron, when.cron, schedule.timezone);
  return {
    after: (time) => bounded(cron.nextRun(new Date(Math.max(time, startAt - 1)))?.getTime() ?? null),
    latest: (time, count) =>
      cron
        .previousRuns(count, new Date(Math.min(time, endAt) + 1))
        .map((slot) => slot.getTime())
        .filter((slot) => slot >= startAt)
        .reverse(),
  };
}

/** Checks a cron expression. @throws PawlError `bad_schedule` */
export function checkCron(
  Cron: Awaited<ReturnType<typeof loadCron>>,
  pattern: string,
  timezone: string,
  now: number,
): void {
  // croner would also accept a date, and names such as @daily.
  if (!/^\s*\S+(?:\s+\S+){4,5}\s*$/.test(pattern))
    throw new PawlError(
      "bad_schedule",
      `Invalid cron expression ${JSON.stringify(pattern)}: it must have five fields, or six with seconds first. For a single time, use \`at\`.`,
    );
  let next: Date | null;
  try {
    next = getCron(Cron, pattern, timezone).nextRun(new Date(now));
  } catch (error) {
    crons.delete(`${timezone} ${pattern}`);
    const message = getErrorMessage(error).replace(/^Cron\w+: /, "");
    throw new PawlError("bad_schedule", `Invalid cron expression ${JSON.stringify(pattern)}: ${message}`);
  }
  if (next === null || next.getTime() > now + tenYearsMs)
    throw new PawlError(
      "bad_schedule",
      `The cron expression ${JSON.stringify(pattern)} matches no time within the next ten years.`,
    );
}

/**
 * The first slot from now on that was not fired or counted yet. The slot of a one-time schedule may be in the past; it then runs at once.
 * @returns null if there is none
 */
export async function findNextSlot(
  schedules: Pick<ScheduleStore, "slots">,
  id: string,
  body: ScheduleBody,
  now: number,
): Promise<number | null> {
  const lastSlot = await findLastSlot(schedules, id);
  if ("at" in body.when) return createSlotClock(await loadCron(), body).after(lastSlot);
  return createSlotClock(await loadCron(), body).after(Math.max(now, lastSlot));
}

/** Skips manual runs, which are not slots: the clock of the process that posted them may have been ahead. */
async function findLastSlot(schedules: Pick<ScheduleStore, "slots">, id: string): Promise<number> {
  for (const limit of [10, maxSlotRows]) {
    const last = (await schedules.slots(id, limit)).find(({ outcome }) => outcome !== "manual");
    if (last !== undefined) return last.slot;
  }
  return Number.NEGATIVE_INFINITY;
}

/** When a slot is fired. Its delay is a hash of id and slot, below `jitterMs`, so that all processes compute the same time. */
export function toDueTime(id: string, { jitterMs = 0 }: Pick<ScheduleBody, "jitterMs">, slot: number): number {
  if (jitterMs < 1) return slot;
  const hash = Number.parseInt(sha256(`${id}\n${slot}`).slice(0, 8), 16);
  return slot + (hash % Math.floor(jitterMs));
}
