/**
 * A worker: fires the due schedules of a store, finds its due sessions, and drives them.
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
import { createCheckedClock } from "../runtime/agent/checked-clock.js";
import { findDriversByName } from "../runtime/api/drivers.js";
import type { SessionLook } from "../runtime/api/session-beginning.js";
import { createContention } from "./contention.js";
import { createDelivering } from "./delivering.js";
import { loadSessionChain, lookUpSession, type SessionLookup } from "./look-up-session.js";
import { createStallDetector, isTransient, retryDelayMs } from "./retries.js";
import { createScheduleLooks } from "./schedule-looks.js";
import { createScoring } from "./scoring.js";
import {
  checkGrace,
  type GraceOptions,
  type Worker,
  type WorkerOptions,
  type WorkingAgent,
  workerOptionRules,
} from "./worker-options.js";

/** How often a session was refused in a row, and until when: by the clock's `elapsed`. */
type RefusalRecord = { readonly times: number; readonly until: number };

/** Among how many sessions a worker chooses, for each place that it has. */
const overfetchFactor = 4;

/** How often a worker removes expired signals, and how many in one transaction. */
const dropEveryMs = 60_000;
const signalsPerDrop = 1_000;

/** Milliseconds that a worker waits for its claims before it claims more. An agent may take long to be found. */
const maxClaimMs = 100;

/** How a session was driven: the last result, null if its agent found nothing to do, and whether this worker claimed it. */
type DriveResult = { readonly result: RunResult | null; readonly isTaken: boolean };

/** The sessions that an agent is to carry on, in this order, and what was read of the first one. */
type ResumePlan = { readonly agent: WorkingAgent; readonly sessionIds: readonly string[]; readonly seen?: SessionLook };

type WorkerDeps = {
  readonly clock: Clock;
  readonly isDead: (holder: Holder) => boolean;
  /** A number from 0 up to 1. */
  readonly random: () => number;
};

