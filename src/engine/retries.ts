/**
 * When a worker tries again what failed.
 */
import { defined } from "../core/data/defined.js";
import type { Fault } from "../core/data/message.js";
import { PawlError } from "../errors.js";
import type { SessionLook } from "../runtime/api/beginning.js";

/** The store may have failed for a moment. A session that is about to begin may be empty for one. */
export function mayPass(error: unknown): boolean {
  return error instanceof PawlError && (error.code === "store_failed" || error.code === "no_session");
}

const firstRetryMs = 1_000;
const longestRetryMs = 30_000;

/** Milliseconds until the next attempt, after so many failures in a row. */
export function retryMs(failures: number): number {
  return Math.min(longestRetryMs, firstRetryMs * 2 ** (failures - 1));
}

/**
 * Finds the sessions that an agent drove without any effect on the store: it looks for them in another store, the store fails
 * each time, or the agent is broken. They stay due, so without a pause a worker would drive them for ever.
 */
export type Standstills = {
  /** Null: the session may be driven now. Otherwise a pause is due first. */
  readonly check: (sessionId: string, look: SessionLook) => Standstill | null;
  /**
   * The session was driven after this look.
   * @param storeFault how the store failed meanwhile, if it did
   */
  readonly note: (sessionId: string, look: SessionLook, storeFault?: Fault) => void;
  /** Forgets the sessions for which this returns false. */
  readonly keep: (isWanted: (sessionId: string) => boolean) => void;
};

/** How often in a row driving a session has changed nothing, and how the store failed the last time, if it did. */
type Standstill = { readonly times: number; readonly storeFault?: Fault };

type Driven = Standstill & { readonly seq: number; readonly isPosted: boolean; readonly hasPaused: boolean };

export function createStandstills(): Standstills {
  const sessions = new Map<string, Driven>();

  function sameAs(sessionId: string, { state, isPosted }: SessionLook): Driven | null {
    const last = sessions.get(sessionId);
    return last !== undefined && last.seq === state.seq && last.isPosted === isPosted ? last : null;
  }

  return {
    check(sessionId, look) {
      const last = sameAs(sessionId, look);
      if (last === null || last.hasPaused) return null;
      const standstill = { ...last, times: last.times + 1, hasPaused: true };
      sessions.set(sessionId, standstill);
      return standstill;
    },
    note(sessionId, look, storeFault) {
      const { times } = sameAs(sessionId, look) ?? { times: 0 };
      const { state, isPosted } = look;
      sessions.set(sessionId, { seq: state.seq, isPosted, times, hasPaused: false, ...defined({ storeFault }) });
    },
    keep(isWanted) {
      for (const sessionId of sessions.keys()) if (!isWanted(sessionId)) sessions.delete(sessionId);
    },
  };
}
