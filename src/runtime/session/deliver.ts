/**
 * Delivers messages to a session in this process, and returns the results of runs.
 *
 * 1. A message counts once. It is posted to the inbox, or the driver commits it and records its id as used.
 * 2. A caller that waits for a run gets one result: the end of the run, what the run waits for, or why it stopped here. If
 *    the store fails, the result is `interrupted`.
 */
import { eventsOf, type InboxMessage } from "../../core/machine/inbox.js";
import { initialState, isResting, type State } from "../../core/machine/state.js";
import type { RunResult } from "../../core/view/outcome.js";
import type { PostResult } from "../../ports/store.js";
import { endTail, type Tail } from "../../stream/tail/tail.js";
import { checkAgent, holderDefaults } from "../agent/compiled-agent.js";
import { type Driver, dispatch, wake } from "../driver/driver.js";
import { createAbortMessage, startQueuedRun } from "../driver/internal-messages.js";
import type { MaybePromise } from "../lib/coroutine.js";
import { runInTurn } from "../lib/serial.js";
import {
  findLossCause,
  isStoreError,
  runFinishedError,
  sessionHeldError,
  shutDownError,
  throwNoSession,
  unsettledError,
} from "../log/driver-errors.js";
import { storeHistoryInBlobs } from "../log/posted-history.js";
import { removeSignals, watchSignal } from "../subscribers/run-signals.js";
import {
  addWaiter,
  createStoreFailedResult,
  removeWaiter,
  unwrapOutcome,
  type Waiter,
} from "../subscribers/waiters.js";
import { awaitKnownResult, isRequested } from "./known-result.js";
import {
  claimSession,
  evictIfIdle,
  followSession,
  type LocalSession,
  openLocalSession,
  settleLocally,
  whileInUse,
} from "./local-session.js";

type Delivery = "delivered" | "duplicate";
type DeliveryOptions = {
  readonly shared: boolean;
  /** A state of the session that the caller has loaded. */
  readonly known?: State;
  /** Whether the caller itself looks up the result of a repeated message, and settles the session if there is none. */
  readonly looksForResult?: boolean;
  /** Filled in for the caller, even if the delivery fails. */
  readonly fate?: Fate;
};
/** `check` runs first. No other request of this process comes between the check and the request. */
type RequestOptions = Pick<DeliveryOptions, "shared" | "looksForResult" | "fate"> & {
  readonly signal?: AbortSignal;
  readonly check?: () => Promise<void>;
};

/**
 * Sends a message to the session. If this process drives the session, the driver commits the message. Otherwise, or if
 * other processes may send a message with the same id (`shared`), the message goes through the inbox. Resolves when it
 * is durable.
 * @throws PawlError `agent_mismatch`, `root_mismatch`, `store_failed`
 */
export function deliver(
  localSession: LocalSession,
  message: InboxMessage,
  options: DeliveryOptions,
): Promise<Delivery> {
  return whileInUse(localSession, () => deliverAll(localSession, [message], options));
}

/**
 * Messages that are sent together are committed together. If one of them may be in the store, the error is
 * `store_failed` and says so: with any other error, the caller would assume that nothing had happened, and send the message
 * twice.
 */
async function deliverAll(
  localSession: LocalSession,
  messages: readonly InboxMessage[],
  options: DeliveryOptions,
): Promise<Delivery> {
  const { fate = createFate() } = options;
  try {
    return await deliverNow(localSession, messages, options, fate);
  } catch (error) {
    const isReported = options.looksForResult === true || !isStoreError(error);
    throw fate.stored === "no" || isReported ? error : unsettledError(localSession.sessionId, fate.stored, error);
  }
}

/** Whether the messages are in the store. A failure may follow. */
type Fate = { stored: "no" | "perhaps" | "yes" };

const createFate = (): Fate => ({ stored: "no" });