export function buildWorker(options: WorkerOptions, { clock: defaultClock, isDead, random }: WorkerDeps): Worker {
  checkOptions("createWorker()", workerOptionRules, options);
  const clock = createCheckedClock(options.clock ?? defaultClock);
  const { store, concurrency = 16, pollMs = 1_000, onReport = () => {} } = options;
  if (typeof options.agents !== "function") for (const agent of options.agents) assertSameStore(agent, store);
  const contention = createContention(clock, random);
  const running = new Map<string, Promise<void>>();
  const refusals = new Map<string, RefusalRecord>();
  /** Sessions that another caller or process may have, and until when they are left to it: by the clock's `elapsed`. */
  const skippedUntil = new Map<string, number>();
  const stallDetector = createStallDetector();
  const scheduleLooks = createScheduleLooks({ store, clock, pollMs, onReport, isStopped: () => isStopped });
  const agents = new Set<WorkingAgent>();
  let agentsByName: ReadonlyMap<string, WorkingAgent> | null = null;
  const scoring = createScoring(options, clock);
  const delivering = createDelivering(options, { clock, random });
  let isStopped = false;
  /** Whether something has happened that the last look may not have seen. */
  let isWoken = false;
  /** Whether the last look has left sessions that were due. */
  let hasLeftDue = false;
  /** Sessions that were released with nothing left to do. */
  const released = new Set<string>();
  let interruptWait = () => {};
  /** When old signals are removed next, by the clock's `elapsed`. */
  let nextDropAt = Number.NEGATIVE_INFINITY;

  function wake(): void {
    isWoken = true;
    interruptWait();
  }

  async function findAgent(session: SessionBinding, sessionId: string): Promise<WorkingAgent | null> {
    if (typeof options.agents === "function") {
      const found = await options.agents(session, sessionId);
      if (found !== null) assertSameStore(found, store);
      return found;
    }
    return indexAgents(options.agents).get(session.agent) ?? null;
  }

  /** Made when it is first needed: the functions of handoffs may name agents that are created later. */
  function indexAgents(workingAgents: readonly WorkingAgent[]): ReadonlyMap<string, WorkingAgent> {
    agentsByName ??= findDriversByName(workingAgents);
    return agentsByName;
  }

  /**
   * Finds the agent that can carry the session on. A worker may not know the agent of a child session, because only the
   * parent's tool knows it. Then the agent of the session at the top carries the child on, and all sessions above it:
   * each of them may go on when the one below does.
   */
  async function findResumable(sessionId: string, { binding, seen }: SessionLookup): Promise<ResumePlan> {
    const own = await findAgent(binding, sessionId);
    // A function may take long: then what was read before is old.
    const isFresh = typeof options.agents !== "function";
    if (own !== null) return { agent: own, sessionIds: [sessionId], ...(isFresh ? { seen } : {}) };
    const { top } = binding;
    const topAgent = top === undefined ? null : await findAgent((await lookUpSession(store, top)).binding, top);
    if (topAgent !== null) return { agent: topAgent, sessionIds: await loadSessionChain(store, sessionId) };
    throw new PawlError(
      "agent_mismatch",
      `Session ${sessionId} belongs to the agent "${binding.agent}", which this worker does not have. Add the agent to the option agents of the worker (pawl worker MODULE: a module that exports it), or leave the session to another worker.`,
    );
  }

  async function driveSession(sessionId: string, onClaimSettled: () => void): Promise<void> {
    try {
      const lookup = await lookUpSession(store, sessionId);
      const stall = stallDetector.check(sessionId, lookup.seen);
      if (stall !== null) {
        const { times, storeFault } = stall;
        // A look reads the inbox before the log, and a message may come at any time: one look that is the same proves nothing.
        if (times === 1 && storeFault === undefined)
          return void skippedUntil.set(sessionId, clock.elapsed() + retryDelayMs(1));
        return refuse(sessionId, createStallError(sessionId, lookup.binding, storeFault), Math.max(1, times - 1));
      }
      const resumable = await findResumable(sessionId, lookup);
      agents.add(resumable.agent);
      let driveResult: DriveResult = { result: null, isTaken: false };
      for (const id of resumable.sessionIds) {
        if (isStopped) break;
        const driven = await resume(id, resumable, onClaimSettled);
        if (id === sessionId) driveResult = driven;
      }
      if (!skippedUntil.has(sessionId) && mayBeStalled(driveResult))
        stallDetector.record(
          sessionId,
          lookup.seen,
          driveResult.result?.status === "interrupted" ? driveResult.result.error : undefined,
        );
    } catch (error) {
      // Its agent is shut down already: the session is due, and others take it.
      if (!(isStopped && error instanceof PawlError && error.code === "shut_down")) refuse(sessionId, error);
    }
  }

  function refuse(sessionId: string, error: unknown, times = (refusals.get(sessionId)?.times ?? 0) + 1): void {
    const retryInMs = isTransient(error) ? retryDelayMs(times) : null;
    refusals.set(sessionId, { times, until: clock.elapsed() + (retryInMs ?? Number.POSITIVE_INFINITY) });
    onReport({ type: "refused", sessionId, error, retryInMs });
  }

  function isBackedOff(sessionId: string): boolean {
    const until = skippedUntil.get(sessionId) ?? refusals.get(sessionId)?.until ?? Number.NEGATIVE_INFINITY;
    if (clock.elapsed() < until) return true;
    skippedUntil.delete(sessionId);
    return false;
  }

  /** If it is a session by itself, runs that are queued behind the present one are driven, too. */
  async function resume(
    sessionId: string,
    { agent, sessionIds, seen }: ResumePlan,
    onClaimSettled: () => void,
  ): Promise<DriveResult> {
    const session = agent.session(sessionId);
    let isTaken = false;
    const onTaken = () => {
      if (!isTaken) {
        contention.recordWin();
        onReport({ type: "taken", sessionId, agent: agent.options.name ?? "agent" });
      }
      isTaken = true;
      onClaimSettled();
    };
    let hasNext = true;
    const onLeft = () => {
      hasNext = false;
      if (sessionIds.length === 1) released.add(sessionId);
    };
    let result: RunResult | null = null;
    try {
      for (let firstOptions = defined({ seen }); hasNext; firstOptions = {}) {
        result = await session.resume({ follow: false, onTaken, onLeft, ...firstOptions });
        refusals.delete(sessionId);
        if (isTaken) onReport({ type: "left", sessionId, result });
        const hasEnded = result.status === "completed" || result.status === "failed";
        hasNext &&= !isStopped && sessionIds.length === 1 && hasEnded;
      }
    } catch (error) {
      if (!(error instanceof PawlError)) throw error;
      // Somebody else was quicker, or has finished the run. This worker follows nothing: it would keep a place for it.
      if (error.code === "session_busy") {
        skippedUntil.set(sessionId, clock.elapsed() + pollMs);
        contention.recordLoss();
      } else if (error.code !== "run_finished") throw error;
    }
    return { result, isTaken };
  }

  /** Removes expired signals: at most once a minute, because nothing depends on it. */
  async function dropOldSignals(): Promise<void> {
    if (store.signals === undefined || clock.elapsed() < nextDropAt) return;
    nextDropAt = clock.elapsed() + dropEveryMs;
    // What is left is removed in the next turns, so that claims do not wait for a backlog.
    if ((await store.signals.drop(clock.now(), signalsPerDrop)) === signalsPerDrop) nextDropAt = clock.elapsed();
  }

  /** Begins with what is due, as far as there are places. Resolves to whether it has begun with anything. */
  async function claimDue(): Promise<boolean> {
    isWoken = false;
    hasLeftDue = running.size >= concurrency;
    if (isStopped || hasLeftDue) return false;
    await contention.backOff();
    isWoken = false;
    if (isStopped) return false;
    // More than this worker can take: other workers ask for the same ones, and each begins elsewhere among them.
    const limit = overfetchFactor * concurrency + running.size + refusals.size + skippedUntil.size;
    const found = new Set(await store.due(clock.now(), limit, isDead));
    stallDetector.retain((id) => found.has(id) || running.has(id));
    const due = [...found].filter((id) => !running.has(id) && !isBackedOff(id));
    hasLeftDue = due.length < found.size;
    let begunCount = 0;
    const pendingClaims = new Set<Promise<void>>();
    const losses = contention.losses();
    for (const sessionId of rotateAtRandom(due, concurrency - running.size, random)) {
      if (pendingClaims.size >= contention.maxClaims()) await waitAtMost(maxClaimMs, Promise.race(pendingClaims));
      if (isStopped || running.size >= concurrency) break;
      if (running.has(sessionId)) continue;
      // Another worker is at the same list: this one looks again at what is left of it.
      if (contention.losses() > losses) {
        isWoken = true;
        break;
      }
      const claimSettled = startDriving(sessionId).then(() => void pendingClaims.delete(claimSettled));
      pendingClaims.add(claimSettled);
      begunCount += 1;
    }
    if (begunCount < due.length) hasLeftDue = true;
    return due.length > 0;
  }

  /** Resolves when it is decided who has the session. */
  function startDriving(sessionId: string): Promise<void> {
    return new Promise((resolve) => {
      const driving = driveSession(sessionId, resolve).finally(() => {
        running.delete(sessionId);
        resolve();
        // The store reports what else becomes due.
        if (!released.delete(sessionId) || hasLeftDue) wake();
      });
      running.set(sessionId, driving);
    });
  }

  function waitAtMost(ms: number, promise: Promise<unknown>): Promise<void> {
    return new Promise((resolve) => {
      const cancel = clock.after(ms, resolve);
      void promise.then(cancel).then(resolve);
    });
  }

  async function runUntilIdle(): Promise<void> {
    if (typeof options.agents !== "function") indexAgents(options.agents);
    await delivering.register();
    // A session may be done before its claim was waited for: only a look that begins with nothing says that nothing is due.
    await scheduleLooks.fire();
    while ((await claimDue()) || running.size > 0 || (await scheduleLooks.fire())) {
      if (running.size > 0) await Promise.race(running.values());
      await scheduleLooks.fireIfDue();
    }
    await scoring.catchUp({ isForced: true });
    await delivering.catchUp({ isForced: true });
    await dropOldSignals();
  }

  async function run(): Promise<void> {
    if (typeof options.agents !== "function") indexAgents(options.agents);
    // A commit makes no session due: a message does, or a time, or the end of a process.
    const unwatch = store.watch((change) => {
      if (change.in !== "log") wake();
    });
    let failures = 0;
    try {
      while (!isStopped) {
        try {
          await delivering.register();
          const failure = await scheduleLooks.look();
          // Sessions are driven even while schedules cannot be fired.
          await claimDue();
          if (failure !== null) onReport({ type: "store_failed", ...failure });
          void scoring.catchUp();
          void delivering.catchUp();
          await dropOldSignals();
          failures = 0;
          await waitForWake(scheduleLooks.msToNext());
        } catch (error) {
          if (error instanceof PawlError && error.code === "store_closed") throw error;
          failures += 1;
          const retryInMs = retryDelayMs(failures);
          onReport({ type: "store_failed", error, retryInMs });
          await waitForWake(retryInMs, { byStop: true });
        }
      }
    } finally {
      unwatch();
    }
  }

  /** @param byStop whether only `stop` ends the wait early, and no change in the store does */
  function waitForWake(ms: number, { byStop: onlyOnStop = false } = {}): Promise<void> {
    return new Promise((resolve) => {
      const cancel = clock.after(ms, resolve);
      interruptWait = () => {
        if (onlyOnStop && !isStopped) return;
        cancel();
        resolve();
      };
      if (isStopped || isWoken) interruptWait();
    });
  }

  async function stop(options: GraceOptions = {}): Promise<void> {
    checkGrace("stop()", options);
    const { graceMs = 5_000 } = options;
    isStopped = true;
    wake();
    const scoringEnd = scoring.stop(graceMs);
    await Promise.all([...agents].map((agent) => agent.shutdown({ graceMs })));
    await Promise.all(running.values());
    await scoringEnd;
    await delivering.stop();
  }

  const status = () => Object.freeze({ running: running.size, refused: Object.freeze([...refusals.keys()]) });

  return { runUntilIdle, run, stop, status };
}

