/**
 * A session in this process: driven here if the lease can be claimed, followed if another process holds it.
 *
 * An idle session has no lease, no transcript and no timer. A process may have many waiting sessions, so each
 * is plain data without closures, and functions work on it.
 */
import { effects } from "../../core/machine/effects.js";
import type { EventBody } from "../../core/machine/event.js";
import { type InboxMessage, messagesBeforeRestart } from "../../core/machine/inbox.js";
import { initialState, isResting, type State } from "../../core/machine/state.js";
import type { Holder, Lease } from "../../ports/store.js";
import { takeUpParent } from "../agent/agent-family.js";
import { type CompiledAgent, checkAgent, getSessionAgent } from "../agent/compiled-agent.js";
import { cancelChildren } from "../driver/cancel-children.js";
import { createDriver, type Driver, dispatch, loseLease, takeMessages, wake } from "../driver/driver.js";
import { createLateMessage } from "../driver/internal-messages.js";
import { type LeaseKeeper, type Moment, readClocks, trackLease, untrackLease } from "../driver/lease-keeper.js";
import { reportOwnLoss, takeUpChildren, takeUpStartedChildren } from "../driver/lost-children.js";
import { readInbox } from "../driver/read-inbox.js";
import type { TurnQueue } from "../lib/serial.js";
import type { Closing } from "../log/closing.js";
import type { CommittedEntry } from "../log/committed-entry.js";
import { releaseLease } from "../log/driver-errors.js";
import type { KnownQuestions } from "../log/open-questions.js";
import { loadTranscript } from "../log/read-log.js";
import {
  type Broadcast,
  broadcastCommitted,
  broadcastFollowed,
  catchUpTo,
  closeDeleted,
  closeForShutdown,
  closeWithError,
  hasLastingSubscriber,
  hasNoConsumers,
} from "../subscribers/broadcast.js";
import { sourceMethods } from "../subscribers/stream-source.js";
import { closeWaiters } from "../subscribers/waiters.js";
import { whileValidatorLoads } from "../tools/schema.js";
import { createTracing } from "../trace/tracing.js";
import { createProcessMemory } from "../work/effect-context.js";
import { type AttendedChildren, detachChildren, settleWaitingRun } from "./attend-children.js";
import { type Following, followLog, type PollOptions } from "./follow.js";
import { type InboxWatch, unwatchInbox, watchInbox } from "./watch-inbox.js";
import type { WatchedLogs } from "./watch-logs.js";

export type LocalSession = Broadcast &
  TurnQueue & {
    readonly agent: CompiledAgent;
    readonly host: SessionHost;
    /** The epoch of the last lease that was claimed here; 0 before the first claim. */
    epoch: number;
    driver: Driver | null;
    opening: Promise<"driving" | "held"> | null;
    following: Following | null;
    attended: AttendedChildren | null;
    lastClosing: Closing | null;
    operationsUnderWay: number;
    drained: boolean;
  };

/**
 * The process from the point of view of its sessions. A late result may arrive after its session was evicted; then the session
 * is created again.
 */
export type SessionHost = {
  readonly keeper: LeaseKeeper;
  readonly inboxes: InboxWatch;
  readonly logs: WatchedLogs;
  readonly sessions: Map<string, LocalSession>;
  readonly postLate: (sessionId: string, message: InboxMessage) => void;
};

const none: readonly never[] = [];

export function createLocalSession(sessionId: string, agent: CompiledAgent, host: SessionHost): LocalSession {
  return {
    ...sourceMethods,
    sessionId,
    agent,
    host,
    memory: null,
    waiters: none,
    signals: none,
    subscriptions: none,
    entryListeners: none,
    tracing: agent.listeners.some(({ trace }) => trace !== undefined) ? createTracing(sessionId, agent) : null,
    publishedSeq: 0,
    lastTurn: null,
    epoch: 0,
    driver: null,
    opening: null,
    following: null,
    attended: null,
    lastClosing: null,
    operationsUnderWay: 0,
    drained: false,
  };
}

