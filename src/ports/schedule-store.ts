/**
 * Schedules as a store keeps them: rows that post messages to sessions when their time comes. A store does not know what the slots of
 * a schedule are. Workers compute them and fire what is due.
 *
 * 1. `fire` compares what the caller saw, moves the row to the next slot and posts, in one transaction. So each slot is posted once,
 *    whoever fires, and none is lost.
 * 2. An edit has a new `rev`: whatever was computed from the row before it is stale.
 * 3. A delayed message is a row with one slot that belongs to its session, and goes with it, even if the session has not begun.
 */
import type { Json } from "../core/data/message.js";
import type { InboxBody, InboxMessage } from "../core/machine/inbox.js";

/** The row of a schedule. */
export type ScheduleRow = {
  /** The id of the schedule, or of the delayed message. */
  readonly id: string;
  /** Goes up by one with each edit, not with a slot. The first is 1. */
  readonly rev: number;
  /** The next slot, in epoch milliseconds; null if there is none. */
  readonly slot: number | null;
  /** When the next slot is to be fired, in epoch milliseconds; null if it is not to be fired: the schedule is paused or over. */
  readonly dueAt: number | null;
  /** What the engine keeps: what is posted, when and where. */
  readonly body: Json;
  /** The session to which a delayed message goes. Absent: a schedule. */
  readonly sessionId?: string;
  /** The run that was posted last. */
  readonly last?: PostedRun;
  /** A PawlError: why the store cannot read the body, which is null then. One damaged row must not hide the others. */
  readonly error?: Error;
};

/** The body of a row. @throws the row's `error` */
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
   * `posted`: its run was posted. `missed`, `overlap`: it was skipped, because no worker fired it in time or the last run was under way.
   * `manual`: no slot, but a run on request; `slot` is when it was requested.
   */
  readonly outcome: "posted" | "missed" | "overlap" | "manual";
  /** When this was decided, in epoch milliseconds. */
  readonly at: number;
  readonly sessionId?: string;
  readonly runId?: string;
  /** How many slots this row stands for, if more than one. */
  readonly count?: number;
  /** There were more slots than `count`: not all of them were counted. */
  readonly isMinimum?: true;
};

/** A slot is fired, and the schedule moves on. */
export type Fire = {
  /** The id of the row. */
  readonly id: string;
  /** What the caller saw. If the row has another `rev` or `slot` by now, nothing is written. */
  readonly rev: number;
  /** Null: the row is paused or over. */
  readonly slot: number | null;
  /** The next slot, and when it is due; null: the schedule is over. */
  readonly next: {
    /** In epoch milliseconds. */
    readonly slot: number;
    /** In epoch milliseconds. */
    readonly dueAt: number;
  } | null;
  /** The outcomes of slots, in their order. */
  readonly outcomes: readonly SlotRow[];
  /** Messages to sessions. One whose id is taken in its session is left out. */
  readonly posts: readonly {
    readonly sessionId: string;
    /** The message, as `Store.post` takes it. */
    readonly message: InboxMessage;
  }[];
  /** The run that these posts begin, if they begin one. */
  readonly last?: PostedRun;
  /** Removes the row instead of moving it: it was a delayed message. */
  readonly remove?: boolean;
};

/** A row as it is put. */
export type PutRow = Omit<ScheduleRow, "last" | "error">;

/** The outcome of putting a row. */
export type PutResult =
  | {
      /** The row was written. */
      readonly type: "ok";
    }
  /** The stored row does not have the `rev` before this one, or not the slot that the caller saw. Nothing was written. */
  | {
      readonly type: "conflict";
      /** The `rev` of the stored row; 0 if there is none. */
      readonly rev: number;
    }
  /** The store has as many schedules, or the session as many delayed messages, as it may. */
  | { readonly type: "full" };

/** Keeps schedules. */
export interface ScheduleStore {
  /**
   * Makes a row (`rev` 1), or replaces the one whose `rev` is one less. The outcomes of its slots and its last run stay.
   * @param seen the slot that the caller saw: if the row was fired since, the slot of the new row may be one that has its run already, so
   *   this is a conflict
   */
  put(row: PutRow, seen?: { readonly slot: number | null }): Promise<PutResult>;
  /** The row with this id; null if there is none. */
  get(id: string): Promise<ScheduleRow | null>;
  /** Rows by id: the schedules, or the delayed messages of a session, or of all (`isDelayed`). */
  list(options: {
    readonly sessionId?: string;
    readonly isDelayed?: boolean;
    readonly after?: string;
    readonly limit: number;
  }): Promise<readonly ScheduleRow[]>;
  /** False if there is no such row. */
  remove(id: string): Promise<boolean>;
  /** Rows that are due at this time, the longest due first. */
  due(now: number, limit: number): Promise<readonly ScheduleRow[]>;
  /** When the next row is due after this time, in epoch milliseconds; null if none is. */
  nextDueAt(now: number): Promise<number | null>;
  /** False if another process was first, or the row was changed or removed. */
  fire(fire: Fire): Promise<boolean>;
  /** The outcomes of the last slots of a schedule, the newest first. A store keeps the last 1,000 rows of each. */
  slots(id: string, limit: number): Promise<readonly SlotRow[]>;
}

/** Whether this can be the id of a schedule. Ids of delayed messages cannot be. */
export function isScheduleId(id: unknown): id is string {
  return typeof id === "string" && /^[\w.-]{1,100}$/.test(id);
}

/** The id of the row of a delayed message. No two messages share one: an encoded session id contains no colon. */
export function toDelayedId(sessionId: string, runId: string): string {
  return `send:${encodeURIComponent(sessionId)}:${runId}`;
}

/** The most schedules that a store takes. */
export const maxSchedules = 10_000;

/** The most delayed messages that a session takes. */
export const maxDelayedOfSession = 1_000;

/** How many rows of slots a store keeps for a schedule. */
export const maxSlotRows = 1_000;
