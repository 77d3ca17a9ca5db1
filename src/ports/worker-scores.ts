/**
 * The port through which a worker has ended sessions judged.
 */
import type { Store } from "./store.js";

/** Scores ended sessions in production. Created by `createScores` of `pawl/evals`. */
export type WorkerScores = {
  /** Judges the sessions that have ended since the last call, unless that call was too recent. */
  readonly catchUp: (
    store: Store,
    options: {
      /** Stops judging. Missing verdicts are left to the next query. */
      readonly signal: AbortSignal;
      /** Whether to query now, however recent the last query was. */
      readonly isForced: boolean;
      /** Called with a session that could not be judged. The other sessions are still judged. */
      readonly onFailure?: (sessionId: string, error: unknown) => void;
    },
  ) => Promise<void>;
};
