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
  /** Milliseconds until the next try; null: the notice is dead. */
  readonly retryInMs: number | null;
};

/** Delivers notices. Created by `createNotices` of `pawl/notices`. */
export type WorkerNotices = {
  /** Registers these destinations: from now on, commits to the store write notices for them. */
  readonly register: (store: Store) => Promise<void>;
  /**
   * Delivers everything that is due, once, except to destinations to which an earlier call is still delivering. Resolves to the number of
   * notices that were due.
   */
  readonly deliver: (
    store: Store,
    options: {
      /** Stops deliveries. Deliveries under way become due again at once. */
      readonly signal: AbortSignal;
      readonly clock: Clock;
      /** A number from 0 up to 1. */
      readonly random: () => number;
      /** Called with each delivery that failed. */
      readonly onFailure: (failure: NoticeFailure) => void;
    },
  ) => Promise<number>;
};