/** Prevents the eviction of the session while `act` runs. */
export async function whileInUse<T>(localSession: LocalSession, act: () => Promise<T>): Promise<T> {
  localSession.operationsUnderWay += 1;
  try {
    return await act();
  } finally {
    localSession.operationsUnderWay -= 1;
    evictIfIdle(localSession);
  }
}

/** Evicts the session if it is not in use. */
export function evictIfIdle(localSession: LocalSession): void {
  if (localSession.following !== null && !shouldFollow(localSession)) localSession.following.stop();
  const { sessionId, host } = localSession;
  const isUsed =
    localSession.opening !== null ||
    localSession.operationsUnderWay > 0 ||
    !isInactive(localSession) ||
    !hasNoConsumers(localSession);
  if (!isUsed && host.sessions.get(sessionId) === localSession) host.sessions.delete(sessionId);
}

/** Whether the session has neither a driver nor a follower here. */
export function isInactive({ driver, following }: LocalSession): boolean {
  return driver === null && following === null;
}

/** The driver, if the session is driven here and no other process can have claimed it. */
export function findDriver(localSession: LocalSession | undefined): Driver | null {
  const driver = localSession?.driver ?? null;
  return driver === null || driver.released || !driver.hold.isFresh() ? null : driver;
}

/** The committed state of a session that is driven here. Null otherwise, and during a commit, which may release the session. */
export function findDrivenState(localSession: LocalSession | undefined): State | null {
  const driver = findDriver(localSession);
  return driver === null || driver.flushing !== null || driver.state.session === null ? null : driver.state;
}

/** Drives the session, or follows it if another process drives it. */
export function openLocalSession(localSession: LocalSession): Promise<"driving" | "held"> {
  // An abort of this process comes before what its driver does next.
  return localSession.driver === null ? claimOrFollow(localSession) : Promise.resolve("driving");
}

async function claimOrFollow(localSession: LocalSession): Promise<"driving" | "held"> {
  const role = await claimSession(localSession);
  if (role === "held" && !localSession.drained) {
    await skipToCurrent(localSession);
    // Another caller may have opened the session meanwhile.
    if (localSession.driver === null) followSession(localSession);
  }
  return role;
}

/**
 * Drives the session, unless another process does or this one is shutting down. After a shutdown, whoever waits for the session gets the
 * outcome that earlier callers got. The caller must prevent its eviction meanwhile (`whileInUse`).
 */
export function claimSession(localSession: LocalSession): Promise<"driving" | "held"> {
  if (localSession.driver !== null) return Promise.resolve("driving");
  if (localSession.drained) {
    closeForShutdown(localSession);
    return Promise.resolve("held");
  }
  localSession.opening ??= claimLease(localSession).finally(() => {
    localSession.opening = null;
    evictIfIdle(localSession);
  });
  return localSession.opening;
}

async function claimLease(localSession: LocalSession): Promise<"driving" | "held"> {
  const { sessionId, agent } = localSession;
  const { store, clock } = agent;
  const { holder, leaseMs, isDead: isKnownDead } = localSession.host.keeper;
  // A lease of this process without a driver is left over from a driver whose store failed.
  const isDead = (other: Holder) => other.id === holder.id || isKnownDead?.(other) === true;
  const claimedAt = readClocks(clock);
  const claimed = await store.claim(sessionId, { holder, now: claimedAt.wall, leaseMs, isDead });
  if (claimed.type === "claimed" && localSession.drained) await releaseLease(store, claimed.lease);
  if (claimed.type === "held" || localSession.drained) return "held";
  localSession.epoch = claimed.lease.epoch;
  localSession.following?.stop();
  try {
    const state = claimed.state ?? initialState;
    checkAgent(sessionId, state, agent);
    await startDriver(localSession, claimed.lease, claimedAt, claimed.seq, state);
  } catch (error) {
    await releaseLease(store, claimed.lease);
    if (shouldFollow(localSession)) followSession(localSession);
    throw error;
  }
  return "driving";
}

