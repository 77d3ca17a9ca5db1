/**
 * Drives a session and its family until nothing is left to do now: the work of one invocation of `drive`.
 *
 * 1. What has happened is in the log, so an invocation may be repeated at any time. Each continues where the log ends.
 * 2. A process that has lost its invocation may still be working. The lease keeps it and its successor apart.
 * 3. An invocation that is cut off releases its sessions, so that the next one can drive them.
 */
import { createWorker, PawlError, type Store, type WorkerReport, type WorkingAgent } from "../index.js";
import { overrideMembers } from "../ports/override-members.js";
import { type FamilyWork, findFamilyWork } from "./family.js";

type WorkingSession = ReturnType<WorkingAgent["session"]>;

/** The part of an agent that the object uses. */
export type DispatchedAgent = Omit<WorkingAgent, "session"> & {
  /** A session of the agent. */
  readonly session: (sessionId: string) => WorkingSession & {
    /** Releases the session. */
    readonly leave: (options: { readonly graceMs: number }) => Promise<void>;
  };
};

export type DriveDeps = {
  readonly store: Store;
  readonly agents: readonly DispatchedAgent[];
  /** How long running calls may continue after the invocation is cut off, in milliseconds. */
  readonly graceMs: number;
};

/**
 * Returns the remaining work: the family's sessions that other processes hold, and the earliest time that one of the sessions waits
 * for.
 * @param signal aborted when the invocation is cut off
 * @throws the error that stopped a session: the invocation must be retried
 */
export async function driveFamily(sessionId: string, deps: DriveDeps, signal: AbortSignal): Promise<FamilyWork> {
  const { store, agents, graceMs } = deps;
  const driven = new Map<string, DispatchedAgent>();
  const errors: unknown[] = [];
  let work: FamilyWork = { due: [], dueAt: null };
  // The session itself comes first: the caller has usually just posted to it.
  let isFirstTried = false;
  const leave = (): void => {
    for (const [id, agent] of driven) void agent.session(id).leave({ graceMs }).catch(ignoreStoreError);
  };
  const onReport = (report: WorkerReport): void => {
    if (report.type === "refused" && !isUnknownSession(report.error)) errors.push(report.error);
    if (report.type === "left") driven.delete(report.sessionId);
    if (report.type !== "taken") return;
    const agent = agents.find(({ options }) => (options.name ?? "agent") === report.agent);
    if (agent !== undefined) driven.set(report.sessionId, agent);
    if (signal.aborted) leave();
  };
  const due = async (now: number): Promise<readonly string[]> => {
    if (signal.aborted) return [];
    if (!isFirstTried) {
      isFirstTried = true;
      return [sessionId];
    }
    work = await findFamilyWork(store, sessionId, now);
    return work.due;
  };
  const worker = createWorker({
    // A drive of one family fires no schedules. The worker recognizes the agents' store by its `commit`.
    store: overrideMembers<Store>(store, { due, schedules: undefined, commit: store.commit }),
    agents,
    onReport,
  });
  signal.addEventListener("abort", leave, { once: true });
  try {
    await worker.runUntilIdle();
  } finally {
    signal.removeEventListener("abort", leave);
  }
  if (signal.aborted) throw new Error(`The invocation that drove session ${sessionId} was cut off.`);
  if (errors.length > 0) throw errors[0];
  return work;
}

/** The session does not exist, or no longer exists, so there is nothing to do. */
function isUnknownSession(error: unknown): boolean {
  return error instanceof PawlError && error.code === "no_session";
}

/** If the store has failed, or the session's children are unknown, their leases expire by themselves. */
function ignoreStoreError(error: unknown): void {
  if (!(error instanceof PawlError)) throw error;
}
