/**
 * A worker: fires the due schedules of a store, finds its due sessions, and drives them.
 *
 * A session is due if no process holds it and it has a message in its inbox, its driver died, or one of its waits is over.
 * Any number of workers can share a store. The store's claim decides which of them drives a session.
 */

import { checkOptions } from "../check-options.js";
import { defined } from "../core/data/defined.js";
import type { Fault } from "../core/data/message.js";
import type { SessionBinding } from "../core/machine/state.js";
import type { RunResult } from "../core/view/outcome.js";
import { PawlError } from "../errors.js";
import type { Clock } from "../ports/clock.js";
import type { Holder } from "../ports/store.js";
import { createCheckedClock } from "../runtime/agent/checked-clock.js";
import { findDriversByName } from "../runtime/api/find-drivers.js";
import type { SessionLook } from "../runtime/api/session-beginning.js";
import { assertDistinctNames, assertSameStore } from "./check-agents.js";
import { createContention } from "./contention.js";
import { createDelivering } from "./delivering.js";
import { loadSessionChain, lookUpSession, type SessionLookup } from "./look-up-session.js";
import { createStallDetector, isTransient, pauseAfterFailuresMs } from "./retries.js";
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

/** How often in a row a session could not be resumed, and when it is retried, on the scale of the clock's `elapsed`. */
type RefusalRecord = { readonly times: number; readonly until: number };

/** How many due sessions a worker requests for each session that it can drive. */
const overfetchFactor = 4;

/** How often a worker removes expired signals, and how many in one transaction. */
const dropEveryMs = 60_000;
const signalsPerDrop = 1_000;

/** How long a worker waits for its claims before it claims more, in milliseconds. Finding an agent may take long. */
const maxClaimMs = 100;

/** How a session was driven: the last result (null if its agent found nothing to do), and whether this worker claimed the session. */
type DriveResult = { readonly result: RunResult | null; readonly isTaken: boolean };

/** The sessions that an agent has to resume, in this order, and what was read of the first one. */
type ResumePlan = { readonly agent: WorkingAgent; readonly sessionIds: readonly string[]; readonly seen?: SessionLook };

type WorkerDeps = {
  readonly clock: Clock;
  readonly isDead: (holder: Holder) => boolean;
  /** Returns a number from 0 up to 1. */
  readonly random: () => number;
};

