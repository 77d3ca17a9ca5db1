/**
 * The clock port: time and random ids are passed in, so that tests control both.
 */
export interface Clock {
  /** Epoch milliseconds. If the first reading is not a time, it is refused; if a later one is not, the last valid one is used. */
  now(): number;
  /** Milliseconds since an arbitrary moment. Changes of the wall clock do not affect it. */
  elapsed(): number;
  /** Calls back once after `ms` milliseconds. Returns a function that cancels the call. */
  after(ms: number, callback: () => void): () => void;
}

/** Creates ids that cannot be guessed. */
export type MakeId = () => string;
