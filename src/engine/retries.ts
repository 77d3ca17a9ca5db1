/**
 * When a worker tries again what failed.
 */
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
 * Finds the sessions that an agent drove without any effect on the store: it looks for them in another store, or is broken.
 * They stay due, so without a pause a worker would drive them for ever.
 */
export type Standstills = {
  /** Null: the session may be driven now. Otherwise how often in a row that has changed nothing: a pause is due first. */
  readonly check: (sessionId: string, look: SessionLook) => number | null;
  /** The session was driven after this look, and no error says why it may not have moved. */
  readonly note: (sessionId: string, look: SessionLook) => void;
  /** Forgets the sessions for which this returns false. */
  readonly keep: (isWanted: (sessionId: string) => boolean) => void;
};

type Driven = {
  readonly seq: number;
  readonly isPosted: boolean;
  readonly fruitless: number;
  readonly hasPaused: boolean;
};

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
      const fruitless = last.fruitless + 1;
      sessions.set(sessionId, { ...last, fruitless, hasPaused: true });
      return fruitless;
    },
    note(sessionId, look) {
      const { fruitless } = sameAs(sessionId, look) ?? { fruitless: 0 };
      sessions.set(sessionId, { seq: look.state.seq, isPosted: look.isPosted, fruitless, hasPaused: false });
    },
    keep(isWanted) {
      for (const sessionId of sessions.keys()) if (!isWanted(sessionId)) sessions.delete(sessionId);
    },
  };
}