/**
 * Whether a session that is as it was before may be one that its agent does not find. It is none if another caller in this
 * process drives it at the moment, or if another process took it over.
 */
function mayBeStalled({ result, isTaken }: DriveResult): boolean {
  if (result === null || result.status === "awaiting_human" || result.status === "waiting") return true;
  return result.status === "interrupted" ? result.reason === "store_failed" : isTaken;
}

/** @param storeFault why the agent could not go on, if its store failed: then it need not be another store */
function createStallError(sessionId: string, { agent }: SessionBinding, storeFault?: Fault): PawlError {
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
function assertSameStore({ options: { name = "agent", store } }: WorkingAgent, own: Store): void {
  if (store === undefined || store === own || store.commit === own.commit) return;
  throw new PawlError(
    "bad_configuration",
    `The agent "${name}" has another store than the one given here, and would find none of its sessions. Create the agent with this store: createAgent({ store }). An agent that was given none has a store in memory of its own.`,
  );
}

/** The list, begun at a place by chance: if there is more than places, so that the longest due are among those that are taken. */
function rotateAtRandom(due: readonly string[], slots: number, random: () => number): readonly string[] {
  const startCount = due.length <= slots ? due.length : due.length - slots + 1;
  const start = Math.floor(random() * startCount);
  return [...due.slice(start), ...due.slice(0, start)];
}
