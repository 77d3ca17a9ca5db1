/**
 * Drives single sessions for a worker: finds the agent of a session, resumes the session, and backs off after refusals.
 */
import { defined } from "../core/data/defined.js";
import type { Fault } from "../core/data/message.js";
import type { SessionBinding } from "../core/machine/state.js";
import type { RunResult } from "../core/view/outcome.js";
import { PawlError } from "../errors.js";
import type { Clock } from "../ports/clock.js";
import type { Store } from "../ports/store.js";
import { findDriversByName } from "../runtime/api/find-drivers.js";
import { readSessionLook, type SessionLook } from "../runtime/api/session-beginning.js";
import { assertDistinctNames, assertSameStore } from "./check-agents.js";
import type { Contention } from "./contention.js";
import { createStallDetector, isTransient, pauseAfterFailuresMs } from "./retries.js";
import type { WorkerOptions, WorkingAgent } from "./worker-options.js";

export type SessionDrives = {
  /**
   * Drives the session until it rests or waits. A failure is reported, and the session is backed off.
   * @param onClaimSettled called when the claim has been won or lost
   */
  readonly drive: (sessionId: string, onClaimSettled: () => void) => Promise<void>;
  /** Whether the last drive released the session with no work left. The answer is given once. */
  readonly takeReleased: (sessionId: string) => boolean;
  /** Whether the session must not be driven yet. */
  readonly isBackedOff: (sessionId: string) => boolean;
  /** The number of sessions that are backed off. */
  readonly countBackedOff: () => number;
  /** The sessions whose last drive was refused. */
  readonly refusedIds: () => Iterable<string>;
  /** Forgets which of these sessions were driven without an effect. */
  readonly forgetStalls: (isObsolete: (sessionId: string) => boolean) => void;
  /** @throws PawlError `bad_configuration` if the agents' names are ambiguous */
  readonly checkAgents: () => void;
  /** Shuts down the agents that have driven a session. */
  readonly shutdownAgents: (graceMs: number) => Promise<void>;
};

/** How often in a row a session could not be resumed, and when it is retried, on the scale of the clock's `elapsed`. */
type RefusalRecord = { readonly times: number; readonly until: number };

/** How a session was driven: the last result (null if its agent found nothing to do), and whether this worker claimed the session. */
type DriveResult = { readonly result: RunResult | null; readonly isTaken: boolean };

/** The sessions that an agent has to resume, in this order, and what was read of the first one. */
type ResumePlan = { readonly agent: WorkingAgent; readonly sessionIds: readonly string[]; readonly seen?: SessionLook };

type SessionDrivesDeps = {
  readonly clock: Clock;
  readonly contention: Contention;
  /** Whether the worker is being stopped. */
  readonly isStopped: () => boolean;
  /** Whether the worker is driving a session. */
  readonly isRunning: (sessionId: string) => boolean;
};

/** @throws PawlError `bad_configuration` if an agent has another store, or two have one name */
export function createSessionDrives(
  options: WorkerOptions,
  { clock, contention, isStopped, isRunning }: SessionDrivesDeps,
): SessionDrives {
  const { store, pollMs = 1_000, onReport = () => {} } = options;
  if (typeof options.agents !== "function") {
    for (const agent of options.agents) assertSameStore(agent, store);
    assertDistinctNames(options.agents);
  }
  const refusals = new Map<string, RefusalRecord>();
  /** Sessions that another caller or process may be driving, and until when they are skipped, on the scale of the clock's `elapsed`. */
  const skippedUntil = new Map<string, number>();
  const stallDetector = createStallDetector();
  /** Sessions that were released with no work left. */
  const released = new Set<string>();
  const agents = new Set<WorkingAgent>();
  let agentsByName: ReadonlyMap<string, WorkingAgent> | null = null;

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

  async function drive(sessionId: string, onClaimSettled: () => void): Promise<void> {
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
        if (isStopped()) break;
        // An ancestor that this worker is driving continues by itself when its child has ended.
        if (id !== sessionId && isRunning(id)) continue;
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
      if (!(isStopped() && error instanceof PawlError && error.code === "shut_down")) refuse(sessionId, error);
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
        hasNext &&= !isStopped() && sessionIds.length === 1 && hasEnded;
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

  return {
    drive,
    takeReleased: (sessionId) => released.delete(sessionId),
    isBackedOff,
    countBackedOff: () => refusals.size + skippedUntil.size,
    refusedIds: () => refusals.keys(),
    forgetStalls: (isObsolete) => stallDetector.retain((sessionId) => !isObsolete(sessionId)),
    checkAgents() {
      if (typeof options.agents !== "function") indexAgents(options.agents);
    },
    async shutdownAgents(graceMs) {
      await Promise.all([...agents].map((agent) => agent.shutdown({ graceMs })));
    },
  };
}

type SessionLookup = { readonly binding: SessionBinding; readonly seen: SessionLook };

/** @throws PawlError `no_session` */
async function lookUpSession(store: Store, sessionId: string): Promise<SessionLookup> {
  const seen = await readSessionLook(store, sessionId);
  if (seen.binding !== null) return { binding: seen.binding, seen };
  throw new PawlError(
    "no_session",
    `Session ${sessionId} is empty: neither its log nor its inbox names an agent. Send it an input first.`,
  );
}

/** Lists a child session and its ancestors, from the bottom up. */
async function loadSessionChain(store: Store, sessionId: string): Promise<readonly string[]> {
  const chain: string[] = [];
  for (let id: string | undefined = sessionId; id !== undefined && !chain.includes(id); ) {
    chain.push(id);
    id = (await lookUpSession(store, id)).binding.parent?.sessionId;
  }
  return chain;
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
