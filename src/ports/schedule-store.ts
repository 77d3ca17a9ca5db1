/**
 * Schedules as a store keeps them: rows that post messages to sessions at their times. A store does not know how the slots of a schedule
 * are computed. Workers compute them and fire the rows that are due.
 *
 * 1. `fire` compares the row with what the caller saw, moves the row to the next slot and posts, in one transaction. Each slot is therefore
 *    posted exactly once, whichever worker fires it.
 * 2. An edit has a new `rev`: anything computed from the earlier row is stale.
 * 3. A delayed message is a row with one slot. It belongs to its session, and is deleted with it, even if the session has not begun.
 */
import type { Json } from "../core/data/message.js";
import type { InboxBody, InboxMessage } from "../core/machine/inbox.js";
import type { CommittedNotice } from "./notice-store.js";

/** The row of a schedule. */
export type ScheduleRow = {
  /** The id of the schedule, or of the delayed message. */
  readonly id: string;
  /** Incremented by each edit, but not by a slot. The first is 1. */
  readonly rev: number;
  /** The next slot, in epoch milliseconds; null if there is none. */
  readonly slot: number | null;
  /** When the next slot is to be fired, in epoch milliseconds; null if the schedule is paused or over. */
  readonly dueAt: number | null;
  /** What the engine keeps: what is posted, when and where. */
  readonly body: Json;
  /** The session to which a delayed message goes. Absent for a schedule. */
  readonly sessionId?: string;
  /** The run that was posted last. */
  readonly last?: PostedRun;
  /** The PawlError that explains why the store cannot read the body, which is then null. One damaged row must not hide the others. */
  readonly error?: Error;
};

/** Returns the body of a row. @throws the row's `error` */
export function requireBody({ body, error }: Pick<ScheduleRow, "body" | "error">): Json {
  if (error !== undefined) throw error;
  return body;
}

/** The body of a row that holds a delayed message. */
export type DelayedBody = {
  /** What is posted to the session. */
  readonly message: Extract<InboxBody, { readonly type: "input" }>;
};

/** The run of a slot. */
export type PostedRun = {
  /** In epoch milliseconds. */
  readonly slot: number;
  readonly sessionId: string;
  readonly runId: string;
};

/** The outcome of a slot, or of several in a row. */
export type SlotRow = {
  /** The slot, or the last of several; in epoch milliseconds. */
  readonly slot: number;
  /**
   * `posted`: its run was posted. `missed`, `overlap`: it was skipped, because no worker fired it in time or because the last run was under
   * way. `manual`: a run on request, outside any slot; `slot` is the time of the request.
   */
  readonly outcome: "posted" | "missed" | "overlap" | "manual";
  /** When this was decided, in epoch milliseconds. */
  readonly at: number;
  readonly sessionId?: string;
  readonly runId?: string;
  /** How many slots this row represents, if more than one. */
  readonly count?: number;
  /** `count` is a minimum: not all slots were counted. */
  readonly isMinimum?: true;
};

/** Fires a slot and moves the schedule on. */
export type SlotFiring = {
  /** The id of the row. */
  readonly id: string;
  /** The row as the caller saw it. If the row's `rev` or `slot` has changed since, nothing is written. */
  readonly rev: number;
  /** Null if the row is paused or over. */
  readonly slot: number | null;
  /** The next slot, and when it is due; null ends the schedule. */
  readonly next: {
    /** In epoch milliseconds. */
    readonly slot: number;
    /** In epoch milliseconds. */
    readonly dueAt: number;
  } | null;
  /** The outcomes of slots, in their order. */
  readonly outcomes: readonly SlotRow[];
  /** Messages to sessions. A message is skipped if its id is already taken in its session. */
  readonly posts: readonly {
    readonly sessionId: string;
    /** The message, as `Store.post` takes it. */
    readonly message: InboxMessage;
  }[];
  /** The run that these posts begin, if any. */
  readonly last?: PostedRun;
  /** Notices about no session, with their times in epoch milliseconds: written for each known destination, in the same transaction. */
  readonly notices?: readonly (CommittedNotice & { readonly at: number })[];
  /** Deletes the row instead of moving it, because it was a delayed message. */
  readonly remove?: boolean;
};

/** A row as it is passed to `put`. */
export type PutRow = Omit<ScheduleRow, "last" | "error">;

/** The outcome of `put`. */
export type PutResult =
  | {
      /** The row was written. */
      readonly type: "ok";
    }
  /** The stored row's `rev` is not one less, or its slot is not the one that the caller saw. Nothing was written. */
  | {
      readonly type: "conflict";
      /** The `rev` of the stored row; 0 if there is none. */
      readonly rev: number;
    }
  /** The limit of schedules in the store, or of delayed messages in the session, is reached. */
  | { readonly type: "full" };

/** Keeps schedules. */
export interface ScheduleStore {
  /**
   * Creates a row (`rev` 1), or replaces the row whose `rev` is one less. The outcomes of its slots and its last run are kept.
   * @param seen the slot that the caller saw. If the row was fired since, the new row's slot may already have its run, so this is a
   * conflict
   */
  put(row: PutRow, seen?: { readonly slot: number | null }): Promise<PutResult>;
  /** The row with this id; null if there is none. */
  get(id: string): Promise<ScheduleRow | null>;
  /** Rows in the order of their ids: schedules, or the delayed messages of one session, or of all sessions (`isDelayed`). */
  list(options: {
    readonly sessionId?: string;
    readonly isDelayed?: boolean;
    readonly after?: string;
    readonly limit: number;
  }): Promise<readonly ScheduleRow[]>;
  /** Removes a row. False if it does not exist. */
  remove(id: string): Promise<boolean>;
  /** The rows that are due at this time, the longest due first. */
  due(now: number, limit: number): Promise<readonly ScheduleRow[]>;
  /** When the next row is due after this time, in epoch milliseconds; null if there is none. */
  nextDueAt(now: number): Promise<number | null>;
  /**
   * The latest slot that `fire` accepts now, in epoch milliseconds, of a store that keeps time itself. Callers run and count no later slots,
   * even if their own clocks are ahead. A store that goes by its callers' clocks omits this.
   */
  latestSlot?(): Promise<number>;
  /** Fires a slot. False if another process was first, or if the row was changed or removed. */
  fire(fire: SlotFiring): Promise<boolean>;
  /** The outcomes of a schedule's last slots, newest first. A store keeps the last 1,000 rows of each schedule. */
  slots(id: string, limit: number): Promise<readonly SlotRow[]>;
}

/** Whether this is a valid schedule id. Ids of delayed messages are not. */
export function isScheduleId(id: unknown): id is string {
  return typeof id === "string" && /^[\w.-]{1,100}$/.test(id);
}

/** The row id of a delayed message. It is unique, because an encoded session id contains no colon. */
export function toDelayedId(sessionId: string, runId: string): string {
  return `send:${encodeURIComponent(sessionId)}:${runId}`;
}

/** The maximum number of schedules in a store. */
export const maxSchedules = 10_000;

/** The maximum number of delayed messages in a session. */
export const maxDelayedOfSession = 1_000;

/** The maximum number of slot rows that a store keeps for a schedule. */
export const maxSlotRows = 1_000;
