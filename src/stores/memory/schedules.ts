/**
 * Schedules in memory.
 */
import { deepFreeze } from "../../core/data/freeze.js";
import type { InboxMessage } from "../../core/machine/inbox.js";
import {
  maxDelayedOfSession,
  maxSchedules,
  maxSlotRows,
  type ScheduleRow,
  type ScheduleStore,
  type SlotFiring,
  type SlotRow,
} from "../../ports/schedule-store.js";

type Stored = { row: ScheduleRow; slots: readonly SlotRow[] };

export type MemorySchedules = Map<string, Stored>;

type MemoryAccess = {
  /** @throws PawlError `store_closed` */
  readonly assertOpen: () => void;
  readonly post: (sessionId: string, message: InboxMessage) => void;
  readonly addNotice: (notice: NonNullable<SlotFiring["notices"]>[number]) => void;
};

export function createScheduleStore(
  schedules: MemorySchedules,
  { assertOpen, post, addNotice }: MemoryAccess,
): ScheduleStore {
  const sorted = (matches: (row: ScheduleRow) => boolean, compare = byId): readonly ScheduleRow[] => {
    assertOpen();
    return [...schedules.values()]
      .map(({ row }) => row)
      .filter(matches)
      .sort(compare);
  };
  return {
    async put(row, seen) {
      assertOpen();
      const stored = schedules.get(row.id);
      const rev = stored?.row.rev ?? 0;
      const hasMoved = stored !== undefined && seen !== undefined && stored.row.slot !== seen.slot;
      if (row.rev !== rev + 1 || hasMoved) return { type: "conflict", rev };
      if (stored === undefined) {
        const max = row.sessionId === undefined ? maxSchedules : maxDelayedOfSession;
        if (sorted(({ sessionId }) => sessionId === row.sessionId).length >= max) return { type: "full" };
      }
      const last = stored?.row.last;
      schedules.set(row.id, {
        row: deepFreeze(structuredClone({ ...row, ...(last === undefined ? {} : { last }) })),
        slots: stored?.slots ?? [],
      });
      return { type: "ok" };
    },
    async get(id) {
      assertOpen();
      return schedules.get(id)?.row ?? null;
    },
    list: async ({ sessionId, isDelayed = false, after = "", limit }) => {
      const isListed = (row: ScheduleRow) => (isDelayed ? row.sessionId !== undefined : row.sessionId === sessionId);
      return deepFreeze(sorted((row) => isListed(row) && row.id > after).slice(0, limit));
    },
    async remove(id) {
      assertOpen();
      return schedules.delete(id);
    },
    due: async (now, limit) =>
      deepFreeze(sorted(({ dueAt }) => dueAt !== null && dueAt <= now, byDueTime).slice(0, limit)),
    async nextDueAt(now) {
      const [next] = sorted(({ dueAt }) => dueAt !== null && dueAt > now, byDueTime);
      return next?.dueAt ?? null;
    },
    async fire({ id, rev, slot, next, outcomes, posts, last, notices = [], remove }) {
      assertOpen();
      const stored = schedules.get(id);
      if (stored === undefined || stored.row.rev !== rev || stored.row.slot !== slot) return false;
      if (remove === true) schedules.delete(id);
      const { row } = stored;
      stored.row = deepFreeze({
        ...row,
        slot: next?.slot ?? null,
        dueAt: next?.dueAt ?? null,
        ...(last === undefined ? {} : { last: { ...last } }),
      });
      stored.slots = [...outcomes.toReversed(), ...stored.slots].slice(0, maxSlotRows);
      for (const { sessionId, message } of posts) post(sessionId, message);
      for (const notice of notices) addNotice(notice);
      return true;
    },
    async slots(id, limit) {
      assertOpen();
      return deepFreeze((schedules.get(id)?.slots ?? []).slice(0, limit));
    },
  };
}

/** Deletes the delayed messages of a session. Returns whether there were any. */
export function deleteDelayed(schedules: MemorySchedules, sessionId: string): boolean {
  const ids = [...schedules.values()].flatMap(({ row }) => (row.sessionId === sessionId ? [row.id] : []));
  for (const id of ids) schedules.delete(id);
  return ids.length > 0;
}

function byId(a: ScheduleRow, b: ScheduleRow): number {
  return a.id < b.id ? -1 : 1;
}

function byDueTime(a: ScheduleRow, b: ScheduleRow): number {
  return (a.dueAt ?? 0) - (b.dueAt ?? 0) || byId(a, b);
}
