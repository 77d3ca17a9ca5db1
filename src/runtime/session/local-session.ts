/**
 * A session in this process: driven here if the lease can be claimed, followed if another process holds it.
 *
 * An idle session holds nothing: no lease, no transcript, no timer. A process may hold many waiting sessions, so each
 * is plain data without closures, and functions work on it.
 */
import { defined } from "../../core/data/defined.js";
import { effects } from "../../core/machine/effects.js";
import type { EventBody } from "../../core/machine/event.js";
import { abortsRun, type InboxMessage } from "../../core/machine/inbox.js";
import { initialState, isResting, type State } from "../../core/machine/state.js";
import type { Holder, Lease } from "../../ports/store.js";
import { takeUpChildren, takeUpParent } from "../agent/agent-family.js";
import { type CompiledAgent, checkAgent, familyIn, partsNear } from "../agent/compiled-agent.js";
import { cancelChildren } from "../driver/cancel-children.js";
import { createDriver, type Driver, dispatch, lose, takeMessages, wake } from "../driver/driver.js";
import { lateMessage } from "../driver/internal-messages.js";
import { dropLease, keepLease, type LeaseKeeper, type Moment, momentOf } from "../driver/lease-keeper.js";
import { readInbox } from "../driver/read-inbox.js";
import type { Turns } from "../lib/serial.js";
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
  endWithError,
  hasLastingSubscriber,
  isEmpty,
  subscribeTo,
  unsubscribe,
} from "../subscribers/broadcast.js";
import type { Subscription } from "../subscribers/subscription.js";
import { closeWaiters } from "../subscribers/waiters.js";
import { whileValidatorLoads } from "../tools/schema.js";
import { createTracing } from "../trace/tracing.js";
import { createProcessMemory } from "../work/effect-context.js";
import { type Attended, leaveChildren, whileWaitedFor } from "./attend-children.js";
import { type Following, followLog } from "./follow.js";
import { type Inboxes, unwatchInbox, watchInbox } from "./watch-inbox.js";
import type { WatchedLogs } from "./watch-logs.js";

export type LocalSession = Broadcast &
  Turns & {
    readonly parts: CompiledAgent;
    readonly place: SessionHost;
    /** The epoch of the last lease that was claimed here; 0 before the first. */
    epoch: number;
    driver: Driver | null;
    opening: Promise<"driving" | "held"> | null;
    following: Following | null;
    attended: Attended | null;
    lastClosing: Closing | null;
    operationsUnderWay: number;
    drained: boolean;
  };

/**
 * The process, as its sessions see it. A late result may come after its session was forgotten; then it is held again.
 */
export type SessionHost = {
  readonly keeper: LeaseKeeper;
  readonly inboxes: Inboxes;
  readonly logs: WatchedLogs;
  readonly sessions: Map<string, LocalSession>;
  readonly sayLate: (sessionId: string, message: InboxMessage) => void;
};

const nobody: readonly never[] = [];

