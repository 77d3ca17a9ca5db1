/**
 * The port through which a worker delivers notices.
 */
import type { Clock } from "./clock.js";
import type { Store } from "./store.js";

/** A delivery of a notice that failed. */
export type NoticeFailure = {
  /** The id of the destination. */
  readonly destination: string;
  /** The session that the notice is about. */
  readonly sessionId: string;
  /** The number of the notice in its store. */
  readonly notice: number;
  /** Why it failed. */
  readonly error: unknown;
  /** When it is tried again, in milliseconds from now; null: the notice is dead. */
  readonly retryInMs: number | null;
};

/** Delivers notices. Made by `createNotices` of `pawl/notices`. */
export type WorkerNotices = {
  /** From now on, commits to the store write notices for these destinations. */
  readonly register: (store: Store) => Promise<void>;
  /**
   * Delivers what is due, once, except to destinations to which an earlier call still delivers. Resolves to the number of notices that
   * were due.
   */
  readonly deliver: (
    store: Store,
    options: {
      /** Stops deliveries. Those under way are due again at once. */
      readonly signal: AbortSignal;
      readonly clock: Clock;
      /** A number from 0 up to 1. */
      readonly random: () => number;
      /** Called with each delivery that failed. */
      readonly onFailure: (failure: NoticeFailure) => void;
    },
  ) => Promise<number>;
};
