/**
 * The callers in this process that wait for the result of a run. Each gets one outcome.
 */

import { childCallsOf } from "../../core/machine/parent.js";
import { initialState, isResting, type State } from "../../core/machine/state.js";
import { createTranscript, type Transcript } from "../../core/transcript/transcript.js";
import { type RunResult, resultOf } from "../../core/view/outcome.js";
import type { Closing } from "../log/closing.js";
import { brokenError, isOfStore } from "../log/driver-errors.js";

/**
 * A named run, or the first run that ends, or waits for somebody, after an entry of the log. After `Infinity`: the
 * session is only to go on, until it rests.
 */
export type Awaited = { readonly runId: string } | { readonly after: number };

/** The result in the outcome is undefined if the session has nothing left to do and does not know the run. */
export type Waiter = {
  readonly awaited: Awaited;
  readonly outcome: Promise<Outcome>;
  readonly settle: (outcome: Outcome) => void;
};

type Outcome = { readonly result: RunResult | undefined } | { readonly error: unknown };

/**
 * A session with waiters. Each change creates a new list: most have at most one entry, and a new list has no spare
 * capacity.
 */
export type WaitedFor = { readonly sessionId: string; waiters: readonly Waiter[] };

export function wait(session: WaitedFor, awaited: Awaited): Waiter {
  let settle: Waiter["settle"] = () => {};
  const outcome = new Promise<Outcome>((resolve) => {
    settle = resolve;
  });
  const waiter = { awaited, outcome, settle };
  session.waiters = session.waiters.concat(waiter);
  return waiter;
}

export function stopWaiting(session: WaitedFor, waiter: Waiter): void {
  if (session.waiters.includes(waiter)) session.waiters = session.waiters.filter((one) => one !== waiter);
}

export function resultIn(outcome: Outcome): RunResult | undefined {
  if ("error" in outcome) throw outcome.error;
  return outcome.result;
}

/** Settles and removes the waiters for which `belongs` is true. */
function take(session: WaitedFor, belongs: (waiter: Waiter) => boolean, outcomeFor: (waiter: Waiter) => Outcome): void {
  const taken = session.waiters.filter(belongs);
  if (taken.length === 0) return;
  session.waiters = session.waiters.filter((waiter) => !taken.includes(waiter));
  for (const waiter of taken) waiter.settle(outcomeFor(waiter));
}

/** Whether a run that waits for somebody settles this waiter. */
export function isWaitingForPeople({ awaited }: Waiter): boolean {
  return "runId" in awaited || Number.isFinite(awaited.after);
}

/** Settles the waiters for a run. @param seq the entry that ended or suspended the run */
export function settleRun(session: WaitedFor, result: RunResult, seq: number): void {
  take(
    session,
    ({ awaited }) => ("runId" in awaited ? awaited.runId === result.runId : seq > awaited.after),
    () => ({ result }),
  );
}

/** Settles waiters after the driver has closed. */
export function closeWaiters(session: WaitedFor, closing: Closing, state: State, transcript: Transcript): void {
  const { sessionId } = session;
  const all = () => true;
  switch (closing.type) {
    case "broken": {
      const error = brokenError(sessionId, closing.error);
      take(session, all, () => ({ error }));
      break;
    }
    case "interrupted":
      take(session, all, ({ awaited }) => ({ result: interrupted(sessionId, state, transcript, awaited, closing) }));
      break;
    case "parked": {
      // The questions of children are not in the log of their parent: the follower reads them.
      const result = childCallsOf(state).length > 0 ? null : resultOf(sessionId, state, transcript);
      if (result !== null) settleRun(session, result, Number.MAX_SAFE_INTEGER);
      holdBack(session, state, transcript);
      take(
        session,
        ({ awaited }) => isResting(state) || ("runId" in awaited && awaited.runId !== state.runId),
        () => ({ result: undefined }),
      );
      break;
    }
  }
}

/** Settles the waiters for runs that are queued behind a run that waits for somebody. */
export function holdBack(session: WaitedFor, state: State, transcript: Transcript): void {
  take(
    session,
    ({ awaited }) => "runId" in awaited && isQueued(awaited.runId, state),
    ({ awaited }) => ({
      result: interrupted(session.sessionId, state, transcript, awaited, { reason: "held_back" }),
    }),
  );
}

function isQueued(runId: string, { queue }: State): boolean {
  return queue.some((one) => one.kind === "run" && one.runId === runId);
}

/** Whether the session is neither at the run nor has it in its queue. It may have ended, or its id is that of no run. */
export function isElsewhere({ awaited }: Waiter, state: State): boolean {
  if (!("runId" in awaited) || isQueued(awaited.runId, state)) return false;
  return state.status === "idle" || state.runId !== awaited.runId;
}

/** Lets the waiters look for their run in the log. */
export function sendAway(session: WaitedFor, waiters: readonly Waiter[]): void {
  take(
    session,
    (waiter) => waiters.includes(waiter),
    () => ({ result: undefined }),
  );
}

/**
 * The result of a run whose store failed.
 * @param isKept whether the store has the request, so that the run can be resumed
 * @throws the error, if it does not come from the store
 */
export function storeFailed(sessionId: string, awaited: Awaited, error: unknown, isKept: boolean): RunResult {
  if (!isOfStore(error)) throw error;
  return {
    ...interrupted(sessionId, initialState, createTranscript(), awaited, { reason: "store_failed", error }),
    resumable: isKept,
  };
}

type Interrupted = Extract<RunResult, { status: "interrupted" }>;

/** Only committed steps count: the transcript may hold entries that the store then refused. */
function interrupted(
  sessionId: string,
  state: State,
  transcript: Transcript,
  awaited: Awaited,
  { reason, error }: Pick<Interrupted, "reason"> & { readonly error?: unknown },
): Interrupted {
  const present = state.status === "idle" ? null : state;
  const runId = "runId" in awaited ? awaited.runId : (present?.runId ?? "");
  const run = present?.runId === runId ? present : null;
  const steps = run?.counters.totalSteps ?? 0;
  const known = transcript.run?.runId === runId && transcript.run.steps === steps ? transcript.run : null;
  // A hook may still refuse the answer of a run that is about to end.
  const isOpen = run?.status === "preparing" && run.for === "finish";
  const said = known === null || isOpen ? "" : known.answer.trim();
  const message = error instanceof Error ? error.message : String(error);
  return {
    sessionId,
    runId,
    status: "interrupted",
    reason,
    resumable: true,
    text: said,
    usage: run?.usage ?? {},
    steps,
    ...(error === undefined ? {} : { error: { code: reason, message, retryable: true } }),
  };
}
