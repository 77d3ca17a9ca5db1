/**
 * The clock port: time and random ids are passed in, so that tests control both.
 */
export interface Clock {
  /** Epoch milliseconds. A first reading that is no time is refused; a later one counts as the last sound one. */
  now(): number;
  /** Milliseconds since an arbitrary moment. Changes of the wall clock do not affect it. */
  elapsed(): number;
  /** Calls back once after `ms` milliseconds. Returns a function that cancels the call. */
  after(ms: number, callback: () => void): () => void;
}

/** Makes ids that cannot be guessed. */
export type MakeId = () => string;