export function buildWorker(options: WorkerOptions, { clock: defaultClock, isDead, random }: WorkerDeps): Worker {
  checkOptions("createWorker()", workerOptionRules, options);
  const clock = createCheckedClock(options.clock ?? defaultClock);
  const { store, concurrency = 16, pollMs = 1_000, onReport = () => {} } = options;
  if (typeof options.agents !== "function") {
    for (const agent of options.agents) assertSameStore(agent, store);
    assertDistinctNames(options.agents);
  }
  const contention = createContention(clock, random);
  const running = new Map<string, Promise<void>>();
  const refusals = new Map<string, RefusalRecord>();
  /** Sessions that another caller or process may be driving, and until when they are skipped, on the scale of the clock's `elapsed`. */
  const skippedUntil = new Map<string, number>();
  const stallDetector = createStallDetector();
  const scheduleLooks = createScheduleLooks({ store, clock, pollMs, onReport, isStopped: () => isStopped });
  const agents = new Set<WorkingAgent>();
  let agentsByName: ReadonlyMap<string, WorkingAgent> | null = null;
  const scoring = createScoring(options, clock);
  const delivering = createDelivering(options, { clock, random });
  let isStopped = false;
  /** Whether the store has changed in a way that the last query for due sessions may have missed. */
  let isWoken = false;
  /** Whether the last query left due sessions unclaimed. */
  let hasLeftDue = false;
  /** Sessions that were released with no work left. */
  const released = new Set<string>();
  let interruptWait = () => {};
  /** When expired signals are removed next, on the scale of the clock's `elapsed`. */
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

  /** Built on first use, because handoff functions may name agents that are created later. */
  function indexAgents(workingAgents: readonly WorkingAgent[]): ReadonlyMap<string, WorkingAgent> {
    agentsByName ??= findDriversByName(workingAgents);
    return agentsByName;
  }

  /**
   * Finds the agent that can resume the session. A worker may not know the agent of a child session, because only the
   * parent's tool knows it. Then the agent of the top session resumes the child and all of its ancestors: each of them may
   * continue when the one below does.
   */
  async function findResumable(sessionId: string, { binding, seen }: SessionLookup): Promise<ResumePlan> {
    const own = await findAgent(binding, sessionId);
    // A function may take long, and what was read before the call may be stale.
    const isFresh = typeof options.agents !== "function";
    if (own !== null) return { agent: own, sessionIds: [sessionId], ...(isFresh ? { seen } : {}) };
    const { top } = binding;
    const topAgent = top === undefined ? null : await findAgent((await lookUpSession(store, top)).binding, top);
    if (topAgent !== null) return { agent: topAgent, sessionIds: await loadSessionChain(store, sessionId) };
    throw new PawlError(
      "agent_mismatch",
      `Session ${sessionId} belongs to the agent "${binding.agent}", which this worker does not have. Add the agent to the worker's \`agents\` (for \`pawl worker MODULE\`, export it from the module), or leave the session to another worker.`,
    );
  }

  async function driveSession(sessionId: string, onClaimSettled: () => void): Promise<void> {
    try {
      const lookup = await lookUpSession(store, sessionId);
      const stall = stallDetector.check(sessionId, lookup.seen);
      if (stall !== null) {
        const { times, storeFault } = stall;
        // The inbox is read before the log, and a message may arrive in between. So a single unchanged read proves nothing.
        if (times === 1 && storeFault === undefined)
          return void skippedUntil.set(sessionId, clock.elapsed() + pauseAfterFailuresMs(1));
        return refuse(sessionId, createStallError(sessionId, lookup.binding, storeFault), Math.max(1, times - 1));
      }
      const resumable = await findResumable(sessionId, lookup);
      agents.add(resumable.agent);
      let driveResult: DriveResult = { result: null, isTaken: false };
      for (const id of resumable.sessionIds) {
        if (isStopped) break;
        // An ancestor that this worker is driving continues by itself when its child has ended.
        if (id !== sessionId && running.has(id)) continue;
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
      // The agent has already shut down. The session stays due, and other workers claim it.
      if (!(isStopped && error instanceof PawlError && error.code === "shut_down")) refuse(sessionId, error);
    }
  }

  function refuse(sessionId: string, error: unknown, times = (refusals.get(sessionId)?.times ?? 0) + 1): void {
    const retryInMs = isTransient(error) ? pauseAfterFailuresMs(times) : null;
    refusals.set(sessionId, { times, until: clock.elapsed() + (retryInMs ?? Number.POSITIVE_INFINITY) });
    onReport({ type: "refused", sessionId, error, retryInMs });
  }

  function isBackedOff(sessionId: string): boolean {
    const until = skippedUntil.get(sessionId) ?? refusals.get(sessionId)?.until ?? Number.NEGATIVE_INFINITY;
    if (clock.elapsed() < until) return true;
    skippedUntil.delete(sessionId);
    return false;
  }

  /** Resumes one session. If it is the only one of the plan, its queued runs are also driven. */
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
      // Another caller was faster, or has finished the run. The worker does not follow that run, which would take up a slot.
      if (error.code === "session_busy") {
        skippedUntil.set(sessionId, clock.elapsed() + pollMs);
        contention.recordLoss();
      } else if (error.code !== "run_finished") throw error;
    }
    return { result, isTaken };
  }

  /** Removes expired signals, at most once a minute: nothing depends on their removal. */
  async function dropOldSignals(): Promise<void> {
    if (store.signals === undefined || clock.elapsed() < nextDropAt) return;
    nextDropAt = clock.elapsed() + dropEveryMs;
    // The rest is removed in the next turns, so that claims do not wait for a backlog.
    if ((await store.signals.drop(clock.now(), signalsPerDrop)) === signalsPerDrop) nextDropAt = clock.elapsed();
  }

  /** Starts due sessions, up to the concurrency limit. Resolves to whether any session was due. */
  async function claimDue(): Promise<boolean> {
    isWoken = false;
    hasLeftDue = running.size >= concurrency;
    if (isStopped || hasLeftDue) return false;
    await contention.backOff();
    isWoken = false;
    if (isStopped) return false;
    // Over-fetch and start at a random offset, so that workers polling the same list do not collide.
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
      // Another worker is claiming from the same list. Query again for the rest of it.
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

  /** Resolves when the claim has been won or lost. */
  function startDriving(sessionId: string): Promise<void> {
    return new Promise((resolve) => {
      const driving = driveSession(sessionId, resolve).finally(() => {
        running.delete(sessionId);
        resolve();
        // Anything else that becomes due is reported by the store's `watch`.
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
    // A session may be done before its claim is awaited, so only a query that finds nothing due ends the loop.
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
    // A commit does not make a session due. A message, a time or the end of a process does.
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
          const retryInMs = pauseAfterFailuresMs(failures);
          onReport({ type: "store_failed", error, retryInMs });
          await waitForWake(retryInMs, { onlyOnStop: true });
        }
      }
    } finally {
      unwatch();
    }
  }

  /** @param onlyOnStop whether only `stop`, and no change in the store, ends the wait early */
  function waitForWake(ms: number, { onlyOnStop = false } = {}): Promise<void> {
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
 * Whether the agent may have failed to find the session in its store, if the session is unchanged. Not so if another caller in this process
 * is driving it, or if another process took it over.
 */
function mayBeStalled({ result, isTaken }: DriveResult): boolean {
  if (result === null || result.status === "awaiting_human" || result.status === "waiting") return true;
  return result.status === "interrupted" ? result.reason === "store_failed" : isTaken;
}

/** @param storeFault the failure of the agent's store, if it failed; then the agent's store may well be the worker's */
function createStallError(sessionId: string, { agent }: SessionBinding, storeFault?: Fault): PawlError {
  if (storeFault !== undefined)
    return new PawlError(
      "store_failed",
      `The store failed while the agent "${agent}" was driving session ${sessionId}: ${storeFault.message}`,
    );
  return new PawlError(
    "no_session",
    `The agent "${agent}" drove session ${sessionId}, but nothing changed in this worker's store. The agent probably uses another store: create it with the worker's store.`,
  );
}

/** Rotates the list to a random start. If it is longer than the free slots, the start is chosen so that no slot wraps around. */
function rotateAtRandom(due: readonly string[], slots: number, random: () => number): readonly string[] {
  const startCount = due.length <= slots ? due.length : due.length - slots + 1;
  const start = Math.floor(random() * startCount);
  return [...due.slice(start), ...due.slice(0, start)];
}
