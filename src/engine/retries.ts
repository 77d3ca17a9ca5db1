/**
 * The failures that a worker retries, and the delays between retries.
 */
import { defined } from "../core/data/defined.js";
import type { Fault } from "../core/data/message.js";
import { PawlError } from "../errors.js";
import type { SessionLook } from "../runtime/api/session-beginning.js";

/** Whether to retry: the store may have failed temporarily, and a session that is about to begin may be empty for a moment. */
export function isTransient(error: unknown): boolean {
  return error instanceof PawlError && (error.code === "store_failed" || error.code === "no_session");
}

const firstRetryMs = 1_000;
const maxRetryMs = 30_000;

/** Milliseconds until the next attempt, after this many failures in a row. */
export function pauseAfterFailuresMs(failures: number): number {
  return Math.min(maxRetryMs, firstRetryMs * 2 ** (failures - 1));
}

/**
 * Finds sessions that an agent drove without any effect on the worker's store: the agent uses another store, the store fails each
 * time, or the agent is broken. Such sessions stay due, so without a pause a worker would drive them forever.
 */
export type StallDetector = {
  /** Null if the session may be driven now. Otherwise a pause is due first. */
  readonly check: (sessionId: string, snapshot: SessionLook) => Stall | null;
  /**
   * Records that the session was driven after this snapshot.
   * @param storeFault the store's failure during the drive, if it failed
   */
  readonly record: (sessionId: string, snapshot: SessionLook, storeFault?: Fault) => void;
  /** Forgets the sessions for which this returns false. */
  readonly retain: (shouldKeep: (sessionId: string) => boolean) => void;
};

/** How many drives in a row have left a session unchanged, and the store's failure during the last one, if it failed. */
type Stall = { readonly times: number; readonly storeFault?: Fault };

type DriveRecord = Stall & { readonly seq: number; readonly isPosted: boolean; readonly hasPaused: boolean };

export function createStallDetector(): StallDetector {
  const sessions = new Map<string, DriveRecord>();

  function findUnchanged(sessionId: string, { state, isPosted }: SessionLook): DriveRecord | null {
    const previous = sessions.get(sessionId);
    return previous !== undefined && previous.seq === state.seq && previous.isPosted === isPosted ? previous : null;
  }

  return {
    check(sessionId, snapshot) {
      const previous = findUnchanged(sessionId, snapshot);
      if (previous === null || previous.hasPaused) return null;
      const stall = { ...previous, times: previous.times + 1, hasPaused: true };
      sessions.set(sessionId, stall);
      return stall;
    },
    record(sessionId, snapshot, storeFault) {
      const { times } = findUnchanged(sessionId, snapshot) ?? { times: 0 };
      const { state, isPosted } = snapshot;
      sessions.set(sessionId, { seq: state.seq, isPosted, times, hasPaused: false, ...defined({ storeFault }) });
    },
    retain(shouldKeep) {
      for (const sessionId of sessions.keys()) if (!shouldKeep(sessionId)) sessions.delete(sessionId);
    },
  };
}
