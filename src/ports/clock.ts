/**
 * Time and chance, handed in, so that tests own both.
 */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Milliseconds since some moment, whatever is done to the wall clock. */
  elapsed(): number;
  /** Calls back once after `ms`; returns the way to cancel. */
  after(ms: number, callback: () => void): () => void;
}

/** Makes ids that cannot be guessed. */
export type MakeId = () => string;
