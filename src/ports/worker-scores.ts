/**
 * The port of scores: what a worker calls so that sessions which have ended are judged.
 */
import type { Store } from "./store.js";

/** Scores of sessions in production. `createScores` of `pawl/evals` makes them. */
export type WorkerScores = {
  /** Judges the sessions that have ended since the last call. It does not look again too soon unless `isForced`. */
  readonly catchUp: (
    store: Store,
    options: {
      /** Ends it between two sessions. */
      readonly signal: AbortSignal;
      /** Whether to look now, however short ago the last look was. */
      readonly isForced: boolean;
    },
  ) => Promise<void>;
};
