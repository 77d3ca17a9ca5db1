/**
 * Delivers messages to a session in this process, and gives the results of runs.
 *
 * 1. A message counts once. It is posted to the inbox, or the driver commits it and records its id as taken.
 * 2. A caller that waits for a run gets one result: its end, what it waits for, or why it stopped here. If the store
 *    fails, the result is `interrupted`.
 */
import { eventsOf, type InboxMessage } from "../../core/machine/inbox.js";
import { initialState, isResting, type State } from "../../core/machine/state.js";
import type { RunResult } from "../../core/view/outcome.js";
import type { PostResult } from "../../ports/store.js";
import { checkAgent, holderDefaults } from "../agent/compiled-agent.js";
import { type Driver, dispatch, wake } from "../driver/driver.js";
import { abortMessage, startQueued } from "../driver/internal-messages.js";
import type { MaybePromise } from "../lib/coroutine.js";
import { inTurn } from "../lib/serial.js";
import {
  causeOfLoss,
  finishedError,
  heldError,
  isOfStore,
  shutDownError,
  throwNoSession,
  unsettledError,
} from "../log/driver-errors.js";
import { withHistoryInBlobs } from "../log/posted-history.js";
import { forgetSignals, watchSignal } from "../subscribers/run-signals.js";
import { endSubscription, type Subscription } from "../subscribers/subscription.js";
import { resultIn, stopWaiting, storeFailed, type Waiter, wait } from "../subscribers/waiters.js";
import { isRequested, knownResult } from "./known-result.js";
import { follow, type LocalSession, leaveIfIdle, open, settleHere, take, using } from "./local-session.js";

type Delivery = "said" | "duplicate";
type DeliveryOptions = {
  readonly shared: boolean;
  /** A state of the session that the caller has loaded. */
  readonly known?: State;
  /** The caller looks for the result of a message that was posted before, and settles the session if there is none. */
  readonly looksForResult?: boolean;
  /** What the caller wants to know even if the delivery fails. */
  readonly fate?: Fate;
};
/** `check` runs first. No other request of this process comes between it and the request. */
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
export function deliver(live: LocalSession, message: InboxMessage, options: DeliveryOptions): Promise<Delivery> {
  return using(live, () => deliverAll(live, [message], options));
}

/**
 * Messages that are sent together are committed together. If one of them may be in the store, the error is
 * `store_failed` and says so: any other error would read as if nothing had happened, and the message would be sent
 * twice.
 */
async function deliverAll(
  live: LocalSession,
  messages: readonly InboxMessage[],
  options: DeliveryOptions,
): Promise<Delivery> {
  const { fate = newFate() } = options;
  try {
    return await deliverNow(live, messages, options, fate);
  } catch (error) {
    const isTold = options.looksForResult === true || !isOfStore(error);
    throw fate.isKept === "no" || isTold ? error : unsettledError(live.sessionId, fate.isKept, error);
  }
}

/** Whether the messages are in the store. A failure may follow. */
type Fate = { isKept: "no" | "perhaps" | "yes" };

const newFate = (): Fate => ({ isKept: "no" });

async function deliverNow(
  live: LocalSession,
  messages: readonly InboxMessage[],
  { shared, known, looksForResult = false }: DeliveryOptions,
  fate: Fate,
): Promise<Delivery> {
  const { sessionId, parts } = live;
  while (!shared && (await open(live)) === "driving") {
    const { driver } = live;
    if (await dispatchToDriver(driver, messages)) return "said";
    // Another driver may have come and gone since. One that parked has left the message out.
    const closing = driver === null ? live.lastClosing : driver.closing;
    if (closing?.type === "parked") continue;
    fate.isKept = "perhaps";
    const loss = causeOfLoss(sessionId, closing);
    if (loss !== undefined) throw loss;
    break;
  }
  // The driver may have committed the message and closed before it could tell so. Posting tells: an id counts once.
  if (live.drained && fate.isKept === "no") throw shutDownError(parts.name, sessionId);
  checkAgent(sessionId, known ?? (await parts.store.load(sessionId))?.state ?? initialState, parts);
  const posted: PostResult[] = [];
  for (const message of messages) {
    posted.push(await parts.store.post(sessionId, await postable(message, live)));
    fate.isKept = "perhaps";
  }
  fate.isKept = "yes";
  const isKnown = posted.every(({ type }) => type === "duplicate");
  if (!(isKnown && looksForResult)) await settleHere(live);
  return posted[0]?.type === "duplicate" ? "duplicate" : "said";
}

/** A history may be larger than a message of the inbox. */
function postable(message: InboxMessage, live: LocalSession): MaybePromise<InboxMessage> {
  const { sessionId, parts } = live;
  if (!("history" in message.body)) return message;
  return whileKnown(live, () => withHistoryInBlobs(message, sessionId, parts.store));
}

/** Does something for which the store must know the session, also before its first entry: a blob belongs to a session. */
export function whileKnown<T>(live: LocalSession, act: () => Promise<T>): Promise<T> {
  return using(live, async () => {
    const here = await open(live);
    try {
      return await act();
    } finally {
      // A driver with nothing to do gives the session back.
      if (here === "driving" && live.driver !== null) await dispatch(live.driver, () => []);
    }
  });
}

async function dispatchToDriver(driver: Driver | null, messages: readonly InboxMessage[]): Promise<boolean> {
  if (driver === null) return false;
  const said = messages.map((message) =>
    dispatch(driver, (state) => eventsOf(message, state, holderDefaults(driver.parts, state)), {
      record: message.id,
    }),
  );
  return (await Promise.all(said)).every((durable) => durable);
}

