/**
 * What a worker is given, what it does and what it reports.
 */

import {
  aFunction,
  anObject,
  aStore,
  checkOptions,
  integerFrom,
  numberFrom,
  type OptionTable,
} from "../check-options.js";
import type { SessionBinding } from "../core/machine/state.js";
import type { RunResult } from "../core/view/outcome.js";
import type { Clock } from "../ports/clock.js";
import type { Store } from "../ports/store.js";
import type { NoticeFailure, WorkerNotices } from "../ports/worker-notices.js";
import type { WorkerScores } from "../ports/worker-scores.js";
import type { SessionLook } from "../runtime/api/session-beginning.js";

/** The part of an agent that a worker uses. */
export type WorkingAgent = {
  /** The options of the agent, of which the name and the store are read. */
  readonly options: {
    /** Default: "agent". */
    readonly name?: string;
    /** Where the agent keeps its sessions. It must be the worker's store. */
    readonly store?: Store;
  };
  /** A session of the agent. */
  readonly session: (sessionId: string) => {
    /** Carries the session on. */
    readonly resume: (options: {
      /** The call rejects with `session_busy` if another process holds the session. */
      readonly follow: false;
      /** Called when the session was claimed. */
      readonly onTaken: () => void;
      /** Called if the session was given back with the result, and no run is queued. Otherwise the worker resumes it again. */
      readonly onLeft: () => void;
      /** What the worker has just read of the session. */
      readonly seen?: SessionLook;
    }) => Promise<RunResult>;
  };
  /** Ends the work of the agent. */
  readonly shutdown: (options?: { readonly graceMs?: number }) => Promise<void>;
};

/** What a worker did with a session. */
export type WorkerReport =
  /** This worker has claimed the session. It reports nothing of a session that another process claimed first. */
  | { readonly type: "taken"; readonly sessionId: string; readonly agent: string }
  /** The run ended or waits, and the worker has left the session. */
  | {
      readonly type: "left";
      readonly sessionId: string;
      /** How the run ended, or what it waits for. */
      readonly result: RunResult;
    }
  /**
   * The session could not be carried on. If the store failed, or the agent did not find the session, this worker tries again
   * after `retryInMs`, in milliseconds. Null: it does not try again, for example because it has no agent of that name.
   */
  | {
      readonly type: "refused";
      readonly sessionId: string;
      /** Why not. */
      readonly error: unknown;
      readonly retryInMs: number | null;
    }
  /** Judging failed: of one session, or of all if the query for ended sessions failed. The worker retries at its next query. */
  | {
      readonly type: "scores_failed";
      /** The session that could not be judged; absent if the query failed. After three attempts, the session is skipped. */
      readonly sessionId?: string;
      /** The error thrown by a judge or the store. */
      readonly error: unknown;
    }
  /** A slot of a schedule, or a delayed message, was due, and this worker has posted its run. One report for each run. */
  | {
      readonly type: "fired";
      /** Which schedule, or which delayed message. */
      readonly scheduleId: string;
      /** The slot, in epoch milliseconds. */
      readonly slot: number;
      readonly sessionId: string;
      readonly runId: string;
    }
  /**
   * A schedule could not be fired, for example because this version of Node does not know its time zone. The worker tries again after
   * `retryInMs`, in milliseconds.
   */
  | {
      readonly type: "schedule_failed";
      /** Which schedule, or which delayed message. */
      readonly scheduleId: string;
      /** Why not. */
      readonly error: unknown;
      readonly retryInMs: number;
    }
  /** A notice could not be delivered. `retryInMs` is null if the notice is dead: it is listed, and not tried again. */
  | ({ readonly type: "notice_failed" } & NoticeFailure)
  /** The store could not say what is due. The worker asks again after `retryInMs`, in milliseconds. */
  | {
      readonly type: "store_failed";
      /** What the store threw. */
      readonly error: unknown;
      readonly retryInMs: number;
    };

/** Which sessions a worker drives, and how many at a time. */
export type WorkerOptions = {
  readonly store: Store;
  /**
   * The agents whose sessions the worker drives, with those that they reach through handoffs; or a function that returns
   * the agent of a session, or null.
   */
  readonly agents:
    | readonly WorkingAgent[]
    | ((session: SessionBinding, sessionId: string) => Promise<WorkingAgent | null>);
  /** The most sessions that run at the same time. Default: 16. */
  readonly concurrency?: number;
  /** The longest time between two queries for due sessions, in milliseconds. Default: 1,000. */
  readonly pollMs?: number;

  /**
   * Judges ended sessions alongside the worker's own work; made by `createScores` of `pawl/evals`. Default: nothing is
   * judged.
   */
  readonly scores?: WorkerScores;

  /**
   * Tells other systems that a run waits for a person or has ended; made by `createNotices` of `pawl/notices`. Default: nobody is told.
   */
  readonly notices?: WorkerNotices;

  /** For tests: the clock by which sessions and schedules become due. Default: the system's. */
  readonly clock?: Clock;
  /** Is told what the worker does. */
  readonly onReport?: (report: WorkerReport) => void;
};

/** Drives the due sessions of a store. */
export type Worker = {
  /**
   * Fires due schedules, and drives all sessions that are due or become due meanwhile. Resolves when none is.
   * @throws PawlError `bad_configuration` if handoffs lead to two agents of one name, or if the store fails
   */
  readonly runUntilIdle: () => Promise<void>;
  /**
   * Fires schedules and drives sessions as they become due, until `stop`. If the store fails, the worker asks it again: after 1 s, then less
   * and less often, down to every 30 s.
   * @throws PawlError `bad_configuration` as above; `store_closed`
   */
  readonly run: () => Promise<void>;
  /**
   * Takes no more sessions, and waits up to `graceMs` (milliseconds, default: 5,000) for those under way. A session
   * that is interrupted then is due again. Judges of `scores` and deliveries of `notices` are stopped.
   */
  readonly stop: (options?: { readonly graceMs?: number }) => Promise<void>;
  /** How many sessions this worker drives now, and which it has refused and not carried on since. */
  readonly status: () => {
    /** How many sessions it drives now. */
    readonly running: number;
    /** The sessions that it does not try again. */
    readonly refused: readonly string[];
  };
};

export const workerOptionRules: OptionTable<WorkerOptions> = {
  store: aStore,
  agents: {
    accepts: (value) => Array.isArray(value) || typeof value === "function",
    expected: "an array or a function",
  },
  concurrency: integerFrom(1),
  pollMs: numberFrom(1),
  scores: anObject,
  notices: anObject,
  clock: anObject,
  onReport: aFunction,
};

export type GraceOptions = { readonly graceMs?: number };

const graceRules: OptionTable<GraceOptions> = { graceMs: numberFrom(0) };

/** @throws PawlError `bad_input` */
export function checkGrace(what: "stop()" | "shutdown()", options: GraceOptions): void {
  const otherNames = { timeout: "graceMs", timeoutMs: "graceMs" };
  checkOptions(what, graceRules, options, { code: "bad_input", otherNames });
}