async function deliverNow(
  localSession: LocalSession,
  messages: readonly InboxMessage[],
  { shared, known, looksForResult = false }: DeliveryOptions,
  fate: Fate,
): Promise<Delivery> {
  const { sessionId, agent } = localSession;
  while (!shared && (await openLocalSession(localSession)) === "driving") {
    const { driver } = localSession;
    if (await dispatchToDriver(driver, messages)) return "delivered";
    // Another driver may have opened and closed since. A driver that parked has not committed the message.
    const closing = driver === null ? localSession.lastClosing : driver.closing;
    if (closing?.type === "parked") continue;
    fate.stored = "perhaps";
    const lossCause = findLossCause(sessionId, closing);
    if (lossCause !== undefined) throw lossCause;
    break;
  }
  // The driver may have committed the message and closed before it could report that. Posting shows it: an id counts once.
  if (localSession.drained && fate.stored === "no") throw shutDownError(agent.name, sessionId);
  checkAgent(sessionId, known ?? (await agent.store.load(sessionId))?.state ?? initialState, agent);
  const posted: PostResult[] = [];
  for (const message of messages) {
    posted.push(await agent.store.post(sessionId, await toPostable(message, localSession)));
    fate.stored = "perhaps";
  }
  fate.stored = "yes";
  const isDuplicate = posted.every(({ type }) => type === "duplicate");
  if (!(isDuplicate && looksForResult)) await settleLocally(localSession);
  return posted[0]?.type === "duplicate" ? "duplicate" : "delivered";
}

/** A history may be larger than a message of the inbox. */
function toPostable(message: InboxMessage, localSession: LocalSession): MaybePromise<InboxMessage> {
  const { sessionId, agent } = localSession;
  if (!("history" in message.body)) return message;
  return withKnownSession(localSession, () => storeHistoryInBlobs(message, sessionId, agent.store));
}

/** Runs `act` when the session exists in the store, even before its first entry: a blob belongs to a session. */
export function withKnownSession<T>(localSession: LocalSession, act: () => Promise<T>): Promise<T> {
  return whileInUse(localSession, async () => {
    const role = await openLocalSession(localSession);
    try {
      return await act();
    } finally {
      // A driver with nothing to do releases the session.
      if (role === "driving" && localSession.driver !== null) await dispatch(localSession.driver, () => []);
    }
  });
}

async function dispatchToDriver(driver: Driver | null, messages: readonly InboxMessage[]): Promise<boolean> {
  if (driver === null) return false;
  const delivered = messages.map((message) =>
    dispatch(driver, (state) => eventsOf(message, state, holderDefaults(driver.agent, state)), {
      record: message.id,
    }),
  );
  return (await Promise.all(delivered)).every((durable) => durable);
}

/** Sends the message that requests a run. If the signal is aborted, even before the start, the run is aborted. */
export function requestRun(
  localSession: LocalSession,
  runId: string,
  message: InboxMessage,
  options: RequestOptions,
): Promise<Delivery> {
  return whileInUse(localSession, () =>
    runInTurn(localSession, () => requestRunNow(localSession, runId, message, options)),
  );
}

async function requestRunNow(
  localSession: LocalSession,
  runId: string,
  message: InboxMessage,
  { signal, check, ...delivery }: RequestOptions,
): Promise<Delivery> {
  await check?.();
  if (signal === undefined) return deliverAll(localSession, [message], delivery);
  const abort = () => createAbortMessage(runId, signal, localSession.agent);
  if (signal.aborted) return deliverAll(localSession, [message, abort()], delivery);
  const delivered = await deliverAll(localSession, [message], delivery);
  watchSignal(
    localSession,
    runId,
    signal,
    () => void deliver(localSession, abort(), { shared: false }).catch(() => {}),
  );
  return delivered;
}

/**
 * Requests a run and returns its result. The subscription ends with the run. If the run is already over, the subscription
 * gets its `final`.
 */
export function runToResult(
  localSession: LocalSession,
  runId: string,
  message: InboxMessage,
  options: Omit<RequestOptions, "looksForResult" | "fate"> & { readonly subscription?: Tail },
): Promise<RunResult> {
  const waiter = addWaiter(localSession, { runId });
  localSession.operationsUnderWay += 1;
  const { subscription, ...request } = options;
  const fate = createFate();
  const pendingDelivery = requestRun(localSession, runId, message, { ...request, looksForResult: true, fate });
  return awaitResult(localSession, runId, waiter, pendingDelivery, fate, subscription);
}

