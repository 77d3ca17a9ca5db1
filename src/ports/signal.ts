/**
 * Signals: facts that arrive from outside, under a key that the sender and the waiting tool agree on.
 */
import type { Json } from "../core/data/message.js";

/** A signal as a store gets it. */
export type Signal = {
  /** Deduplicates signals with the same key, as long as the signal is kept. */
  readonly id: string;
  readonly key: string;
  /** When it was sent, in epoch milliseconds. */
  readonly at: number;
  /** The time until which the signal is kept for waits that begin later, in epoch milliseconds. */
  readonly keptUntil: number;
  /** The sender's payload. */
  readonly value: Json;
  /** Who sent it, according to the sender. */
  readonly by?: string;
};

/** The outcome of `SignalStore.send`. */
export type SignalResult =
  /** The signal is kept, and the open waits received it. */
  | {
      readonly type: "ok";
      /** False if the store already had a signal with this id and key. Nothing was done in that case. */
      readonly isNew: boolean;
      /** The sessions whose waits received the signal. */
      readonly sessions: readonly string[];
    }
  /** The store has reached its limit of signals for this key. */
  | { readonly type: "full" };

/** Keeps signals, and passes them to waits. */
export interface SignalStore {
  /** Passes a signal to the waits that are open for its key, and keeps it for waits that begin later. */
  send(signal: Signal): Promise<SignalResult>;
  /** The signals that are kept at this time, by key and then in the order in which they were sent. Used by exports. */
  list(
    now: number,
    options: { readonly after?: Pick<Signal, "key" | "id">; readonly limit: number },
  ): Promise<readonly Signal[]>;
  /** Removes signals that are no longer kept, at most `limit`. Returns how many were removed. */
  drop(now: number, limit: number): Promise<number>;
}

/** The maximum number of signals that a store keeps for one key. */
export const maxSignalsOfKey = 1_000;

const maxKeyCharacters = 200;

/** Describes what is wrong with the key of a signal; undefined if the key is valid. */
export function findSignalKeyFault(key: unknown): string | undefined {
  if (
    typeof key === "string" &&
    key.length <= maxKeyCharacters &&
    /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(key)
  )
    return undefined;
  return `\`key\` must be 1 to ${maxKeyCharacters} printable ASCII characters, without spaces at the ends`;
}
