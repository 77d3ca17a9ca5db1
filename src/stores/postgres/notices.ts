/**
 * Notices in PostgreSQL.
 */
import type { NoticeStore } from "../../ports/notice-store.js";
import { checksumOf } from "../shared/checksum.js";
import { decodeDestination, decodeNotice, encodeNotice, type NoticeColumns } from "../shared/notice-rows.js";
import type { SignalAccess } from "./signals.js";
import type { Database } from "./statements.js";

export function createNoticeStore(db: Database, { run }: Pick<SignalAccess, "run">): NoticeStore {
  const { statements, storeName } = db;
  const query = async <Row>(text: string, values: readonly unknown[] = []) =>
    (await db.query(text, [...values])).rows as readonly Row[];
  const queryNotices = async (text: string, values: readonly unknown[]) =>
    (await query<NoticeColumns>(text, values)).map((row) => decodeNotice(row, storeName));
  return {
    addDestination: (id, body) =>
      run(async (isRetry) => {
        const text = JSON.stringify(body ?? {});
        const values = [id, text, checksumOf(text), body !== undefined];
        const [row] = await query<{ readonly isNew: boolean }>(statements.addDestination, values);
        return row?.isNew === true || isRetry;
      }),
    removeDestination: (id) =>
      run(async (isRetry) => (await query(statements.dropDestination, [id])).length > 0 || isRetry),
    destinations: () =>
      run(async () => {
        const rows = await query<Pick<NoticeColumns, "id" | "body" | "bodySum">>(statements.destinations);
        return rows.map((row) => decodeDestination(row, storeName));
      }),
    due: (destination, now, limit) => run(() => queryNotices(statements.dueNotices, [destination, now, limit])),
    dueForEach: (destinations, now, limit) =>
      run(() => queryNotices(statements.dueNoticesForEach, [[...destinations], now, limit])),
    list: ({ isDead = false, after = 0, limit }) =>
      run(() => queryNotices(statements.noticeList, [isDead, after, limit])),
    // If a reply was lost, the row looks changed. The caller then leaves it, and it becomes due again when its lease ends.
    replace({ number, dueAt, tries }, change) {
      const { text, sum } = encodeNotice(change);
      const values = [number, dueAt, tries, change.dueAt, change.tries, text, sum];
      return run(async () => (await query(statements.replaceNotice, values)).length > 0);
    },
    remove: (number) => run(async (isRetry) => (await query(statements.dropNotice, [number])).length > 0 || isRetry),
    drop: (before, except) =>
      run(async () => {
        const values = [before, JSON.stringify(except)];
        const [row] = await query<{ readonly count: number }>(statements.dropOldNotices, values);
        return row?.count ?? 0;
      }),
  };
}