/** A separate function, so that the closure of a waiting run does not retain the message: a process may have many. */
async function awaitResult(
  localSession: LocalSession,
  runId: string,
  waiter: Waiter,
  pendingDelivery: Promise<Delivery>,
  fate: Fate,
  subscription: Tail | undefined,
): Promise<RunResult> {
  try {
    const delivery = await pendingDelivery;
    fate.stored = "yes";
    const settledResult = delivery === "delivered" ? unwrapOutcome(await waiter.outcome) : undefined;
    return (
      settledResult ?? (await awaitKnownResult(localSession, runId, subscription, () => settleLocally(localSession)))
    );
  } catch (error) {
    // A commit whose reply was lost may still be durable.
    const isStored =
      fate.stored === "yes" ||
      (await isRequested(localSession.agent.store, localSession.sessionId, runId).catch(() => false));
    return createStoreFailedResult(localSession.sessionId, waiter.awaited, error, isStored);
  } finally {
    if (subscription !== undefined) endTail(subscription);
    removeWaiter(localSession, waiter);
    removeSignals(localSession, runId);
    localSession.operationsUnderWay -= 1;
    evictIfIdle(localSession);
  }
}

export type ResumeActions = {
  readonly follow: boolean;
  readonly onTaken: () => void;
  /** Called before the result is returned if the session was released with it, and no run is queued. */
  readonly onLeft: () => void;
};

/**
 * Resumes the current run, or starts the next queued run. Returns the first result after entry `after` of the log.
 * @throws PawlError `session_busy` if another process drives the session and `follow` is false
 */
export function resume(
  localSession: LocalSession,
  after: number,
  { follow, onTaken, onLeft }: ResumeActions,
): Promise<RunResult> {
  return whileInUse(localSession, async () => {
    const waiter = addWaiter(localSession, { after });
    try {
      const role = await (follow ? openLocalSession(localSession) : claimSession(localSession));
      if (role === "held" && !follow && !localSession.drained) throw sessionHeldError(localSession.sessionId);
      const { driver } = localSession;
      const isOver = role === "driving" && !follow && driver !== null && hasNothingToDo(driver);
      if (role === "driving" && !isOver) onTaken();
      if (role === "driving" && driver !== null) await dispatch(driver, startQueuedRun);
      // Another process has already driven the session to its end.
      if (isOver) throw runFinishedError(localSession.sessionId, driver.state);
      const result = unwrapOutcome(await waiter.outcome) ?? throwNoSession(localSession.sessionId);
      if (driver?.closing?.type === "parked" && startQueuedRun(driver.state).length === 0) onLeft();
      return result;
    } catch (error) {
      return createStoreFailedResult(localSession.sessionId, waiter.awaited, error, true);
    } finally {
      removeWaiter(localSession, waiter);
    }
  });
}

/** Whether a newly opened driver has found neither a message nor a run to resume. */
function hasNothingToDo({ state, pending, flushing, wanted }: Driver): boolean {
  const isAtRest = isResting(state) && wanted.effects.length === 0 && startQueuedRun(state).length === 0;
  return isAtRest && pending.length === 0 && flushing === null;
}

/**
 * Makes sure that a session is driven, here or elsewhere, until it rests or is interrupted here. Then calls `onEnd`, with an
 * error if the session cannot be driven here. Call the returned function to leave the session to other processes.
 */
export function attendSession(localSession: LocalSession, onEnd: (error?: unknown) => void): () => void {
  const waiter = addWaiter(localSession, { after: Number.POSITIVE_INFINITY });
  if (localSession.driver === null) followSession(localSession, { takeOver: true });
  void waiter.outcome.then((outcome) => {
    if ("error" in outcome) onEnd(outcome.error);
    else if (outcome.result?.status === "interrupted" && outcome.result.reason === "store_failed")
      onEnd(new Error(outcome.result.error?.message));
    else onEnd();
  });
  return () => {
    removeWaiter(localSession, waiter);
    evictIfIdle(localSession);
  };
}

/** If the session is driven here and has nothing to do, resolves when its lease is released. */
export async function releaseIfIdle(localSession: LocalSession): Promise<void> {
  if (localSession.driver !== null) await wake(localSession.driver);
}

/** Resumes the current run without waiting for its result. */
export function takeUpSession(localSession: LocalSession): Promise<void> {
  return whileInUse(localSession, () => settleLocally(localSession));
}
