/**
 * Computes the next slots of schedules again.
 *
 * The next slot is stored. If the rules of its time zone have changed since, for example with an update of Node, it is off by an hour. A
 * worker that starts corrects it, unless it is due within a minute: another worker may be firing it with the older rules.
 */

import type { ScheduleRow, ScheduleStore } from "../../ports/schedule-store.js";
import { afterTurn } from "../../runtime/lib/event-loop.js";
import { isFaultOfRow } from "./fire-due.js";
import type { ScheduleBody } from "./schedule.js";
import { createSlotClock, findNextSlot, loadCron, toDueTime } from "./slots.js";

const soonMs = 60_000;
const rowsPerPage = 100;

export async function refreshSlots(schedules: ScheduleStore, now: number): Promise<void> {
  for (let after = ""; ; ) {
    const rows = await schedules.list({ after, limit: rowsPerPage });
    for (const row of rows) {
      const { id, rev, body } = row;
      const slot = await findOtherSlot(schedules, row, now);
      if (slot === undefined) continue;
      const dueAt = slot === null ? null : toDueTime(id, body as unknown as ScheduleBody, slot);
      // If the schedule was edited meanwhile, its slot follows from today's rules already, and this `put` is a conflict.
      await schedules.put({ id, rev: rev + 1, body, slot, dueAt });
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsPerPage) return;
    after = last.id;
    await new Promise<void>(afterTurn);
  }
}

/** The next slot by today's rules; undefined if it is the stored one. */
async function findOtherSlot(
  schedules: ScheduleStore,
  row: ScheduleRow,
  now: number,
): Promise<number | null | undefined> {
  const { id, slot, dueAt } = row;
  const body = row.body as unknown as ScheduleBody;
  if (slot === null || dueAt === null || dueAt <= now + soonMs || !("cron" in body.when)) return undefined;
  try {
    if (createSlotClock(await loadCron(), body).after(now) === slot) return undefined;
    const expected = await findNextSlot(schedules, id, body, now);
    return expected === slot ? undefined : expected;
  } catch (error) {
    // Firing reports it.
    if (isFaultOfRow(error)) return undefined;
    throw error;
  }
}