async function startDriver(
  localSession: LocalSession,
  lease: Lease,
  claimedAt: Moment,
  seq: number,
  state: State,
): Promise<void> {
  const { sessionId, agent } = localSession;
  const { keeper, inboxes } = localSession.host;
  const transcript = await loadTranscript(agent.store, sessionId, state);
  await catchUpTo(localSession, state);
  await whileValidatorLoads();
  const questions: KnownQuestions = new Map();
  const messages = await readInbox({ sessionId, agent, questions, state });
  const cancelling = cancelChildren(sessionId, state, messages, getSessionAgent(agent, state));
  if (cancelling !== undefined) await cancelling;
  // No `await` from here until the watch begins: a message that arrives in between waits for the next read of the inbox.
  const memory = createProcessMemory(sessionId, agent.store, keeper.holder.id);
  const kept = trackLease(keeper, lease, claimedAt, () => loseLease(driver));
  const driver = createDriver({
    sessionId,
    agent,
    keeper,
    kept,
    seq,
    state,
    transcript,
    memory,
    subscribers: localSession,
    questions,
    onCommitted: (steps) => handleCommitted(localSession, driver, steps),
    onLate: (event) => handleLate(localSession, event),
    onClosed: (closing) => handleClosed(localSession, driver, closing),
  });
  watchInbox(inboxes, driver);
  localSession.driver = driver;
  localSession.memory = memory;
  localSession.following?.stop();
  beginDriving(localSession, driver, messages);
}

/**
 * Begins with `restarted`, because the outcome of effects that were in flight is unknown. Aborts from the inbox come first,
 * so that no effect is restarted only to be cancelled, together with the answers sent before them: an answer to a call that
 * is over would be lost. Other messages come after. A driver with nothing to do releases the session, so the caller of
 * `openLocalSession` must dispatch something next.
 */
function beginDriving(localSession: LocalSession, driver: Driver, messages: readonly InboxMessage[]): void {
  const { host } = localSession;
  const { state } = driver;
  if (state.status !== "idle" && effects(state).some((effect) => effect.type !== "sleep")) {
    const { runId } = state;
    void takeMessages(driver, messagesBeforeRestart(messages, state));
    void dispatch(driver, () => [{ type: "restarted", runId, holder: host.keeper.holder.id }]);
  }
  // A child may have reported that it waits for a person.
  void takeMessages(driver, messages).then(() => continueChildren(localSession, driver.state));
}

/** Resumes the children that are at work. If one of them no longer exists, the session handles the message about it. */
async function continueChildren(localSession: LocalSession, state: State): Promise<void> {
  const { sessionId, agent, drained } = localSession;
  const hasLostChild = await takeUpChildren(sessionId, state, agent, { atWork: true });
  // If this fails, the message makes the session due for another process.
  if (hasLostChild && !drained) await whileInUse(localSession, () => settleLocally(localSession)).catch(() => {});
}

function handleCommitted(localSession: LocalSession, driver: Driver, entries: readonly CommittedEntry[]): void {
  const { state, transcript, kept } = driver;
  // A driver that closed during a commit keeps the session here until the store replies. The next driver may already have
  // broadcast later entries.
  if (kept.lease.epoch === localSession.epoch) broadcastCommitted(localSession, entries, transcript);
  const started = entries.flatMap(({ entry: { event } }) =>
    event.type === "tool_waiting" || (event.type === "tool_finished" && event.startedChild !== undefined)
      ? [event.callKey]
      : [],
  );
  if (started.length > 0) void takeUpStartedChildren(state, started, localSession.agent);
  const parent = state.session?.parent;
  if (
    parent !== undefined &&
    parent.background !== true &&
    entries.some(({ entry }) => entry.event.type === "parent_told")
  )
    void takeUpParent(parent.sessionId, localSession.agent.family);
}

/** Posts a result that arrives after the run. If the lease was lost, drops it: the new holder reports the result. */
function handleLate({ lastClosing, agent, host, sessionId }: LocalSession, event: EventBody): void {
  const message = lastClosing?.type === "parked" ? createLateMessage(event, agent) : undefined;
  if (message !== undefined) host.postLate(sessionId, message);
}

