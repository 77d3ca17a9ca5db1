/**
 * Notices in SQLite.
 */
import type { NoticeStore } from "../../ports/notice-store.js";
import { checksumOf } from "../shared/checksum.js";
import { decodeDestination, decodeNotice, encodeNotice, type NoticeColumns } from "../shared/notice-rows.js";
import { type ByteColumns, decodeColumn, decodeNullableColumn } from "./driver.js";
import type { Database } from "./schema.js";
import type { SqliteAccess } from "./signal-store.js";

type Row = ByteColumns<NoticeColumns>;
type DestinationColumns = ByteColumns<Pick<NoticeColumns, "id" | "body" | "bodySum">>;

export function createNoticeStore(
  { statements, file }: Database,
  { read, write }: Pick<SqliteAccess, "read" | "write">,
): NoticeStore {
  const decode = (row: Row) =>
    decodeNotice(
      {
        ...row,
        endpoint: decodeColumn(row.endpoint),
        id: decodeColumn(row.id),
        session: decodeNullableColumn(row.session),
        body: decodeColumn(row.body),
      },
      file,
    );
  const decodeAll = (rows: readonly unknown[]) => (rows as readonly Row[]).map(decode);
  return {
    addDestination(id, body) {
      const text = JSON.stringify(body ?? {});
      return write(() => {
        const isNew = statements.hasDestination.get(id) === undefined;
        if (isNew || body !== undefined) statements.putDestination.run(id, text, checksumOf(text));
        return isNew;
      }, text.length);
    },
    removeDestination: (id) =>
      write(() => {
        if (statements.hasDestination.get(id) === undefined) return false;
        statements.dropDestination.run(id);
        statements.dropNoticesOfDestination.run(id);
        return true;
      }),
    destinations: () =>
      read(() =>
        (statements.destinations.all() as readonly DestinationColumns[]).map(({ id, body, bodySum }) =>
          decodeDestination({ id: decodeColumn(id), body: decodeColumn(body), bodySum }, file),
        ),
      ),
    due: (destination, now, limit) => read(() => decodeAll(statements.dueNotices.all(destination, now, limit))),
    dueForEach: (destinations, now, limit) =>
      read(() => decodeAll(statements.dueNoticesForEach.all(JSON.stringify(destinations), now, limit))),
    list: ({ isDead = false, after = 0, limit }) =>
      read(() => decodeAll(statements.noticeList.all(isDead ? 1 : 0, after, limit))),
    replace: ({ number, dueAt, tries }, change) => {
      const { text, sum } = encodeNotice(change);
      return write(() => {
        const stored = statements.notice.get(number) as Row | undefined;
        if (stored === undefined || stored.dueAt !== dueAt || stored.tries !== tries) return false;
        statements.replaceNotice.run(change.dueAt, change.tries, text, sum, number);
        return true;
      }, text.length);
    },
    remove: (number) =>
      write(() => {
        if (statements.notice.get(number) === undefined) return false;
        statements.dropNotice.run(number);
        return true;
      }),
    drop: (before, except) =>
      write(() => {
        const old = statements.oldNotices.all(before, before, JSON.stringify(except)) as readonly {
          readonly number: number;
        }[];
        for (const { number } of old) statements.dropNotice.run(number);
        return old.length;
      }),
  };
}
