/**
 * Signals: facts that arrive from outside, under a key that the sender and the waiting tool agree on.
 */
import type { Json } from "../core/data/message.js";

/** A signal as a store gets it. */
export type Signal = {
  /** Counts once for its key while the signal is kept. */
  readonly id: string;
  readonly key: string;
  /** When it was sent, in epoch milliseconds. */
  readonly at: number;
  /** Until when it is kept for waits that begin later, in epoch milliseconds. */
  readonly keptUntil: number;
  /** What the sender says. */
  readonly value: Json;
  /** Who sent it, as the sender says. */
  readonly by?: string;
};

/** What a store did with a signal. */
export type SignalResult =
  /** The signal is kept, and its waits have got it. */
  | {
      readonly type: "ok";
      /** False if the store had a signal with this id and key already. Then nothing was done. */
      readonly isNew: boolean;
      /** The sessions whose waits got the signal. */
      readonly sessions: readonly string[];
    }
  /** The store keeps as many signals with this key as it can. */
  | { readonly type: "full" };

/** Keeps signals, and passes them to waits. */
export interface SignalStore {
  /** Gives a signal to the waits that are open for its key, and keeps it for those that begin later. */
  send(signal: Signal): Promise<SignalResult>;
  /** The signals that are kept at this time, by key and then in the order in which they were sent. For exports. */
  list(
    now: number,
    options: { readonly after?: Pick<Signal, "key" | "id">; readonly limit: number },
  ): Promise<readonly Signal[]>;
  /** Removes signals that are not kept any more, at most `limit`; returns how many were removed. */
  drop(now: number, limit: number): Promise<number>;
}

/** The most signals that a store keeps for one key. */
export const maxSignalsOfKey = 1_000;

const maxKeyCharacters = 200;

/** What is wrong with the key of a signal; undefined if it is fine. */
export function findSignalKeyFault(key: unknown): string | undefined {
  if (
    typeof key === "string" &&
    key.length <= maxKeyCharacters &&
    /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(key)
  )
    return undefined;
  return `\`key\` must be 1 to ${maxKeyCharacters} printable ASCII characters, without spaces at the ends`;
}
