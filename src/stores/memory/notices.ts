/**
 * Notices in memory.
 */
import { deepFreeze } from "../../core/data/freeze.js";
import type { Json } from "../../core/data/message.js";
import type { CommittedNotice, NoticeRow, NoticeStore } from "../../ports/notice-store.js";

export type MemoryNotices = {
  /** Their bodies, by id. */
  readonly destinations: Map<string, Json>;
  /** By number. */
  readonly rows: Map<number, NoticeRow>;
  lastNumber: number;
};

export function createMemoryNotices(): MemoryNotices {
  return { destinations: new Map(), rows: new Map(), lastNumber: 0 };
}

/** Writes the notices of a commit, or of a schedule. */
export function addNotices(
  notices: MemoryNotices,
  { sessionId, at }: Pick<NoticeRow, "sessionId" | "at">,
  added: readonly CommittedNotice[],
): void {
  const { destinations, rows } = notices;
  for (const { id, notice } of added)
    for (const destination of destinations.keys()) {
      notices.lastNumber += 1;
      const number = notices.lastNumber;
      const row = { number, destination, id, sessionId, at, dueAt: 0, tries: 0, notice };
      // The caller may change its own object later.
      rows.set(number, deepFreeze(structuredClone(row)));
    }
}

export function deleteNotices({ rows }: MemoryNotices, isDeleted: (row: NoticeRow) => boolean): number {
  const deleted = [...rows.values()].filter(isDeleted);
  for (const { number } of deleted) rows.delete(number);
  return deleted.length;
}

/** @param assertOpen throws PawlError `store_closed` */
export function createNoticeStore(notices: MemoryNotices, assertOpen: () => void): NoticeStore {
  const { destinations, rows } = notices;
  const listRows = (matches: (row: NoticeRow) => boolean): readonly NoticeRow[] => {
    assertOpen();
    return [...rows.values()].filter(matches);
  };
  const listDue = (ids: ReadonlySet<string>, now: number): readonly NoticeRow[] =>
    listRows((row) => ids.has(row.destination) && row.dueAt !== null && row.dueAt <= now).toSorted(
      (a, b) => (a.dueAt ?? 0) - (b.dueAt ?? 0) || a.number - b.number,
    );
  return {
    async addDestination(id, body) {
      assertOpen();
      const isNew = !destinations.has(id);
      if (isNew || body !== undefined) destinations.set(id, deepFreeze(structuredClone(body ?? {})));
      return isNew;
    },
    async removeDestination(id) {
      assertOpen();
      deleteNotices(notices, (row) => row.destination === id);
      return destinations.delete(id);
    },
    async destinations() {
      assertOpen();
      return deepFreeze(
        [...destinations].map(([id, body]) => ({ id, body })).toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      );
    },
    due: async (destination, now, limit) => deepFreeze(listDue(new Set([destination]), now).slice(0, limit)),
    async dueForEach(ids, now, limit) {
      const counts = new Map<string, number>();
      return deepFreeze(
        listDue(new Set(ids), now).filter(({ destination }) => {
          const count = (counts.get(destination) ?? 0) + 1;
          counts.set(destination, count);
          return count <= limit;
        }),
      );
    },
    list: async ({ isDead = false, after = 0, limit }) =>
      deepFreeze(listRows((row) => row.number > after && (!isDead || row.dueAt === null)).slice(0, limit)),
    async replace({ number, dueAt, tries }, change) {
      assertOpen();
      const stored = rows.get(number);
      if (stored === undefined || stored.dueAt !== dueAt || stored.tries !== tries) return false;
      const { error: _, ...row } = stored;
      rows.set(number, deepFreeze(structuredClone({ ...row, ...change })));
      return true;
    },
    async remove(number) {
      assertOpen();
      return rows.delete(number);
    },
    async drop(before, except) {
      assertOpen();
      const isDroppable = ({ dueAt, destination }: NoticeRow) =>
        dueAt === null || (dueAt < before && !except.includes(destination));
      return deleteNotices(notices, (row) => row.at < before && isDroppable(row));
    },
  };
}
