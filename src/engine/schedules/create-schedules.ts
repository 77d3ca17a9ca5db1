/**
 * The API for a store's schedules: put, list, pause and remove them.
 */
import {
  aBoolean,
  anObject,
  aStore,
  aString,
  checkOptions,
  integerFrom,
  numberFrom,
  type OptionTable,
  required,
} from "../../check-options.js";
import { defined } from "../../core/data/defined.js";
import { deepFreeze } from "../../core/data/freeze.js";
import { canonicalJson } from "../../core/data/json.js";
import type { Json } from "../../core/data/message.js";
import { PawlError } from "../../errors.js";
import type { Clock } from "../../ports/clock.js";
import {
  maxSchedules,
  type PostedRun,
  requireBody,
  type ScheduleRow,
  type SlotRow,
} from "../../ports/schedule-store.js";
import type { Store } from "../../ports/store.js";
import { createCheckedClock } from "../../runtime/agent/checked-clock.js";
import { requireSchedules } from "../../runtime/api/delayed.js";
import { readReadableRows } from "../../runtime/api/readable-rows.js";
import { makeRandomId, systemClock } from "../../runtime/lib/clock.js";
import { checkScheduleId, compileSchedule } from "./check-schedule.js";
import { createRun, findReachedTime, isFaultOfRow, planFire } from "./fire-due.js";
import {
  type ListedSchedule,
  type Schedule,
  type ScheduleBody,
  type ScheduleInfo,
  toListedSchedule,
  toScheduleInfo,
} from "./schedule.js";
import { createSlotClock, findNextSlot, loadCron, toDueTime } from "./slots.js";

/** The options of `createSchedules`. */
export type SchedulesOptions = {
  /** The store of the schedules, and of the sessions of their runs. */
  readonly store: Store;
  /** For tests. Default: the system's clock. */
  readonly clock?: Clock;
};

/** The schedules of a store. Workers of the store fire them. */
export type Schedules = {
  /**
   * Creates a schedule, or replaces the one with this id. Fired slots stay fired, and the next slot is the first one from now on.
   * Putting an unchanged schedule again is a no-op.
   * @throws PawlError `bad_schedule`, `schedule_exists`, `schedule_full`, `bad_input`; with `replaces`, also `no_schedule`
   */
  readonly put: (
    schedule: Schedule,
    options?: {
      /** Rejects with `schedule_exists` instead of replacing an existing schedule. Default: false. */
      readonly ifNew?: boolean;
      /**
       * The schedule to replace, as `get` returned it. The call rejects if it was changed, removed or recreated since. Default: replaces
       * any.
       */
      readonly replaces?: Pick<ScheduleInfo, "rev" | "principal">;
    },
  ) => Promise<ScheduleInfo>;
  /** Null if there is no such schedule. */
  readonly get: (id: string) => Promise<ScheduleInfo | null>;
  /**
   * Lists the schedules by id, one page at a time. A long `input` is cut; `get` returns all of it. A schedule that the store cannot read is
   * left out; `get` throws the reason, and `put` replaces the schedule.
   */
  readonly list: (options?: {
    /** Only ids after this one. */
    readonly after?: string;
    /** Default: 100. */
    readonly limit?: number;
  }) => Promise<readonly ListedSchedule[]>;
  /** Removes a schedule. Its active runs continue. Returns false if there is no such schedule. */
  readonly remove: (id: string) => Promise<boolean>;
  /** Pauses a schedule. Slots during the pause are not run, and do not count as missed. @throws PawlError `no_schedule` */
  readonly pause: (id: string) => Promise<ScheduleInfo>;
  /** Resumes a paused schedule at the first slot from now on. @throws PawlError `no_schedule` */
  readonly resume: (id: string) => Promise<ScheduleInfo>;
  /** Posts a run now, regardless of the schedule's slots and last run. @throws PawlError `no_schedule` */
  readonly runNow: (id: string) => Promise<PostedRun>;
  /** The outcomes of the last slots, newest first. @throws PawlError `no_schedule` */
  readonly slots: (
    id: string,
    options?: {
      /** Default: 20. A store keeps 1,000. */
      readonly limit?: number;
    },
  ) => Promise<readonly SlotRow[]>;
  /**
   * Computes the next slots of a stored schedule, given its id, or of a schedule that is not stored. In epoch milliseconds.
   * @throws PawlError `no_schedule`, `bad_schedule`
   */
  readonly next: (
    schedule: string | Schedule,
    options?: {
      /** How many, up to 1,000. Default: 10. */
      readonly count?: number;
    },
  ) => Promise<readonly number[]>;
};

