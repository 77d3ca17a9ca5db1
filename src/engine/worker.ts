/**
 * A worker: finds the due sessions of a store, and drives them.
 *
 * A session is due if nobody holds it, and it has a message in its inbox, or its driver died, or one of its waits is
 * over. Any number of workers can share a store. The store's claim decides which of them drives a session.
 */

import { aFunction, aStore, checkOptions, numberFrom, type OptionTable, wholeNumber } from "../check-options.js";
import type { SessionBinding } from "../core/machine/state.js";
import type { RunResult } from "../core/view/outcome.js";
import { PawlError } from "../errors.js";
import type { Clock } from "../ports/clock.js";
import type { Holder, Store } from "../ports/store.js";
import { bindingOf } from "../runtime/api/beginning.js";
import { driversByName } from "../runtime/api/drivers.js";

/** The part of an agent that a worker uses. */
export type WorkingAgent = {
  /** The options of the agent, of which the name is read. */
  readonly options: {
    /** Default: "agent". */
    readonly name?: string;
  };
  /** A session of the agent. */
  readonly session: (sessionId: string) => {
    /** Carries the session on. */
    readonly resume: (options: {
      /** The call rejects with `session_busy` if another process holds the session. */
      readonly follow: false;
      /** Called when the session was claimed. */
      readonly onTaken: () => void;
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
   * The session could not be carried on. If the store failed, this worker tries again after `retryInMs`, in milliseconds.
   * Null: it does not try again, for example because it has no agent of that name.
   */
  | {
      readonly type: "refused";
      readonly sessionId: string;
      /** Why not. */
      readonly error: unknown;
      readonly retryInMs: number | null;
    }
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

  /** Is told what the worker does. */
  readonly onReport?: (report: WorkerReport) => void;
};

/** Drives the due sessions of a store. */
export type Worker = {
  /**
   * Drives all sessions that are due or become due meanwhile. Resolves when none is.
   * @throws PawlError `bad_configuration` if handoffs lead to two agents of one name, or if the store fails
   */
  readonly runUntilIdle: () => Promise<void>;
  /**
   * Drives sessions as they become due, until `stop`. If the store fails, the worker asks it again: after 1 s, then less
   * and less often, down to every 30 s.
   * @throws PawlError `bad_configuration` as above; `store_closed`
   */
  readonly run: () => Promise<void>;
  /**
   * Takes no more sessions, and waits up to `graceMs` (milliseconds, default: 5,000) for those under way. A session
   * that is interrupted then is due again.
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
  agents: { takes: (value) => Array.isArray(value) || typeof value === "function", wanted: "an array or a function" },
  concurrency: wholeNumber(1),
  pollMs: numberFrom(1),
  onReport: aFunction,
};

type Grace = { readonly graceMs?: number };

const graceRules: OptionTable<Grace> = { graceMs: numberFrom(0) };

/** @throws PawlError `bad_input` */
export function checkGrace(what: "stop()" | "shutdown()", options: Grace): void {
  const otherNames = { timeout: "graceMs", timeoutMs: "graceMs" };
  checkOptions(what, graceRules, options, { code: "bad_input", otherNames });
}

/** How often a session was refused in a row, and until when: by the clock's `elapsed`. */
type Refusal = { readonly times: number; readonly until: number };

/** The store may have failed for a moment. A session that is about to begin may be empty for one. */
function mayPass(error: unknown): boolean {
  return error instanceof PawlError && (error.code === "store_failed" || error.code === "no_session");
}

const firstRetryMs = 1_000;
const longestRetryMs = 30_000;

function retryMs(failures: number): number {
  return Math.min(longestRetryMs, firstRetryMs * 2 ** (failures - 1));
}

/** Among how many sessions a worker chooses, for each place that it has. */
const choiceOf = 4;

type WorkerDefaults = {
  readonly clock: Clock;
  readonly isDead: (holder: Holder) => boolean;
  /** A number from 0 up to 1. */
  readonly random: () => number;
};

export function buildWorker(options: WorkerOptions, { clock, isDead, random }: WorkerDefaults): Worker {
  checkOptions("createWorker()", workerOptionRules, options);
  const { store, concurrency = 16, pollMs = 1_000, onReport = () => {} } = options;
  const running = new Map<string, Promise<void>>();
  const refused = new Map<string, Refusal>();
  /** Sessions that another process had claimed before, and until when they are left to it: by the clock's `elapsed`. */
  const passed = new Map<string, number>();
  const agents = new Set<WorkingAgent>();
  let drivers: ReadonlyMap<string, WorkingAgent> | null = null;
  let stopped = false;
  /** Whether something has happened that the last look may not have seen. */
  let isWoken = false;
  let endWait = () => {};

  function wake(): void {
    isWoken = true;
    endWait();
  }

  async function find(session: SessionBinding, sessionId: string): Promise<WorkingAgent | null> {
    if (typeof options.agents === "function") return options.agents(session, sessionId);
    return index(options.agents).get(session.agent) ?? null;
  }

  /** Made when it is first needed: the functions of handoffs may name agents that are created later. */
  function index(given: readonly WorkingAgent[]): ReadonlyMap<string, WorkingAgent> {
    drivers ??= driversByName(given);
    return drivers;
  }

  /**
   * Finds the agent that can carry the session on. A worker may not know the agent of a child session, because only the
   * parent's tool knows it. Then the agent of the session at the top carries the child on, and all sessions above it:
   * each of them may go on when the one below does.
   */
  async function findResumable(
    sessionId: string,
  ): Promise<{ readonly agent: WorkingAgent; readonly sessionIds: readonly string[] }> {
    const session = await infoOf(store, sessionId);
    const own = await find(session, sessionId);
    if (own !== null) return { agent: own, sessionIds: [sessionId] };
    const { top } = session;
    const topAgent = top === undefined ? null : await find(await infoOf(store, top), top);
    if (topAgent !== null) return { agent: topAgent, sessionIds: await chainFrom(store, sessionId) };
    throw new PawlError(
      "agent_mismatch",
      `Session ${sessionId} belongs to the agent "${session.agent}", which this worker does not have. Add the agent, or leave the session to another worker.`,
    );
  }

  async function drive(sessionId: string): Promise<void> {
    try {
      const { agent, sessionIds } = await findResumable(sessionId);
      agents.add(agent);
      for (const id of sessionIds) if (!stopped) await resume(id, agent, sessionIds.length === 1);
    } catch (error) {
      // Its agent is shut down already: the session is due, and others take it.
      if (!(stopped && error instanceof PawlError && error.code === "shut_down")) refuse(sessionId, error);
    }
  }

  function refuse(sessionId: string, error: unknown): void {
    const times = (refused.get(sessionId)?.times ?? 0) + 1;
    const retryInMs = mayPass(error) ? retryMs(times) : null;
    refused.set(sessionId, { times, until: clock.elapsed() + (retryInMs ?? Number.POSITIVE_INFINITY) });
    onReport({ type: "refused", sessionId, error, retryInMs });
  }

  function isLeftAlone(sessionId: string): boolean {
    const until = passed.get(sessionId) ?? refused.get(sessionId)?.until ?? Number.NEGATIVE_INFINITY;
    if (clock.elapsed() < until) return true;
    passed.delete(sessionId);
    return false;
  }

  /** @param withNext whether runs that are queued behind the present one are driven, too */
  async function resume(sessionId: string, agent: WorkingAgent, withNext: boolean): Promise<void> {
    const session = agent.session(sessionId);
    let isTaken = false;
    const onTaken = () => {
      if (!isTaken) onReport({ type: "taken", sessionId, agent: agent.options.name ?? "agent" });
      isTaken = true;
    };
    try {
      for (let hasNext = true; hasNext; ) {
        const result = await session.resume({ follow: false, onTaken });
        refused.delete(sessionId);
        if (isTaken) onReport({ type: "left", sessionId, result });
        hasNext = !stopped && withNext && (result.status === "completed" || result.status === "failed");
      }
    } catch (error) {
      if (!(error instanceof PawlError)) throw error;
      // Somebody else was quicker, or has finished the run. This worker follows nothing: it would keep a place for it.
      if (error.code === "session_busy") passed.set(sessionId, clock.elapsed() + pollMs);
      else if (error.code !== "run_finished") throw error;
    }
  }

  async function takeDue(): Promise<void> {
    isWoken = false;
    if (stopped || running.size >= concurrency) return;
    // More than this worker can take: other workers ask for the same ones, and each begins elsewhere among them.
    const limit = choiceOf * concurrency + running.size + refused.size + passed.size;
    const due = (await store.due(clock.now(), limit, isDead)).filter((id) => !running.has(id) && !isLeftAlone(id));
    const start = Math.floor(random() * Math.max(0, due.length - (concurrency - running.size) + 1));
    for (const sessionId of [...due.slice(start), ...due.slice(0, start)]) {
      if (stopped || running.size >= concurrency) return;
      if (running.has(sessionId)) continue;
      const driving = drive(sessionId).finally(() => {
        running.delete(sessionId);
        wake();
      });
      running.set(sessionId, driving);
    }
  }

  async function runUntilIdle(): Promise<void> {
    if (typeof options.agents !== "function") index(options.agents);
    for (await takeDue(); running.size > 0; await takeDue()) await Promise.race(running.values());
  }

  async function run(): Promise<void> {
    if (typeof options.agents !== "function") index(options.agents);
    // A commit makes no session due: a message does, or a time, or the end of a process.
    const unwatch = store.watch((change) => {
      if (change.in !== "log") wake();
    });
    let failures = 0;
    try {
      while (!stopped) {
        try {
          await takeDue();
          failures = 0;
          await nextWake(pollMs);
        } catch (error) {
          if (error instanceof PawlError && error.code === "store_closed") throw error;
          failures += 1;
          const retryInMs = retryMs(failures);
          onReport({ type: "store_failed", error, retryInMs });
          await nextWake(retryInMs, { byStop: true });
        }
      }
    } finally {
      unwatch();
    }
  }

  /** @param byStop whether only `stop` ends the wait early, and no change in the store does */
  function nextWake(ms: number, { byStop = false } = {}): Promise<void> {
    return new Promise((resolve) => {
      const cancel = clock.after(ms, resolve);
      endWait = () => {
        if (byStop && !stopped) return;
        cancel();
        resolve();
      };
      if (stopped || isWoken) endWait();
    });
  }

  async function stop(options: Grace = {}): Promise<void> {
    checkGrace("stop()", options);
    const { graceMs = 5_000 } = options;
    stopped = true;
    wake();
    await Promise.all([...agents].map((agent) => agent.shutdown({ graceMs })));
    await Promise.all(running.values());
  }

  const status = () => Object.freeze({ running: running.size, refused: Object.freeze([...refused.keys()]) });

  return { runUntilIdle, run, stop, status };
}

/** A child session and the sessions above it, from the bottom up. */
async function chainFrom(store: Store, sessionId: string): Promise<readonly string[]> {
  const chain: string[] = [];
  for (let id: string | undefined = sessionId; id !== undefined && !chain.includes(id); ) {
    chain.push(id);
    id = (await infoOf(store, id)).parent?.sessionId;
  }
  return chain;
}

/** What a session is bound to. @throws PawlError `no_session` */
async function infoOf(store: Store, sessionId: string): Promise<SessionBinding> {
  const session = await bindingOf(store, sessionId);
  if (session !== null) return session;
  throw new PawlError(
    "no_session",
    `Session ${sessionId} is empty: neither its log nor its inbox names an agent. Send it an input first.`,
  );
}
