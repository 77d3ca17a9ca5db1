/**
 * A worker: finds the due sessions of a store, and drives them.
 *
 * A session is due if nobody holds it, and it has a message in its inbox, or its driver died, or one of its waits is
 * over. Any number of workers can share a store. The store's claim decides which of them drives a session.
 */

import { checkOptions } from "../check-options.js";
import { defined } from "../core/data/defined.js";
import type { Fault } from "../core/data/message.js";
import type { SessionBinding } from "../core/machine/state.js";
import type { RunResult } from "../core/view/outcome.js";
import { PawlError } from "../errors.js";
import type { Clock } from "../ports/clock.js";
import type { Holder, Store } from "../ports/store.js";
import type { SessionLook } from "../runtime/api/beginning.js";
import { driversByName } from "../runtime/api/drivers.js";
import { createContention } from "./contention.js";
import { createStandstills, mayPass, retryMs } from "./retries.js";
import { chainFrom, type LookedAt, lookAtSession } from "./session-chain.js";
import {
  checkGrace,
  type Grace,
  type Worker,
  type WorkerOptions,
  type WorkingAgent,
  workerOptionRules,
} from "./worker-options.js";

/** How often a session was refused in a row, and until when: by the clock's `elapsed`. */
type Refusal = { readonly times: number; readonly until: number };

/** Among how many sessions a worker chooses, for each place that it has. */
const choiceOf = 4;

/** Milliseconds that a worker waits for its claims before it claims more. An agent may take long to be found. */
const longestClaimMs = 100;

/** How a session was driven: the last result, null if its agent found nothing to do, and whether this worker claimed it. */
type Drive = { readonly result: RunResult | null; readonly isTaken: boolean };

/** The sessions that an agent is to carry on, in this order, and what was read of the first one. */
type Resumable = { readonly agent: WorkingAgent; readonly sessionIds: readonly string[]; readonly seen?: SessionLook };

type WorkerDefaults = {
  readonly clock: Clock;
  readonly isDead: (holder: Holder) => boolean;
  /** A number from 0 up to 1. */
  readonly random: () => number;
};