type PutOptions = NonNullable<Parameters<Schedules["put"]>[1]>;

const optionRules: OptionTable<SchedulesOptions> = { store: required(aStore), clock: anObject };
const putRules: OptionTable<PutOptions> = { ifNew: aBoolean, replaces: anObject };
const listRules: OptionTable<{ readonly after?: string; readonly limit?: number }> = {
  after: aString,
  limit: integerFrom(1),
};
const slotRules: OptionTable<{ readonly limit?: number }> = { limit: integerFrom(1) };
const nextRules: OptionTable<{ readonly count?: number }> = { count: numberFrom(1, 1_000) };
const checkSettings = { code: "bad_input" } as const;

/**
 * Opens the schedules of a store. A schedule sends an input to an agent at given times; the workers of the store fire it.
 * @throws PawlError `store_lacks` for a custom store without `schedules`
 *
 * @example
 * ```ts
 * const schedules = createSchedules({ store });
 * await schedules.put({ id: "morning", cron: "0 8 * * 1-5", timezone: "Europe/Berlin", agent: "press", input: "What is new?" });
 * ```
 */
export function createSchedules(options: SchedulesOptions): Schedules {
  checkOptions("createSchedules()", optionRules, options);
  const rows = requireSchedules(options.store);
  const store = { ...pickReads(options.store), schedules: rows };
  const clock = createCheckedClock(options.clock ?? systemClock);

  async function getRow(id: string): Promise<ScheduleRow> {
    checkScheduleId(id);
    const row = await rows.get(id);
    if (row === null) throw createMissingError(id);
    return row;
  }

  /** @param change returns the new body, or undefined to leave the row unchanged */
  async function write(
    id: string,
    change: (current: ScheduleRow | null) => ScheduleBody | undefined,
  ): Promise<ScheduleInfo> {
    for (;;) {
      const now = clock.now();
      const current = await rows.get(id);
      const body = change(current);
      if (body === undefined) {
        if (current === null) throw createMissingError(id);
        return deepFreeze(toScheduleInfo(current));
      }
      if (current !== null && (await fireReachedSlots(current, now))) continue;
      // A reached slot that could not be fired is not skipped: the new schedule may begin at it.
      const from = current !== null && isReached(current, now) ? current.slot - 1 : now;
      const slot = body.paused === true ? null : await findNextSlot(rows, id, body, from);
      if (slot === null && current === null && body.paused !== true) throw createNoSlotError(id);
      const dueAt = slot === null ? null : toDueTime(id, body, slot);
      const row = { id, rev: (current?.rev ?? 0) + 1, slot, dueAt, body: body as unknown as Json };
      const put = await rows.put(row, current === null ? undefined : { slot: current.slot });
      if (put.type === "full")
        throw new PawlError(
          "schedule_full",
          `The store already has ${maxSchedules} schedules, the maximum. Remove some, or combine several into one.`,
        );
      if (put.type === "ok") return deepFreeze(toScheduleInfo({ ...row, ...defined({ last: current?.last }) }));
    }
  }

  /**
   * Fires or counts the slots that a schedule has reached, without waiting for their jitter. Called before the schedule changes, because
   * the change would lose them. Returns false if there are none, if the store's clock has not reached them, or if this process cannot
   * compute them: the change must be able to repair such a schedule.
   */
  async function fireReachedSlots(row: ScheduleRow, now: number): Promise<boolean> {
    if (!isReached(row, now)) return false;
    const reached = await findReachedTime(rows, now);
    if (!isReached(row, reached)) return false;
    try {
      return await rows.fire(await planFire(store, row, reached, { ignoresJitter: true }));
    } catch (error) {
      if (isFaultOfRow(error)) return false;
      throw error;
    }
  }

  async function setPaused(id: string, paused: boolean): Promise<ScheduleInfo> {
    await getRow(id);
    return write(id, (current) => {
      if (current === null) return undefined;
      const { paused: wasPaused, ...body } = requireBody(current) as unknown as ScheduleBody;
      if ((wasPaused === true) === paused) return undefined;
      return paused ? { ...body, paused } : body;
    });
  }

  return {
    async put(schedule, options = {}) {
      checkOptions("put()", putRules, options, checkSettings);
      const { ifNew = false, replaces } = options;
      const body = await compileSchedule(schedule, clock.now());
      const { id } = schedule;
      return write(id, (current) => {
        if (current !== null && ifNew)
          throw new PawlError(
            "schedule_exists",
            `The schedule "${id}" already exists. To replace it, leave out \`ifNew\`.`,
          );
        if (replaces !== undefined) checkReplaced(id, current, replaces);
        // Putting a schedule repairs a row that cannot be read.
        if (current === null || current.error !== undefined) return body;
        const next = keepStart(body, current.body as unknown as ScheduleBody);
        return isSameBody(next, current.body) ? undefined : next;
      });
    },
    async get(id) {
      checkScheduleId(id);
      const row = await rows.get(id);
      return row === null ? null : deepFreeze(toScheduleInfo(row));
    },
    async list(options = {}) {
      checkOptions("list()", listRules, options, checkSettings);
      const { after, limit = 100 } = options;
      const listed: ListedSchedule[] = [];
      for await (const row of readReadableRows(rows, { after, limit })) listed.push(toListedSchedule(row));
      return deepFreeze(listed);
    },
    async remove(id) {
      checkScheduleId(id);
      return rows.remove(id);
    },
    pause: (id) => setPaused(id, true),
    resume: (id) => setPaused(id, false),
    async runNow(id) {
      for (;;) {
        const row = await getRow(id);
        const { rev, slot, dueAt } = row;
        const now = clock.now();
        const run = createRun(
          id,
          requireBody(row) as unknown as ScheduleBody,
          now,
          `${new Date(now).toISOString()}-manual-${makeRandomId().slice(0, 8)}`,
          now,
        );
        const { sessionId, runId } = run.posted;
        const isFired = await rows.fire({
          id,
          rev,
          slot,
          next: slot === null || dueAt === null ? null : { slot, dueAt },
          outcomes: [{ slot: now, outcome: "manual", at: now, sessionId, runId }],
          posts: [run.post],
          // Not `last`: the run of the last slot may still be under way.
        });
        if (isFired) return deepFreeze(run.posted);
      }
    },
    async slots(id, options = {}) {
      checkOptions("slots()", slotRules, options, checkSettings);
      await getRow(id);
      const { limit = 20 } = options;
      return deepFreeze(await rows.slots(id, limit));
    },
    async next(given, options = {}) {
      checkOptions("next()", nextRules, options, checkSettings);
      const { count = 10 } = options;
      const now = clock.now();
      const body =
        typeof given === "string"
          ? (requireBody(await getRow(given)) as unknown as ScheduleBody)
          : await compileSchedule(given, now);
      const slots: number[] = [];
      const times = createSlotClock(await loadCron(), body);
      for (let slot = times.after(now); slot !== null && slots.length < count; slot = times.after(slot))
        slots.push(slot);
      return deepFreeze(slots);
    },
  };
}

