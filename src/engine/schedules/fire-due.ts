/**
 * Fires due schedules and delayed messages: posts their runs and moves each schedule to its next slot.
 *
 * 1. `fire` is a compare-and-set on the row: the first caller posts the slot's run and moves the schedule to its next slot, in one
 *    transaction. So each slot has exactly one run, with any number of processes, without a lease or a leader.
 * 2. The run of a slot has the id `ID@SLOT`. If a slot is fired again, for example after a backup was restored, it is the same run.
 * 3. However many slots were missed, at most 200 of a schedule are counted one by one, and the event loop gets a turn between schedules.
 * 4. Firing does not drive sessions. It makes them due.
 */
import { defined } from "../../core/data/defined.js";
import type { InboxBody, InboxMessage } from "../../core/machine/inbox.js";
import { isResting } from "../../core/machine/state.js";
import { PawlError } from "../../errors.js";
import {
  type DelayedBody,
  type PostedRun,
  requireBody,
  type ScheduleRow,
  type ScheduleStore,
  type SlotFiring,
  type SlotRow,
} from "../../ports/schedule-store.js";
import type { Store } from "../../ports/store.js";
import { createTitle } from "../../runtime/agent/run-input.js";
import { afterTurn } from "../../runtime/lib/event-loop.js";
import type { ScheduleBody } from "./schedule.js";
import { createSlotClock, loadCron, type SlotClock, toDueTime } from "./slots.js";

type FiringStore = Pick<Store, "load" | "inbox"> & { readonly schedules: ScheduleStore };

/** The maximum number of slots that `missed: "all"` runs at once. */
const maxCaughtUp = 100;
/** The maximum number of slots that are counted one by one. */
const maxCounted = 200;
/** How late a slot may be with `missed: "skip"`, in milliseconds. */
const lateAfterMs = 60_000;
const rowsPerLook = 256;

/** A run that was posted for a slot, or for a delayed message. */
export type FiredRun = PostedRun & { readonly scheduleId: string };

export type FireCallbacks = {
  readonly onFired: (run: FiredRun) => void;
  /** Called for a row that cannot be fired. The other rows are still fired, and `isSkipped` is asked about this one from then on. */
  readonly onFailed: (id: string, error: unknown) => void;
  /** Called after a row was fired, by this process or by another one that was first. */
  readonly onSettled: (id: string) => void;
  /** Whether a row that failed is left for later. */
  readonly isSkipped: (id: string) => boolean;
  /** How many rows are left for later. */
  readonly countSkipped: () => number;
  /** Called with all due rows, once all of them were read. A failed row that is not among them was changed or removed. */
  readonly onAllRead: (dueIds: ReadonlySet<string>) => void;
  /** Whether to stop before the next row. */
  readonly isStopped: () => boolean;
};

/** Fires all rows that are due. Returns the number of posted runs. Rejects if the store fails. */
export async function fireDue(store: FiringStore, now: number, callbacks: FireCallbacks): Promise<number> {
  let posted = 0;
  for (;;) {
    // Skipped rows sort first, because they have been due the longest. They must not fill the page.
    const limit = rowsPerLook + callbacks.countSkipped();
    const rows = await store.schedules.due(now, limit);
    const reached = rows.length === 0 ? now : await findReachedTime(store.schedules, now);
    let hasMoved = false;
    for (const row of rows) {
      if (callbacks.isStopped()) return posted;
      if (callbacks.isSkipped(row.id) || (row.dueAt ?? now) > reached) continue;
      try {
        const fire = await planFire(store, row, reached);
        if (await store.schedules.fire(fire)) {
          hasMoved = true;
          posted += fire.posts.length;
          for (const run of listRuns(row, fire)) callbacks.onFired(run);
        }
        callbacks.onSettled(row.id);
      } catch (error) {
        if (!isFaultOfRow(error)) throw error;
        callbacks.onFailed(row.id, error);
        hasMoved = true;
      }
      await new Promise<void>(afterTurn);
    }
    if (rows.length < limit) callbacks.onAllRead(new Set(rows.map(({ id }) => id)));
    // If nothing moved, another process fired these rows.
    if (rows.length < limit || !hasMoved) return posted;
  }
}

/**
 * The time up to which slots are fired: the caller's time, or that of a store that keeps time itself, whichever is earlier. Otherwise a
 * process whose clock is ahead would run later slots early, and count the slots before them as missed.
 */
