/**
 * The port through which a worker delivers notices.
 */
import type { Clock } from "./clock.js";
import type { Store } from "./store.js";

/** A delivery of a notice that failed. */
export type NoticeFailure = {
  /** The id of the destination. */
  readonly destination: string;
  /** The session that the notice is about; null if it is about a schedule. */
  readonly sessionId: string | null;
  /** The number of the notice in its store. */
  readonly notice: number;
  /** Why it failed. */
  readonly error: unknown;
  /** Milliseconds until the next try; null: the notice is dead. */
  readonly retryInMs: number | null;
};

/** The browsers of people that get notices by Web Push. */
export type PushSubscriptions = {
  /** The public key with which a page subscribes. The same seed gives the same key. */
  readonly publicKey: (seed: string) => string;
  /** Adds the subscription of a browser, or renews it. */
  readonly subscribe: (
    store: Store,
    subscription: {
      readonly seed: string;
      /** The present time, in epoch milliseconds. */
      readonly now: number;
      /** The principal that subscribes. */
      readonly owner: string;
      /** False: it gets notices about this principal's sessions and schedules alone. */
      readonly isForAll: boolean;
      /** The URL of the push service. */
      readonly endpoint: string;
      readonly p256dh: string;
      readonly auth: string;
    },
  ) => Promise<SubscribeResult>;
  /** Removes a subscription. False if the principal has no such subscription; null: of any principal. */
  readonly unsubscribe: (
    store: Store,
    subscription: { readonly endpoint: string; readonly owner: string | null },
  ) => Promise<boolean>;
};

/** `refused`: notices may not go to this endpoint, or its keys are invalid. `full`: the store takes no more subscriptions. */
export type SubscribeResult = "subscribed" | "refused" | "full";

/** Delivers notices. Created by `createNotices` of `pawl/notices`. */
export type WorkerNotices = {
  /** Present if notices also go to browsers. */
  readonly push?: PushSubscriptions;
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