export function createLocalSession(sessionId: string, parts: CompiledAgent, place: SessionHost): LocalSession {
  return {
    sessionId,
    parts,
    place,
    memory: null,
    waiters: nobody,
    signals: nobody,
    subscriptions: nobody,
    stepListeners: nobody,
    tracing: parts.listeners.some(({ trace }) => trace !== undefined) ? createTracing(sessionId, parts) : null,
    toldUpTo: 0,
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

/** Keeps the session in this process while `act` runs. */
export async function using<T>(live: LocalSession, act: () => Promise<T>): Promise<T> {
  live.operationsUnderWay += 1;
  try {
    return await act();
  } finally {
    live.operationsUnderWay -= 1;
    leaveIfIdle(live);
  }
}

/** Forgets the session if nobody uses it. */
export function leaveIfIdle(live: LocalSession): void {
  if (live.following !== null && !isFollowed(live)) live.following.stop();
  const { sessionId, place } = live;
  const isUsed = live.opening !== null || live.operationsUnderWay > 0 || !isSilent(live) || !isEmpty(live);
  if (!isUsed && place.sessions.get(sessionId) === live) place.sessions.delete(sessionId);
}

/** Whether the session has neither a driver nor a follower here. */
function isSilent({ driver, following }: LocalSession): boolean {
  return driver === null && following === null;
}

/** Drives the session. If another process does, follows it. */
export function open(live: LocalSession): Promise<"driving" | "held"> {
  // An abort of this process comes before what its driver does next.
  return live.driver === null ? takeOrFollow(live) : Promise.resolve("driving");
}

async function takeOrFollow(live: LocalSession): Promise<"driving" | "held"> {
  const here = await take(live);
  if (here === "held" && !live.drained) {
    await skipToPresent(live);
    // Somebody else may have opened it meanwhile.
    if (live.driver === null) follow(live);
  }
  return here;
}

/** Drives the session, unless another process does. The caller keeps the session in this process meanwhile (`using`). */
export function take(live: LocalSession): Promise<"driving" | "held"> {
  if (live.driver !== null) return Promise.resolve("driving");
  if (live.drained) return Promise.resolve("held");
  live.opening ??= claim(live).finally(() => {
    live.opening = null;
    leaveIfIdle(live);
  });
  return live.opening;
}

async function claim(live: LocalSession): Promise<"driving" | "held"> {
  const { sessionId, parts } = live;
  const { store, clock } = parts;
  const { holder, leaseMs, isDead: isKnownDead } = live.place.keeper;
  // A lease of this process without a driver is left over from a driver whose store failed.
  const isDead = (other: Holder) => other.id === holder.id || isKnownDead?.(other) === true;
  const claimedAt = momentOf(clock);
  const claimed = await store.claim(sessionId, { holder, now: claimedAt.wall, leaseMs, isDead });
  if (claimed.type === "claimed" && live.drained) await releaseLease(store, claimed.lease);
  if (claimed.type === "held" || live.drained) return "held";
  live.epoch = claimed.lease.epoch;
  live.following?.stop();
  try {
    const state = claimed.state ?? initialState;
    checkAgent(sessionId, state, parts);
    await drive(live, claimed.lease, claimedAt, claimed.seq, state);
  } catch (error) {
    await releaseLease(store, claimed.lease);
    if (isFollowed(live)) follow(live);
    throw error;
  }
  return "driving";
}

async function drive(live: LocalSession, lease: Lease, claimedAt: Moment, seq: number, state: State): Promise<void> {
  const { sessionId, parts } = live;
  const { keeper, inboxes } = live.place;
  const transcript = await loadTranscript(parts.store, sessionId, state);
  await catchUpTo(live, state);
  await whileValidatorLoads();
  const questions: KnownQuestions = new Map();
  const messages = await readInbox({ sessionId, parts, questions, state });
  const cancelling = cancelChildren(sessionId, state, messages, partsNear(parts, state));
  if (cancelling !== undefined) await cancelling;
  // No wait from here on until the watch begins: a message that came in between waits for the next look at the inbox.
  const memory = createProcessMemory(sessionId, parts.store, keeper.holder.id);
  const kept = keepLease(keeper, lease, claimedAt, () => lose(driver));
  const driver = createDriver({
    sessionId,
    parts,
    keeper,
    kept,
    seq,
    state,
    transcript,
    memory,
    hearers: live,
    questions,
    onCommitted: (steps) => committed(live, driver, steps),
    onLate: (event) => late(live, event),
    onClosed: (closing) => closed(live, driver, closing),
  });
  watchInbox(inboxes, driver);
  live.driver = driver;
  live.memory = memory;
  live.following?.stop();
  begin(live, driver, messages);
}

/**
 * Begins with `restarted`, because the outcome of effects that were in flight is unknown. Aborts from the inbox come
 * before, so that no effect is restarted only to be cancelled. Other messages come after. A driver with nothing to do
 * releases the session, so the caller of `open` must dispatch something next.
 */
function begin({ parts, place }: LocalSession, driver: Driver, messages: readonly InboxMessage[]): void {
  const { state } = driver;
  if (state.status !== "idle" && effects(state).some((effect) => effect.type !== "sleep")) {
    const { runId } = state;
    void takeMessages(
      driver,
      messages.filter((message) => abortsRun(message, state)),
    );
    void dispatch(driver, () => [{ type: "restarted", runId, holder: place.keeper.holder.id }]);
  }
  // A child may have said that it waits for a person.
  void takeMessages(driver, messages).then(() =>
    takeUpChildren(driver.state, familyIn(parts, driver.state), { atWork: true }),
  );
}

function committed(live: LocalSession, driver: Driver, steps: readonly CommittedEntry[]): void {
  const { state, transcript, kept } = driver;
  // A driver that closed during a commit keeps the session here until the answer. The next one may have told of later entries.
  if (kept.lease.epoch === live.epoch) broadcastCommitted(live, steps, transcript);
  if (steps.some(({ entry }) => entry.event.type === "tool_waiting"))
    void takeUpChildren(state, familyIn(live.parts, state), { atWork: true });
  const parent = state.session?.parent;
  if (parent !== undefined && steps.some(({ entry }) => entry.event.type === "parent_told"))
    void takeUpParent(parent.sessionId, live.parts.family);
}

/** Posts a result that comes after the run. After losing the lease, drops it: the new holder reports the result. */
function late({ lastClosing, parts, place, sessionId }: LocalSession, event: EventBody): void {
  const message = lastClosing?.type === "parked" ? lateMessage(event, parts) : undefined;
  if (message !== undefined) place.sayLate(sessionId, message);
}

function closed(live: LocalSession, driver: Driver, closing: Closing): void {
  const { parts, place } = live;
  const { state, transcript, kept, flushing } = driver;
  dropLease(place.keeper, kept);
  unwatchInbox(place.inboxes, driver);
  if (closing.type !== "parked") void releaseLease(parts.store, kept.lease);
  if (closing.type !== "parked" && flushing !== null) void using(live, () => flushing);
  live.driver = null;
  live.memory = null;
  live.lastClosing = closing;
  closeWaiters(live, closing, state, transcript);
  if (isFollowed(live)) follow(live, { takeOver: true });
  else leaveIfIdle(live);
}

/**
 * Takes the messages in the inbox, settles waiters, and releases an idle session. Repeats if the driver parks
 * meanwhile.
 */
export async function settleHere(live: LocalSession): Promise<void> {
  for (;;) {
    // A driver that is opened now reads the inbox after all that was posted before this call, and parks only if it has taken all.
    const isNew = live.driver === null && live.opening === null;
    if ((await open(live)) === "held") return;
    const { driver } = live;
    const isDurable = driver !== null && (await (isNew ? dispatch(driver, () => []) : wake(driver)));
    if (isDurable || isNew || live.lastClosing?.type !== "parked") return;
  }
}

function isFollowed(live: LocalSession): boolean {
  return live.waiters.length > 0 || hasLastingSubscriber(live);
}

/** Follows the session, or looks at it at once if it is followed already: somebody may have begun to wait for it. */
export function follow(live: LocalSession, first: { readonly takeOver?: boolean } = {}): void {
  if (live.drained) return;
  live.following ??= followLog({
    sessionId: live.sessionId,
    logs: live.place.logs,
    clock: live.parts.clock,
    after: live.toldUpTo,
    onEvents: (seq, events) => broadcastFollowed(live, seq, events),
    onWaitedFor: (state) => whileWaitedFor(live, state),
    isWanted: () => isFollowed(live),
    mayTakeOver: () => live.waiters.length > 0,
    // If the run ends meanwhile, nobody waits any more, and the session may be forgotten and opened again. A driver that
    // was started here would then run beside another one.
    takeOver: () =>
      using(live, async () => {
        if (live.waiters.length > 0) await settleHere(live);
        return live.driver !== null;
      }),
    onEnd(error) {
      live.following = null;
      leaveChildren(live);
      if (error !== undefined) endWithError(live, error);
      leaveIfIdle(live);
    },
  });
  live.following.look(first);
}

/**
 * Skips events that nobody here needs. A follower begins at the present run, or at the end of the log if nobody watches
 * that run. A waiter for a result after an entry needs everything after that entry.
 */
async function skipToPresent(live: LocalSession): Promise<void> {
  const isWatched = () => live.following !== null || hasLastingSubscriber(live);
  if (isWatched()) return;
  const { state, seq } = (await live.parts.store.load(live.sessionId)) ?? { state: initialState, seq: 0 };
  // Anyone who has come meanwhile needs every event after its place.
  if (isWatched()) return;
  const present = live.subscriptions.length > 0 && !isResting(state) ? state.startSeq - 1 : seq;
  const owed = live.waiters.map(({ awaited }) => ("after" in awaited ? awaited.after : present));
  live.toldUpTo = Math.max(live.toldUpTo, Math.min(present, ...owed));
}

export type SubscribeOptions = {
  /** If given, the subscription gets only items of this run. */
  readonly runId?: string;
  /**
   * If given, the subscription gets everything after this committed entry, and outlives runs and changes of the holder.
   */
  readonly stayAfter?: number;
  /** How many items may wait for the consumer. Default: 1,024. */
  readonly mostBehind?: number;
  /** Whether deltas of one text that wait for the consumer become one. Default: false. */
  readonly joinDeltas?: boolean;
};

export function subscribe(live: LocalSession, options: SubscribeOptions = {}): Subscription {
  const { runId, stayAfter, mostBehind, joinDeltas } = options;
  // No other subscriber or waiter needs earlier events.
  if (isSilent(live) && !isFollowed(live)) live.toldUpTo = Math.max(live.toldUpTo, stayAfter ?? 0);
  const stays = stayAfter !== undefined;
  const onLeave = () => {
    unsubscribe(live, subscription);
    leaveIfIdle(live);
  };
  const subscription = subscribeTo(live, { runId, stays, onLeave, ...defined({ mostBehind, joinDeltas }) });
  if (stays && live.driver === null) follow(live);
  return subscription;
}