function handleClosed(localSession: LocalSession, driver: Driver, closing: Closing): void {
  const { sessionId, agent, host } = localSession;
  const { state, transcript, kept, flushing } = driver;
  untrackLease(host.keeper, kept);
  unwatchInbox(host.inboxes, driver);
  if (closing.type !== "parked") void releaseLease(agent.store, kept.lease);
  if (closing.type !== "parked" && flushing !== null) void whileInUse(localSession, () => flushing);
  localSession.driver = null;
  localSession.memory = null;
  localSession.lastClosing = closing;
  // The lease of a session that was deleted is lost. If the report fails, the parent finds out when it is opened.
  if (closing.type === "interrupted" && closing.reason === "lease_lost")
    void reportOwnLoss(sessionId, state, agent).catch(() => {});
  closeWaiters(localSession, closing, state, transcript);
  // Most watchers leave with the end of a run. For the others, a change that is reported is read at once.
  const isWatchedOnly = closing.type === "parked" && localSession.waiters.length === 0;
  if (shouldFollow(localSession))
    followSession(localSession, { takeOver: true, ...(isWatchedOnly ? { afterMs: pollDelayMs } : {}) });
  else evictIfIdle(localSession);
}

/** The delay before the log of a watched session is read if it has not begun, or if this process has just released it; milliseconds. */
export const pollDelayMs = 100;

/**
 * Consumes the messages in the inbox, settles waiters, and releases an idle session. Repeats if the driver parks
 * meanwhile.
 */
export async function settleLocally(localSession: LocalSession): Promise<void> {
  for (;;) {
    // A driver that is opened now reads everything that was posted before this call, and parks only when it has consumed all.
    const isNew = localSession.driver === null && localSession.opening === null;
    if ((await openLocalSession(localSession)) === "held") return;
    const { driver } = localSession;
    const isDurable = driver !== null && (await (isNew ? dispatch(driver, () => []) : wake(driver)));
    if (isDurable || isNew || localSession.lastClosing?.type !== "parked") return;
  }
}

function shouldFollow(localSession: LocalSession): boolean {
  return localSession.waiters.length > 0 || hasLastingSubscriber(localSession);
}

/** Follows the session. If it is already followed, reads its log at once, because there may be a new waiter. */
export function followSession(localSession: LocalSession, first: PollOptions = {}): void {
  if (localSession.drained) {
    closeForShutdown(localSession);
    return;
  }
  localSession.following ??= followLog({
    sessionId: localSession.sessionId,
    logs: localSession.host.logs,
    clock: localSession.agent.clock,
    after: localSession.publishedSeq,
    onEvents: (seq, events) => broadcastFollowed(localSession, seq, events),
    onWaitedFor: (state) => settleWaitingRun(localSession, state),
    isWanted: () => shouldFollow(localSession),
    mayTakeOver: () => localSession.waiters.length > 0,
    // If the run ends meanwhile, there is no waiter left, and the session could be evicted and opened again. A driver that
    // was started here would then run alongside another one.
    takeOver: () =>
      whileInUse(localSession, async () => {
        if (localSession.waiters.length > 0) await settleLocally(localSession);
        return localSession.driver !== null;
      }),
    isStarting: () => localSession.operationsUnderWay > 0,
    onDeleted: (error) => closeDeleted(localSession, error),
    onEnd(error) {
      localSession.following = null;
      detachChildren(localSession);
      if (error !== undefined) closeWithError(localSession, error);
      evictIfIdle(localSession);
    },
  });
  localSession.following.poll(first);
}

/**
 * Skips events that are not needed here. A follower begins at the current run, or at the end of the log if that run has no
 * subscriber. A waiter for a result after an entry needs everything after that entry.
 */
async function skipToCurrent(localSession: LocalSession): Promise<void> {
  const isWatched = () => localSession.following !== null || hasLastingSubscriber(localSession);
  if (isWatched()) return;
  const { state, seq } = (await localSession.agent.store.load(localSession.sessionId)) ?? {
    state: initialState,
    seq: 0,
  };
  // A subscriber that was added meanwhile needs every event after its cursor.
  if (isWatched()) return;
  const currentSeq = localSession.subscriptions.length > 0 && !isResting(state) ? state.startSeq - 1 : seq;
  const neededSeqs = localSession.waiters.map(({ awaited }) => ("after" in awaited ? awaited.after : currentSeq));
  localSession.publishedSeq = Math.max(localSession.publishedSeq, Math.min(currentSeq, ...neededSeqs));
}
