/**
 * Notices as a store keeps them: one row for each destination that is to be told that a run waits for a person or has ended.
 *
 * 1. A commit writes its notices in its own transaction, one row for each destination that the store knows. So no notice is lost with
 *    the process that committed, and there are none if no destination is known.
 * 2. A row is changed only if it is as the caller saw it. Whoever delivers it first moves its due time; that is its lease.
 * 3. A row goes with its session.
 */
import type { Json } from "../core/data/message.js";

/** A notice, as a commit names it. */
export type CommittedNotice = {
  /** The same for all destinations and all attempts. A commit that is written again does not write its notices again. */
  readonly id: string;
  /** What the destinations get. */
  readonly notice: Json;
};

/** A notice that one destination has not acknowledged yet. */
export type NoticeRow = {
  /** Identifies the row in its store. Later rows have higher numbers. */
  readonly number: number;
  /** The destination's id. */
  readonly destination: string;
  /** The notice's id. */
  readonly id: string;
  readonly sessionId: string;
  /** When it was committed, in epoch milliseconds. */
  readonly at: number;
  /** When it is to be delivered next, in epoch milliseconds; null: it is dead, and nobody delivers it. */
  readonly dueAt: number | null;
  /** How often its delivery was begun. */
  readonly tries: number;
  /** Null if the store cannot read it. */
  readonly notice: Json;
  /** Why the last attempt failed. */
  readonly error?: string;
};

/** What changes in a row. */
export type NoticeChange = Pick<NoticeRow, "dueAt" | "tries" | "notice" | "error">;

/** Keeps notices. */
export interface NoticeStore {
  /** From now on, each commit writes its notices for this destination. False if that was so before. */
  addDestination(id: string): Promise<boolean>;
  /** Removes a destination and its rows. False if the store does not know it. */
  removeDestination(id: string): Promise<boolean>;
  /** The ids of all destinations, in order. */
  destinations(): Promise<readonly string[]>;
  /** Rows of a destination that are due at this time, the longest due first. */
  due(destination: string, now: number, limit: number): Promise<readonly NoticeRow[]>;
  /** Rows by their numbers: all, or those that are dead. */
  list(options: {
    readonly isDead?: boolean;
    readonly after?: number;
    readonly limit: number;
  }): Promise<readonly NoticeRow[]>;
  /** False if the row is gone, or has another due time or another number of tries than the caller saw. */
  replace(seen: Pick<NoticeRow, "number" | "dueAt" | "tries">, change: NoticeChange): Promise<boolean>;
  /** False if there is no such row. */
  remove(number: number): Promise<boolean>;
  /**
   * Removes rows that were committed before this time, as many as suit the store at once, and returns how many. It removes dead ones, and
   * those that have been due since before this time, except those of the destinations that the caller delivers to.
   */
  drop(before: number, except: readonly string[]): Promise<number>;
}