export function buildWorker(options: WorkerOptions, { clock, isDead, random }: WorkerDefaults): Worker {
  checkOptions("createWorker()", workerOptionRules, options);
  const { store, concurrency = 16, pollMs = 1_000, onReport = () => {} } = options;
  if (typeof options.agents !== "function") for (const agent of options.agents) checkStore(agent, store);
  const contention = createContention(clock, random);
  const running = new Map<string, Promise<void>>();
  const refused = new Map<string, Refusal>();
  /** Sessions that another caller or process may have, and until when they are left to it: by the clock's `elapsed`. */
  const passed = new Map<string, number>();
  const standstills = createStandstills();
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
    if (typeof options.agents === "function") {
      const found = await options.agents(session, sessionId);
      if (found !== null) checkStore(found, store);
      return found;
    }
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
  async function findResumable(sessionId: string, { session, seen }: LookedAt): Promise<Resumable> {
    const own = await find(session, sessionId);
    // A function may take long: then what was read before is old.
    const isFresh = typeof options.agents !== "function";
    if (own !== null) return { agent: own, sessionIds: [sessionId], ...(isFresh ? { seen } : {}) };
    const { top } = session;
    const topAgent = top === undefined ? null : await find((await lookAtSession(store, top)).session, top);
    if (topAgent !== null) return { agent: topAgent, sessionIds: await chainFrom(store, sessionId) };
    throw new PawlError(
      "agent_mismatch",
      `Session ${sessionId} belongs to the agent "${session.agent}", which this worker does not have. Add the agent to the option agents of the worker (pawl worker MODULE: a module that exports it), or leave the session to another worker.`,
    );
  }

  async function drive(sessionId: string, onDecided: () => void): Promise<void> {
    try {
      const looked = await lookAtSession(store, sessionId);
      const fruitless = standstills.check(sessionId, looked.seen);
      if (fruitless !== null) {
        const { times, storeFault } = fruitless;
        // A look reads the inbox before the log, and a message may come at any time: one look that is the same proves nothing.
        if (times === 1 && storeFault === undefined) return void passed.set(sessionId, clock.elapsed() + retryMs(1));
        return refuse(sessionId, standstillError(sessionId, looked.session, storeFault), Math.max(1, times - 1));
      }
      const resumable = await findResumable(sessionId, looked);
      agents.add(resumable.agent);
      let drive: Drive = { result: null, isTaken: false };
      for (const id of resumable.sessionIds) {
        if (stopped) break;
        const driven = await resume(id, resumable, onDecided);
        if (id === sessionId) drive = driven;
      }
      if (!passed.has(sessionId) && mayStandStill(drive))
        standstills.note(
          sessionId,
          looked.seen,
          drive.result?.status === "interrupted" ? drive.result.error : undefined,
        );
    } catch (error) {
      // Its agent is shut down already: the session is due, and others take it.
      if (!(stopped && error instanceof PawlError && error.code === "shut_down")) refuse(sessionId, error);
    }
  }

  function refuse(sessionId: string, error: unknown, times = (refused.get(sessionId)?.times ?? 0) + 1): void {
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

  /** If it is a session by itself, runs that are queued behind the present one are driven, too. */
  async function resume(
    sessionId: string,
    { agent, sessionIds, seen }: Resumable,
    onDecided: () => void,
  ): Promise<Drive> {
    const session = agent.session(sessionId);
    let isTaken = false;
    const onTaken = () => {
      if (!isTaken) {
        contention.won();
        onReport({ type: "taken", sessionId, agent: agent.options.name ?? "agent" });
      }
      isTaken = true;
      onDecided();
    };
    let hasNext = true;
    const onLeft = () => {
      hasNext = false;
    };
    let result: RunResult | null = null;
    try {
      for (let first = defined({ seen }); hasNext; first = {}) {
        result = await session.resume({ follow: false, onTaken, onLeft, ...first });
        refused.delete(sessionId);
        if (isTaken) onReport({ type: "left", sessionId, result });
        const isOver = result.status === "completed" || result.status === "failed";
        hasNext &&= !stopped && sessionIds.length === 1 && isOver;
      }
    } catch (error) {
      if (!(error instanceof PawlError)) throw error;
      // Somebody else was quicker, or has finished the run. This worker follows nothing: it would keep a place for it.
      if (error.code === "session_busy") {
        passed.set(sessionId, clock.elapsed() + pollMs);
        contention.lost();
      } else if (error.code !== "run_finished") throw error;
    }
    return { result, isTaken };
  }

  /** Begins with what is due, as far as there are places. Resolves to whether it has begun with anything. */
  async function takeDue(): Promise<boolean> {
    isWoken = false;
    if (stopped || running.size >= concurrency) return false;
    await contention.wait();
    isWoken = false;
    if (stopped) return false;
    // More than this worker can take: other workers ask for the same ones, and each begins elsewhere among them.
    const limit = choiceOf * concurrency + running.size + refused.size + passed.size;
    const found = new Set(await store.due(clock.now(), limit, isDead));
    standstills.keep((id) => found.has(id) || running.has(id));
    const due = [...found].filter((id) => !running.has(id) && !isLeftAlone(id));
    const claiming = new Set<Promise<void>>();
    const losses = contention.losses();
    for (const sessionId of from(due, concurrency - running.size, random)) {
      if (claiming.size >= contention.mostClaims()) await within(longestClaimMs, Promise.race(claiming));
      if (stopped || running.size >= concurrency) break;
      if (running.has(sessionId)) continue;
      // Another worker is at the same list: this one looks again at what is left of it.
      if (contention.losses() > losses) {
        isWoken = true;
        break;
      }
      const decided = begin(sessionId).then(() => void claiming.delete(decided));
      claiming.add(decided);
    }
    return due.length > 0;
  }

  /** Resolves when it is decided who has the session. */
  function begin(sessionId: string): Promise<void> {
    return new Promise((resolve) => {
      const driving = drive(sessionId, resolve).finally(() => {
        running.delete(sessionId);
        resolve();
        wake();
      });
      running.set(sessionId, driving);
    });
  }

  function within(ms: number, done: Promise<unknown>): Promise<void> {
    return new Promise((resolve) => {
      const cancel = clock.after(ms, resolve);
      void done.then(cancel).then(resolve);
    });
  }

  async function runUntilIdle(): Promise<void> {
    if (typeof options.agents !== "function") index(options.agents);
    // A session may be done before its claim was waited for: only a look that begins with nothing says that nothing is due.
    while ((await takeDue()) || running.size > 0) if (running.size > 0) await Promise.race(running.values());
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

/**
 * Whether a session that is as it was before may be one that its agent does not find. It is none if another caller in this
 * process drives it at the moment, or if another process took it over.
 */
function mayStandStill({ result, isTaken }: Drive): boolean {
  if (result === null || result.status === "awaiting_human") return true;
  return result.status === "interrupted" ? result.reason === "store_failed" : isTaken;
}

/** @param storeFault why the agent could not go on, if its store failed: then it need not be another store */
function standstillError(sessionId: string, { agent }: SessionBinding, storeFault?: Fault): PawlError {
  if (storeFault !== undefined)
    return new PawlError(
      "store_failed",
      `The store failed while the agent "${agent}" carried session ${sessionId} on: ${storeFault.message}`,
    );
  return new PawlError(
    "no_session",
    `The agent "${agent}" has driven session ${sessionId}, and nothing has changed in this worker's store. The agent probably has another store: create it with this one.`,
  );
}

/**
 * An agent with another store finds none of the worker's sessions. A store that was made from the agent's, with some members
 * replaced, still has its `commit`.
 * @throws PawlError `bad_configuration`
 */
function checkStore({ options: { name = "agent", store } }: WorkingAgent, own: Store): void {
  if (store === undefined || store === own || store.commit === own.commit) return;
  throw new PawlError(
    "bad_configuration",
    `The agent "${name}" has another store than the one given here, and would find none of its sessions. Create the agent with this store: createAgent({ store }). An agent that was given none has a store in memory of its own.`,
  );
}

/** The list, begun at a place by chance: if there is more than places, so that the longest due are among those that are taken. */
function from(due: readonly string[], places: number, random: () => number): readonly string[] {
  const most = due.length <= places ? due.length : due.length - places + 1;
  const start = Math.floor(random() * most);
  return [...due.slice(start), ...due.slice(0, start)];
}