/** Sends the message that requests a run. If its signal is aborted, also before the start, the run is aborted. */
export function requestRun(
  live: LocalSession,
  runId: string,
  message: InboxMessage,
  options: RequestOptions,
): Promise<Delivery> {
  return using(live, () => inTurn(live, () => requestRunNow(live, runId, message, options)));
}

async function requestRunNow(
  live: LocalSession,
  runId: string,
  message: InboxMessage,
  { signal, check, ...delivery }: RequestOptions,
): Promise<Delivery> {
  await check?.();
  if (signal === undefined) return deliverAll(live, [message], delivery);
  const abort = () => abortMessage(runId, signal, live.parts);
  if (signal.aborted) return deliverAll(live, [message, abort()], delivery);
  const said = await deliverAll(live, [message], delivery);
  watchSignal(live, runId, signal, () => void deliver(live, abort(), { shared: false }).catch(() => {}));
  return said;
}

/**
 * Requests a run and gives its result. The subscription ends with the run. If the run is over already, it gets its end.
 */
export function runToResult(
  live: LocalSession,
  runId: string,
  message: InboxMessage,
  options: Omit<RequestOptions, "looksForResult" | "fate"> & { readonly subscription?: Subscription },
): Promise<RunResult> {
  const waiter = wait(live, { runId });
  live.operationsUnderWay += 1;
  const { subscription, ...request } = options;
  const fate = newFate();
  const asked = requestRun(live, runId, message, { ...request, looksForResult: true, fate });
  return awaitResult(live, runId, waiter, asked, fate, subscription);
}

/** A separate function, so that the closure of a waiting run does not retain the message: a process may hold many. */
async function awaitResult(
  live: LocalSession,
  runId: string,
  waiter: Waiter,
  asked: Promise<Delivery>,
  fate: Fate,
  subscription: Subscription | undefined,
): Promise<RunResult> {
  try {
    const delivery = await asked;
    fate.isKept = "yes";
    const told = delivery === "said" ? resultIn(await waiter.outcome) : undefined;
    return told ?? (await knownResult(live, runId, subscription, () => settleHere(live)));
  } catch (error) {
    // A commit whose answer was lost may be durable all the same.
    const isKept =
      fate.isKept === "yes" || (await isRequested(live.parts.store, live.sessionId, runId).catch(() => false));
    return storeFailed(live.sessionId, waiter.awaited, error, isKept);
  } finally {
    if (subscription !== undefined) endSubscription(subscription);
    stopWaiting(live, waiter);
    forgetSignals(live, runId);
    live.operationsUnderWay -= 1;
    leaveIfIdle(live);
  }
}

export type Resuming = {
  readonly follow: boolean;
  readonly onTaken: () => void;
  /** Called before the result if the session was given back with it, and no run is queued. */
  readonly onLeft: () => void;
};

/**
 * Carries on the run under way, or starts the next queued run. Gives the first result after this entry of the log.
 * @throws PawlError `session_busy` if another process carries the session on, and it is not to be followed
 */
export function resume(
  live: LocalSession,
  after: number,
  { follow: mayFollow, onTaken, onLeft }: Resuming,
): Promise<RunResult> {
  return using(live, async () => {
    const waiter = wait(live, { after });
    try {
      const here = await (mayFollow ? open(live) : take(live));
      if (here === "held" && !mayFollow && !live.drained) throw heldError(live.sessionId);
      const { driver } = live;
      const isOver = here === "driving" && !mayFollow && driver !== null && hasNothingToDo(driver);
      if (here === "driving" && !isOver) onTaken();
      if (here === "driving" && driver !== null) await dispatch(driver, startQueued);
      // Another process was quicker from the first event to the last.
      if (isOver) throw finishedError(live.sessionId, driver.state);
      const result = resultIn(await waiter.outcome) ?? throwNoSession(live.sessionId);
      if (driver?.closing?.type === "parked" && startQueued(driver.state).length === 0) onLeft();
      return result;
    } catch (error) {
      return storeFailed(live.sessionId, waiter.awaited, error, true);
    } finally {
      stopWaiting(live, waiter);
    }
  });
}

/** Whether a driver that was opened just now has found neither a message nor a run to carry on. */
function hasNothingToDo({ state, pending, flushing, wanted }: Driver): boolean {
  const isAtRest = isResting(state) && wanted.effects.length === 0 && startQueued(state).length === 0;
  return isAtRest && pending.length === 0 && flushing === null;
}

/**
 * Sees to it that a session goes on, here or elsewhere, until it rests or is interrupted here. Then calls `onEnd`, with an
 * error if the session cannot go on here. Call the returned function to leave the session to others.
 */
export function attend(live: LocalSession, onEnd: (error?: unknown) => void): () => void {
  const waiter = wait(live, { after: Number.POSITIVE_INFINITY });
  if (live.driver === null) follow(live, { takeOver: true });
  void waiter.outcome.then((outcome) => {
    if ("error" in outcome) onEnd(outcome.error);
    else if (outcome.result?.status === "interrupted" && outcome.result.reason === "store_failed")
      onEnd(new Error(outcome.result.error?.message));
    else onEnd();
  });
  return () => {
    stopWaiting(live, waiter);
    leaveIfIdle(live);
  };
}

/** If the session is driven here and has nothing to do, resolves when its lease was given back. */
export async function letGo(live: LocalSession): Promise<void> {
  if (live.driver !== null) await wake(live.driver);
}

/** Carries on the run under way. Nobody waits for its result. */
export function takeUp(live: LocalSession): Promise<void> {
  return using(live, () => settleHere(live));
}
