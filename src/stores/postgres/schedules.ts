/**
 * Schedules in PostgreSQL. See the rules in schedule-functions.ts.
 */
import type { PutResult, ScheduleRow, ScheduleStore } from "../../ports/schedule-store.js";
import { checksumOf } from "../shared/checksum.js";
import { encodeMessage } from "../shared/encode.js";
import { encodeNotice } from "../shared/notice-rows.js";
import { decodeSchedule, decodeSlot, type ScheduleColumns } from "../shared/schedule-rows.js";
import type { SignalAccess } from "./signals.js";
import type { Database } from "./statements.js";

export function createScheduleStore(db: Database, { run, notify }: SignalAccess): ScheduleStore {
  const { statements, storeName: file } = db;
  const query = async <Row>(text: string, values: readonly unknown[]) =>
    (await db.query(text, [...values])).rows as readonly Row[];
  const rows = async (text: string, values: readonly unknown[]): Promise<readonly ScheduleRow[]> =>
    (await query<ScheduleColumns>(text, values)).map((row) => decodeSchedule(row, file));
  const toSqlLimit = (limit: number) => Math.min(limit, Number.MAX_SAFE_INTEGER);
  return {
    put: ({ id, rev, slot, dueAt, body, sessionId = null }, seen) =>
      run(async (isRetry): Promise<PutResult> => {
        const text = JSON.stringify(body);
        const values = [
          id,
          rev,
          slot,
          dueAt,
          sessionId,
          text,
          checksumOf(text),
          seen !== undefined,
          seen?.slot ?? null,
        ];
        const [row] = await query<{ readonly outcome: "ok" | "conflict" | "full"; readonly present: number }>(
          statements.putSchedule,
          values,
        );
        if (row === undefined || row.outcome === "ok") return { type: "ok" };
        if (row.outcome === "full") return { type: "full" };
        // If a reply was lost, the existing row may be this one.
        const stored = isRetry && row.present === rev ? (await rows(statements.schedule, [id]))[0] : undefined;
        if (stored !== undefined && JSON.stringify(stored.body) === text) return { type: "ok" };
        return { type: "conflict", rev: row.present };
      }),
    get: (id) => run(async () => (await rows(statements.schedule, [id]))[0] ?? null),
    list: ({ sessionId = null, isDelayed = false, after = "", limit }) =>
      run(() =>
        isDelayed
          ? rows(statements.delayedList, [after, toSqlLimit(limit)])
          : rows(statements.scheduleList, [sessionId, after, toSqlLimit(limit)]),
      ),
    remove: (id) => run(async (isRetry) => (await query(statements.dropSchedule, [id])).length > 0 || isRetry),
    due: (now, limit) => run(() => rows(statements.dueSchedules, [now, toSqlLimit(limit)])),
    nextDueAt: (now) =>
      run(async () => (await query<{ readonly dueAt: number }>(statements.nextDueSchedule, [now]))[0]?.dueAt ?? null),
    latestSlot: () =>
      run(async () => (await query<{ readonly latest: number }>(statements.latestSlot, []))[0]?.latest ?? 0),
    async fire({ id, rev, slot, next, outcomes, posts, last, notices = [], remove = false }) {
      const bodies = posts.map(({ message }) => encodeMessage(message));
      const values = [
        id,
        rev,
        slot,
        next?.slot ?? null,
        next?.dueAt ?? null,
        last === undefined ? null : JSON.stringify(last),
        remove,
        outcomes.map((outcome) => JSON.stringify(outcome)),
        posts.map(({ sessionId }) => sessionId),
        posts.map(({ message }) => message.id),
        posts.map(({ message }) => message.at),
        bodies,
        bodies.map((body) => checksumOf(body)),
      ];
      const encodedNotices = notices.map(({ id, at, notice }) => {
        const { text, sum } = encodeNotice({ notice });
        return { id, at, body: text, sum };
      });
      const isFired = await run(async () => {
        type Fired = { readonly fired: boolean };
        const [row] =
          encodedNotices.length === 0
            ? await query<Fired>(statements.fire, values)
            : await query<Fired>(statements.fireWithNotices, [...values, JSON.stringify(encodedNotices)]);
        return row?.fired === true;
      });
      if (isFired) for (const { sessionId, message } of posts) notify({ sessionId, key: message.id });
      return isFired;
    },
    slots: (id, limit) =>
      run(async () =>
        (await query<{ readonly body: string }>(statements.slots, [id, toSqlLimit(limit)])).map(({ body }) =>
          decodeSlot(body, file, id),
        ),
      ),
  };
}
