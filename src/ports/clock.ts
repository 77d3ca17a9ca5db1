/**
 * The clock port. Time and random ids are passed in, so that tests can control both.
 */
export interface Clock {
  /** Epoch milliseconds. An invalid first reading is refused; after that, the last valid reading replaces an invalid one. */
  now(): number;
  /** Milliseconds since an arbitrary moment. Unaffected by changes to the wall clock. */
  elapsed(): number;
  /** Calls back once after `ms` milliseconds. Returns a function that cancels the call. */
  after(ms: number, callback: () => void): () => void;
}

/** Creates ids that cannot be guessed. */
export type MakeId = () => string;