export async function findReachedTime(schedules: ScheduleStore, now: number): Promise<number> {
  return Math.min(now, (await schedules.latestSlot?.()) ?? now);
}

/** The runs that were posted, in their order. */
function listRuns(row: ScheduleRow, { posts, outcomes }: SlotFiring): readonly FiredRun[] {
  if (row.sessionId !== undefined) {
    const { sessionId, slot } = row;
    return posts.map(({ message }) => ({
      scheduleId: row.id,
      slot: slot ?? message.at,
      sessionId,
      runId: toRunId(message),
    }));
  }
  return outcomes.flatMap(({ outcome, slot, sessionId, runId }) =>
    outcome === "posted" && sessionId !== undefined && runId !== undefined
      ? [{ scheduleId: row.id, slot, sessionId, runId }]
      : [],
  );
}

function toRunId({ id }: InboxMessage): string {
  return id.slice("run/".length);
}

/**
 * Whether the error concerns only this row. croner and `Intl` throw a TypeError or a RangeError for an expression of a newer version, or
 * for a time zone that this process does not know. The row, or the session of its last run, may also be damaged or of a newer format.
 */
export function isFaultOfRow(error: unknown): boolean {
  if (error instanceof PawlError) return error.code !== "store_failed" && error.code !== "store_closed";
  return error instanceof TypeError || error instanceof RangeError;
}

/** Computes the write that fires a due row. @param options `ignoresJitter`: slots are due at their exact time */
export async function planFire(
  store: FiringStore,
  row: ScheduleRow,
  now: number,
  { ignoresJitter = false }: { readonly ignoresJitter?: boolean } = {},
): Promise<SlotFiring> {
  const { id, rev, slot } = row;
  const seen = { id, rev, slot };
  if (row.sessionId !== undefined) {
    const { message } = requireBody(row) as unknown as DelayedBody;
    const posts = [{ sessionId: row.sessionId, message: { id: `run/${message.runId}`, at: now, body: message } }];
    return { ...seen, next: null, outcomes: [], posts, remove: true };
  }
  const schedule = requireBody(row) as unknown as ScheduleBody;
  checkVersion(id, schedule);
  const clock = createSlotClock(await loadCron(), schedule);
  const first = slot ?? now;
  const timed = ignoresJitter ? { ...schedule, jitterMs: 0 } : schedule;
  const { due, count, isMinimum, next } = findDueSlots(id, timed, clock, first, now);
  const chosen = chooseSlots(id, schedule, due, now);
  const missed = count - chosen.length;
  const outcomes: SlotRow[] = [];
  const notices: NonNullable<SlotFiring["notices"]>[number][] = [];
  if (missed > 0) {
    // If all of the newest slots run, the missed ones came before them.
    const lastMissed = due.findLast((one) => !chosen.includes(one)) ?? clock.latest((due[0] ?? now) - 1, 1)[0] ?? now;
    const outcome: SlotRow = { slot: lastMissed, outcome: "missed", at: now, ...toCountFields(missed, isMinimum) };
    outcomes.push(outcome);
    notices.push(createMissedNotice(id, schedule, outcome, first));
  }
  const posts: { sessionId: string; message: InboxMessage }[] = [];
  let last: PostedRun | undefined;
  let isBusy = schedule.overlap === "skip" && chosen.length > 0 && (await isUnderWay(store, row.last));
  for (const one of chosen) {
    if (isBusy) {
      outcomes.push({ slot: one, outcome: "overlap", at: now });
      continue;
    }
    const run = createRun(id, schedule, one, new Date(one).toISOString(), now);
    posts.push(run.post);
    last = run.posted;
    outcomes.push({ slot: one, outcome: "posted", at: now, sessionId: last.sessionId, runId: last.runId });
    isBusy = schedule.overlap === "skip";
  }
  return {
    ...seen,
    next: next === null ? null : { slot: next, dueAt: toDueTime(id, schedule, next) },
    outcomes,
    posts,
    ...(last === undefined ? {} : { last }),
    ...(notices.length === 0 ? {} : { notices }),
  };
}

