/**
 * Recomputes the next slots of schedules.
 *
 * The next slot is stored. If its time zone's rules have changed since, for example with an update of Node, the slot is off by an hour. A
 * starting worker corrects it, unless the slot is less than a minute away: another worker may be firing it with the older rules.
 */

import { requireBody, type ScheduleRow, type ScheduleStore } from "../../ports/schedule-store.js";
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
      try {
        await refreshSlot(schedules, row, now);
      } catch (error) {
        // Firing the row reports the error.
        if (!isFaultOfRow(error)) throw error;
      }
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsPerPage) return;
    after = last.id;
    await new Promise<void>(afterTurn);
  }
}

async function refreshSlot(schedules: ScheduleStore, row: ScheduleRow, now: number): Promise<void> {
  const { id, rev, slot, dueAt } = row;
  const body = requireBody(row) as unknown as ScheduleBody;
  // A reached slot is not recomputed, even if its jitter is not over.
  if (slot === null || dueAt === null || slot <= now + soonMs || !("cron" in body.when)) return;
  if (createSlotClock(await loadCron(), body).after(now) === slot) return;
  const next = await findNextSlot(schedules, id, body, now);
  if (next === slot) return;
  const nextDueAt = next === null ? null : toDueTime(id, body, next);
  // If the schedule was edited or fired meanwhile, its slot already follows the current rules, and this `put` is a conflict.
  await schedules.put({ id, rev: rev + 1, body: row.body, slot: next, dueAt: nextDueAt }, { slot });
}
