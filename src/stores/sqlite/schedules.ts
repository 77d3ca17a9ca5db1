/**
 * Schedules in SQLite.
 */
import { maxDelayedOfSession, maxSchedules, maxSlotRows, type ScheduleStore } from "../../ports/schedule-store.js";
import { checksumOf } from "../shared/checksum.js";
import { encodeMessage } from "../shared/encode.js";
import { encodeNotice } from "../shared/notice-rows.js";
import { decodeSchedule, decodeSlot, type ScheduleColumns } from "../shared/schedule-rows.js";
import { type ByteColumns, decodeColumn, decodeNullableColumn } from "./driver.js";
import type { Database } from "./schema.js";
import { post } from "./sessions.js";
import type { SqliteAccess } from "./signal-store.js";

type Row = ByteColumns<ScheduleColumns>;

/** SQLite accepts -1 for no limit, but not infinity. */
const toSqlLimit = (limit: number): number => Math.min(limit, Number.MAX_SAFE_INTEGER);

export function createScheduleStore(db: Database, { read, write, notify }: SqliteAccess): ScheduleStore {
  const { statements, file } = db;
  const decode = (row: Row) =>
    decodeSchedule(
      {
        ...row,
        id: decodeColumn(row.id),
        session: decodeNullableColumn(row.session),
        last: decodeNullableColumn(row.last),
        body: decodeColumn(row.body),
      },
      file,
    );
  const find = (id: string) => (statements.schedule.get(id) as Row | undefined) ?? null;
  const rows = (found: readonly unknown[]) => (found as readonly Row[]).map(decode);
  return {
    put: ({ id, rev, slot, dueAt, body, sessionId = null }, seen) => {
      const text = JSON.stringify(body);
      return write(() => {
        const stored = find(id);
        const hasMoved = stored !== null && seen !== undefined && stored.slot !== seen.slot;
        if (rev !== (stored?.rev ?? 0) + 1 || hasMoved) return { type: "conflict", rev: stored?.rev ?? 0 } as const;
        const max = sessionId === null ? maxSchedules : maxDelayedOfSession;
        const { count } = statements.countSchedules.get(sessionId, max) as { readonly count: number };
        if (stored === null && count >= max) return { type: "full" } as const;
        statements.putSchedule.run(id, rev, slot, dueAt, sessionId, text, checksumOf(text));
        return { type: "ok" } as const;
      }, text.length);
    },
    get: (id) =>
      read(() => {
        const row = find(id);
        return row === null ? null : decode(row);
      }),
    list: ({ sessionId = null, isDelayed = false, after = "", limit }) =>
      read(() =>
        rows(
          isDelayed
            ? statements.delayedList.all(after, toSqlLimit(limit))
            : statements.scheduleList.all(sessionId, after, toSqlLimit(limit)),
        ),
      ),
    remove: (id) =>
      write(() => {
        if (statements.schedule.get(id) === undefined) return false;
        statements.dropSchedule.run(id);
        statements.dropSlots.run(id);
        return true;
      }),
    due: (now, limit) => read(() => rows(statements.dueSchedules.all(now, toSqlLimit(limit)))),
    nextDueAt: (now) =>
      read(() => (statements.nextDueSchedule.get(now) as { readonly dueAt: number } | undefined)?.dueAt ?? null),
    async fire({ id, rev, slot, next, outcomes, posts, last, notices = [], remove = false }) {
      const messages = posts.map(({ sessionId, message }) => ({
        sessionId,
        message: { id: message.id, at: message.at, body: encodeMessage(message) },
      }));
      const encodedNotices = notices.map(({ id, at, notice }) => ({ id, at, ...encodeNotice({ notice }) }));
      const isFired = await write(
        () => {
          const stored = find(id);
          if (stored === null || stored.rev !== rev || stored.slot !== slot) return false;
          if (remove) statements.dropSchedule.run(id);
          else {
            const lastText = last === undefined ? decodeNullableColumn(stored.last) : JSON.stringify(last);
            statements.moveSchedule.run(next?.slot ?? null, next?.dueAt ?? null, lastText, id);
            for (const outcome of outcomes) statements.addSlot.run(id, JSON.stringify(outcome));
            statements.trimSlots.run(id, id, maxSlotRows);
          }
          for (const { sessionId, message } of messages) post(db, sessionId, message);
          for (const { id, at, text, sum } of encodedNotices) statements.addNotice.run(id, null, at, text, sum);
          return true;
        },
        messages.reduce((sum, { message }) => sum + message.body.length, 0),
      );
      if (isFired) for (const { sessionId } of messages) notify(sessionId);
      return isFired;
    },
    slots: (id, limit) =>
      read(() =>
        (statements.slots.all(id, toSqlLimit(limit)) as readonly ByteColumns<{ readonly body: string }>[]).map(
          ({ body }) => decodeSlot(decodeColumn(body), file, id),
        ),
      ),
  };
}
