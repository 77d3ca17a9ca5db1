/**
 * The callers in this process that wait for the result of a run. Each gets one outcome.
 */

import { getErrorMessage } from "../../core/data/error-message.js";
import { findChildCalls } from "../../core/machine/child-reports.js";
import { initialState, isResting, type State } from "../../core/machine/state.js";
import { createTranscript, type Transcript } from "../../core/transcript/transcript.js";
import { type RunResult, resultOf } from "../../core/view/outcome.js";
import type { Closing } from "../log/closing.js";
import { brokenError, isStoreError } from "../log/driver-errors.js";

/**
 * A given run, or the first run that ends or waits for a decision after an entry of the log. After `Infinity`: the waiter
 * only keeps the session going until it rests.
 */
export type AwaitedRun = { readonly runId: string } | { readonly after: number };

/** The result in the outcome is undefined if the session has nothing left to do and the run is unknown. */
export type Waiter = {
  readonly awaited: AwaitedRun;
  readonly outcome: Promise<Outcome>;
  readonly settle: (outcome: Outcome) => void;
};

type Outcome = { readonly result: RunResult | undefined } | { readonly error: unknown };

/**
 * A session with waiters. Each change creates a new list: most have at most one entry, and a new list has no spare
 * capacity.
 */
export type HasWaiters = { readonly sessionId: string; waiters: readonly Waiter[] };

export function addWaiter(session: HasWaiters, awaited: AwaitedRun): Waiter {
  let settle: Waiter["settle"] = () => {};
  const outcome = new Promise<Outcome>((resolve) => {
    settle = resolve;
  });
  const waiter = { awaited, outcome, settle };
  session.waiters = session.waiters.concat(waiter);
  return waiter;
}

export function removeWaiter(session: HasWaiters, waiter: Waiter): void {
  if (session.waiters.includes(waiter)) session.waiters = session.waiters.filter((one) => one !== waiter);
}

export function unwrapOutcome(outcome: Outcome): RunResult | undefined {
  if ("error" in outcome) throw outcome.error;
  return outcome.result;
}

/** Settles and removes the waiters for which `matches` returns true. */
function settleWaiters(
  session: HasWaiters,
  matches: (waiter: Waiter) => boolean,
  outcomeFor: (waiter: Waiter) => Outcome,
): void {
  const matching = session.waiters.filter(matches);
  if (matching.length === 0) return;
  session.waiters = session.waiters.filter((waiter) => !matching.includes(waiter));
  for (const waiter of matching) waiter.settle(outcomeFor(waiter));
}

/** Whether a run that waits for a decision settles this waiter. */
export function endsOnQuestion({ awaited }: Waiter): boolean {
  return "runId" in awaited || Number.isFinite(awaited.after);
}

/** Settles the waiters for a run. @param seq the entry that ended or suspended the run */
export function settleRunWaiters(session: HasWaiters, result: RunResult, seq: number): void {
  settleWaiters(
    session,
    ({ awaited }) => ("runId" in awaited ? awaited.runId === result.runId : seq > awaited.after),
    () => ({ result }),
  );
}

/** Settles waiters after the driver has closed. */
export function closeWaiters(session: HasWaiters, closing: Closing, state: State, transcript: Transcript): void {
  const { sessionId } = session;
  const matchesAll = () => true;
  switch (closing.type) {
    case "broken": {
      const error = brokenError(sessionId, closing.error);
      settleWaiters(session, matchesAll, () => ({ error }));
      break;
    }
    case "interrupted":
      settleWaiters(session, matchesAll, ({ awaited }) => ({
        result: createInterruptedResult(sessionId, state, transcript, awaited, closing),
      }));
      break;
    case "parked": {
      // The questions of children are not in the log of their parent: the follower reads them.
      const result = findChildCalls(state).length > 0 ? null : resultOf(sessionId, state, transcript);
      if (result !== null) settleRunWaiters(session, result, Number.MAX_SAFE_INTEGER);
      holdBackQueuedRuns(session, state, transcript);
      settleWaiters(
        session,
        ({ awaited }) => isResting(state) || ("runId" in awaited && awaited.runId !== state.runId),
        () => ({ result: undefined }),
      );
      break;
    }
  }
}

/** Settles the waiters for runs that are queued behind a waiting run. */
export function holdBackQueuedRuns(session: HasWaiters, state: State, transcript: Transcript): void {
  settleWaiters(
    session,
    ({ awaited }) => "runId" in awaited && isQueued(awaited.runId, state),
    ({ awaited }) => ({
      result: createInterruptedResult(session.sessionId, state, transcript, awaited, { reason: "held_back" }),
    }),
  );
}

function isQueued(runId: string, { queue }: State): boolean {
  return queue.some((one) => one.kind === "run" && one.runId === runId);
}

/** Whether the run is neither current nor queued. It may have ended, or its id may not belong to a run. */
export function isUnrelated({ awaited }: Waiter, state: State): boolean {
  if (!("runId" in awaited) || isQueued(awaited.runId, state)) return false;
  return state.status === "idle" || state.runId !== awaited.runId;
}

/** Settles the waiters without a result, so that they look for their run in the log. */
export function dismissWaiters(session: HasWaiters, waiters: readonly Waiter[]): void {
  settleWaiters(
    session,
    (waiter) => waiters.includes(waiter),
    () => ({ result: undefined }),
  );
}

/**
 * The result of a run whose store failed.
 * @param isStored whether the store has the request, so that the run can be resumed
 * @throws the error, if it does not come from the store
 */
export function createStoreFailedResult(
  sessionId: string,
  awaited: AwaitedRun,
  error: unknown,
  isStored: boolean,
): RunResult {
  if (!isStoreError(error)) throw error;
  return {
    ...createInterruptedResult(sessionId, initialState, createTranscript(), awaited, { reason: "store_failed", error }),
    resumable: isStored,
  };
}

type InterruptedResult = Extract<RunResult, { status: "interrupted" }>;

/** Uses committed steps only: the transcript may contain entries that the store refused. */
function createInterruptedResult(
  sessionId: string,
  state: State,
  transcript: Transcript,
  awaited: AwaitedRun,
  { reason, error }: Pick<InterruptedResult, "reason"> & { readonly error?: unknown },
): InterruptedResult {
  const present = state.status === "idle" ? null : state;
  const runId = "runId" in awaited ? awaited.runId : (present?.runId ?? "");
  const run = present?.runId === runId ? present : null;
  const steps = run?.counters.totalSteps ?? 0;
  const knownRun = transcript.run?.runId === runId && transcript.run.steps === steps ? transcript.run : null;
  // A hook may still refuse the answer of a run that is about to end.
  const isOpen = run?.status === "preparing" && run.for === "finish";
  const partialAnswer = knownRun === null || isOpen ? "" : knownRun.answer.trim();
  const message = getErrorMessage(error);
  return {
    sessionId,
    runId,
    status: "interrupted",
    reason,
    resumable: true,
    text: partialAnswer,
    usage: run?.usage ?? {},
    steps,
    ...(error === undefined ? {} : { error: { code: reason, message, retryable: true } }),
  };
}
