/**
 * The options, the reports and the API of a worker.
 */

import {
  aFunction,
  anObject,
  aStore,
  checkOptions,
  integerFrom,
  numberFrom,
  type OptionTable,
  required,
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
  /** The agent's options. The worker reads only the name and the store. */
  readonly options: {
    /** Default: "agent". */
    readonly name?: string;
    /** The agent's store. It must be the worker's store. */
    readonly store?: Store;
  };
  /** Opens a session of the agent. */
  readonly session: (sessionId: string) => {
    /** Resumes the session. */
    readonly resume: (options: {
      /** The call rejects with `session_busy` if another process holds the session. */
      readonly follow: false;
      /** Called when the session is claimed. */
      readonly onTaken: () => void;
      /** Called if the session was released along with the result, and no run is queued. Otherwise the worker resumes it again. */
      readonly onLeft: () => void;
      /** The session as the worker has just read it. */
      readonly seen?: SessionLook;
    }) => Promise<RunResult>;
  };
  /** Shuts the agent down. */
  readonly shutdown: (options?: { readonly graceMs?: number }) => Promise<void>;
};

/** A report of a worker's action on a session. */
export type WorkerReport =
  /** This worker has claimed the session. It reports nothing about a session that another process claimed first. */
  | { readonly type: "taken"; readonly sessionId: string; readonly agent: string }
  /** The run has ended or waits, and the worker has released the session. */
  | {
      readonly type: "left";
      readonly sessionId: string;
      /** How the run ended, or what it waits for. */
      readonly result: RunResult;
    }
  /**
   * The session could not be resumed. If the store failed, or the agent did not find the session, this worker retries after `retryInMs`
   * milliseconds. Null: it does not retry, for example because it has no agent of that name.
   */
  | {
      readonly type: "refused";
      readonly sessionId: string;
      /** Why the session could not be resumed. */
      readonly error: unknown;
      readonly retryInMs: number | null;
    }
  /** Judging failed, either for one session or, if the query for ended sessions failed, for all. The worker retries at its next query. */
  | {
      readonly type: "scores_failed";
      /** The session that could not be judged; absent if the query failed. After three attempts, the session is skipped. */
      readonly sessionId?: string;
      /** The error thrown by a judge or the store. */
      readonly error: unknown;
    }
  /** A slot of a schedule, or a delayed message, was due, and this worker has posted its run. There is one report for each run. */
  | {
      readonly type: "fired";
      /** The id of the schedule or delayed message. */
      readonly scheduleId: string;
      /** The slot, in epoch milliseconds. */
      readonly slot: number;
      readonly sessionId: string;
      readonly runId: string;
    }
  /**
   * A schedule could not be fired, for example because this version of Node does not know its time zone. The worker retries after
   * `retryInMs` milliseconds.
   */
  | {
      readonly type: "schedule_failed";
      /** The id of the schedule or delayed message. */
      readonly scheduleId: string;
      /** Why it could not be fired. */
      readonly error: unknown;
      readonly retryInMs: number;
    }
  /** A notice could not be delivered. `retryInMs` is null if the notice is dead: it is listed, and not retried. */
  | ({ readonly type: "notice_failed" } & NoticeFailure)
  /** A query for due work failed. The worker retries after `retryInMs` milliseconds. */
  | {
      readonly type: "store_failed";
      /** The error that the store threw. */
      readonly error: unknown;
      readonly retryInMs: number;
    };

/** Options of a worker. */
export type WorkerOptions = {
  readonly store: Store;
  /**
   * The agents whose sessions the worker drives, including the agents that they can hand off to. Or a function that returns the agent
   * of a session, or null.
   */
  readonly agents:
    | readonly WorkingAgent[]
    | ((session: SessionBinding, sessionId: string) => Promise<WorkingAgent | null>);
  /** The maximum number of sessions that run at the same time. Default: 16. */
  readonly concurrency?: number;
  /** The maximum time between two queries for due sessions, in milliseconds. Default: 1,000. */
  readonly pollMs?: number;

  /**
   * Judges ended sessions while the worker drives others; created by `createScores` of `pawl/evals`. Default: nothing is judged.
   */
  readonly scores?: WorkerScores;

  /**
   * Notifies other systems, and browsers, when a run waits for a person or has ended, or a schedule has missed times; created by
   * `createNotices` of `pawl/notices`. Default: no notices.
   */
  readonly notices?: WorkerNotices;

  /** For tests: the clock that decides when sessions and schedules are due. Default: the system's clock. */
  readonly clock?: Clock;
  /** Called with each report of the worker. */
  readonly onReport?: (report: WorkerReport) => void;
};

/** Drives the due sessions of a store. */
export type Worker = {
  /**
   * Fires due schedules, and drives all sessions that are due or become due meanwhile. Resolves when nothing is due.
   * @throws PawlError `bad_configuration` if handoffs lead to two agents of one name, or if the store fails
   */
  readonly runUntilIdle: () => Promise<void>;
  /**
   * Fires schedules and drives sessions as they become due, until `stop`. If the store fails, the worker retries with exponential backoff
   * from 1 s to 30 s.
   * @throws PawlError `bad_configuration` as above; `store_closed`
   */
  readonly run: () => Promise<void>;
  /**
   * Claims no more sessions, and waits up to `graceMs` (milliseconds, default: 5,000) for the running ones. Sessions that are still running
   * then are interrupted, and are due again. Judges of `scores` and deliveries of `notices` are stopped.
   */
  readonly stop: (options?: { readonly graceMs?: number }) => Promise<void>;
  /** The current state of the worker. */
  readonly status: () => {
    /** How many sessions the worker is driving. */
    readonly running: number;
    /** The sessions that the worker could not resume, and has not resumed since. */
    readonly refused: readonly string[];
  };
};

export const workerOptionRules: OptionTable<WorkerOptions> = {
  store: required(aStore),
  agents: required({
    accepts: (value) => Array.isArray(value) || typeof value === "function",
    expected: "an array or a function",
  }),
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
