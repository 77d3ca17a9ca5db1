/**
 * Notices as a store keeps them: one row for each destination that is to be notified that a run waits for a person or has ended, or that
 * slots of a schedule were missed.
 *
 * 1. A commit, or the firing of a schedule, writes its notices in its own transaction, one row for each destination that the store knows. A
 *    notice is therefore never lost with the process that committed, and no notices are written if no destination is known.
 * 2. A row is changed only if it is still as the caller saw it. A process that delivers a row first moves its due time, which acts as its
 *    lease.
 * 3. A row is deleted with its session.
 */
import type { Json } from "../core/data/message.js";

/** A notice, as it is passed in a commit. */
export type CommittedNotice = {
  /** The same for all destinations and all attempts. A commit that is written again does not write its notices again. */
  readonly id: string;
  /** The payload that the destinations receive. */
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
  /** The session that it is about; null if it is about a schedule. */
  readonly sessionId: string | null;
  /** When it was committed, in epoch milliseconds. */
  readonly at: number;
  /** When it is next due for delivery, in epoch milliseconds; null: it is dead and will not be delivered. */
  readonly dueAt: number | null;
  /** How many deliveries have been started. */
  readonly tries: number;
  /** Null if the store cannot read it. */
  readonly notice: Json;
  /** Why the last attempt failed. */
  readonly error?: string;
};

/** The fields that an update changes. */
export type NoticeChange = Pick<NoticeRow, "dueAt" | "tries" | "notice" | "error">;

/** A destination, as a store keeps it. */
export type DestinationRow = {
  /** The id that `addDestination` was given. */
  readonly id: string;
  /** What was registered with it: an empty object if nothing was; null if the store cannot read it. */
  readonly body: Json;
};

/** Keeps notices. */
export interface NoticeStore {
  /**
   * Registers a destination: from now on, each commit writes its notices for it as well. False if it was registered already; a body then
   * replaces its body.
   */
  addDestination(id: string, body?: Json): Promise<boolean>;
  /** Removes a destination and its rows. False if the store does not know it. */
  removeDestination(id: string): Promise<boolean>;
  /** All destinations, in the order of their ids. */
  destinations(): Promise<readonly DestinationRow[]>;
  /** The rows of a destination that are due at this time, the longest due first. */
  due(destination: string, now: number, limit: number): Promise<readonly NoticeRow[]>;
  /**
   * The same for several destinations in one query: at most `limit` rows of each, the longest due first within a destination. A store may
   * omit this; callers then call `due` for each destination.
   */
  dueForEach?(destinations: readonly string[], now: number, limit: number): Promise<readonly NoticeRow[]>;
  /** Rows in the order of their numbers: all of them, or only the dead ones. */
  list(options: {
    readonly isDead?: boolean;
    readonly after?: number;
    readonly limit: number;
  }): Promise<readonly NoticeRow[]>;
  /** Updates a row. False if the row is gone, or if its due time or number of tries differs from what the caller saw. */
  replace(seen: Pick<NoticeRow, "number" | "dueAt" | "tries">, change: NoticeChange): Promise<boolean>;
  /** Removes a row. False if it does not exist. */
  remove(number: number): Promise<boolean>;
  /**
   * Removes rows that were committed before this time, in a batch of a size that suits the store, and returns how many. It removes dead
   * rows, and rows that have been due since before this time, except those of the destinations that the caller delivers to.
   */
  drop(before: number, except: readonly string[]): Promise<number>;
}