/** Like notices of sessions, it contains nothing that a person wrote. @param firstSlot the oldest of the missed slots */
function createMissedNotice(
  scheduleId: string,
  { agent, principal }: ScheduleBody,
  { slot, at, count = 1, isMinimum }: SlotRow,
  firstSlot: number,
): NonNullable<SlotFiring["notices"]>[number] {
  const data = { scheduleId, agent, ...defined({ principal }), firstSlot, slot, count, ...defined({ isMinimum }) };
  const notice = { type: "schedule.missed", timestamp: new Date(at).toISOString(), data };
  return { id: `schedule:${scheduleId}/${slot}/schedule.missed`, at, notice };
}

/** Rejects schedules of a later version of Pawl, which this version might fire wrongly. */
function checkVersion(id: string, { v = bodyVersion }: { readonly v?: number }): void {
  if (v > bodyVersion)
    throw new PawlError(
      "newer_format",
      `The schedule "${id}" has version ${v}, but this version of Pawl supports schedules only up to version ${bodyVersion}. Update Pawl.`,
    );
}

/** The version of a body without `v`. */
const bodyVersion = 1;

function toCountFields(count: number, isMinimum: boolean): Pick<SlotRow, "count" | "isMinimum"> {
  return { ...(count === 1 ? {} : { count }), ...(isMinimum ? { isMinimum } : {}) };
}

type DueSlots = {
  /** The newest due slots, at most 100, oldest first. */
  readonly due: readonly number[];
  readonly count: number;
  /** Whether `count` is a lower bound. */
  readonly isMinimum: boolean;
  readonly next: number | null;
};

/** @param first the oldest due slot */
function findDueSlots(id: string, schedule: ScheduleBody, clock: SlotClock, first: number, now: number): DueSlots {
  const due = [first];
  let count = 1;
  for (let next = clock.after(first); ; next = clock.after(next)) {
    if (next === null || toDueTime(id, schedule, next) > now) return { due, count, isMinimum: false, next };
    if (count === maxCounted) {
      const { when } = schedule;
      const latest = clock.latest(now - schedule.jitterMs, maxCaughtUp);
      const last = latest.at(-1);
      // With a long jitter, the newest slots may not be due yet. The next poll handles the rest.
      if (last === undefined || last < next) return { due, count, isMinimum: false, next };
      const isExact = "everyMs" in when;
      const all = isExact ? Math.round((last - first) / when.everyMs) + 1 : count;
      return { due: latest, count: all, isMinimum: !isExact, next: clock.after(last) };
    }
    due.push(next);
    if (due.length > maxCaughtUp) due.shift();
    count += 1;
  }
}

function chooseSlots(id: string, schedule: ScheduleBody, due: readonly number[], now: number): readonly number[] {
  switch (schedule.missed) {
    case "all":
      // An older schedule may still be stored with overlap "skip": of several slots at once, only one runs.
      return schedule.overlap === "skip" ? due.slice(-1) : due;
    case "last":
      return due.slice(-1);
    case "skip":
      return due.slice(-1).filter((slot) => now - toDueTime(id, schedule, slot) <= lateAfterMs);
  }
}

/** Creates the run of a slot. @param name identifies the slot in the ids of the run and of its session */
export function createRun(
  id: string,
  { session, agent, input, principal, root, options }: ScheduleBody,
  slot: number,
  name: string,
  now: number,
): { readonly post: SlotFiring["posts"][number]; readonly posted: PostedRun } {
  const runId = `${id}@${name}`;
  const sessionId = session === "new" ? runId : session === "same" ? id : session.id;
  const title = createTitle(input);
  const body: InboxBody = {
    type: "input",
    mode: "queue",
    runId,
    input,
    session: { agent, ...defined({ principal, root }), ...(title === "" ? {} : { title }) },
    ...defined({ options }),
    by: `schedule:${id}`,
  };
  return { post: { sessionId, message: { id: `run/${runId}`, at: now, body } }, posted: { slot, sessionId, runId } };
}

/** Whether the last run has not ended yet, or has not even begun. */
export async function isUnderWay(store: Pick<Store, "load" | "inbox">, last: PostedRun | undefined): Promise<boolean> {
  if (last === undefined) return false;
  const { sessionId, runId } = last;
  // Read the inbox first, because a message leaves it in the commit that begins its run.
  if ((await store.inbox(sessionId)).some(({ id }) => id === `run/${runId}`)) return true;
  const state = (await store.load(sessionId))?.state;
  if (state === undefined) return false;
  if (state.queue.some((queued) => queued.kind === "run" && queued.runId === runId)) return true;
  return !isResting(state) && state.runId === runId;
}