/** Whether the next slot is due, apart from its jitter. */
function isReached(row: ScheduleRow, now: number): row is ScheduleRow & { readonly slot: number } {
  return row.slot !== null && row.dueAt !== null && row.slot <= now;
}

/** @throws PawlError `no_schedule`, `schedule_exists` */
function checkReplaced(
  id: string,
  current: ScheduleRow | null,
  { rev, principal }: NonNullable<PutOptions["replaces"]>,
): void {
  if (current === null) throw createMissingError(id);
  if (current.rev === rev && toScheduleInfo(current).principal === principal) return;
  throw new PawlError(
    "schedule_exists",
    `The schedule "${id}" has changed since you read it (revision ${rev}). Read it again before you replace it.`,
  );
}

/** Thrown only for a new schedule: a program may put an expired one again each time it starts. */
function createNoSlotError(id: string): PawlError {
  return new PawlError(
    "bad_schedule",
    `Invalid schedule "${id}": it would never run. It has no time from now on between \`startAt\` and \`endAt\`.`,
  );
}

function createMissingError(id: string): PawlError {
  return new PawlError(
    "no_schedule",
    `There is no schedule "${id}". To list all schedules: schedules.list(), or \`pawl schedule list\`.`,
  );
}

/** Keeps `this`, which the methods need if the store is an instance of a class. */
function pickReads(store: Store): Pick<Store, "load" | "inbox"> {
  return { load: (sessionId) => store.load(sessionId), inbox: (sessionId) => store.inbox(sessionId) };
}

/** Without `startAt`, intervals count from the creation of the schedule. Changes to other fields do not shift them. */
function keepStart(body: ScheduleBody, { when: current }: ScheduleBody): ScheduleBody {
  const { when } = body;
  if (body.startAt !== undefined || !("everyMs" in when && "everyMs" in current)) return body;
  return when.everyMs === current.everyMs ? { ...body, when: current } : body;
}

function isSameBody(body: ScheduleBody, stored: Json): boolean {
  return canonicalJson(body as unknown as Json) === canonicalJson(stored);
}
