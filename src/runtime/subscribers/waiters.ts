/**
 * Those who wait for a run's result in this process. Each gets one.
 */

import { initialState, isResting, type State } from "../../core/machine/state.js";
import { createTranscript, type Transcript } from "../../core/transcript/transcript.js";
import { type RunResult, resultOf } from "../../core/view/outcome.js";
import type { Closing } from "../log/closing.js";
import { brokenError, isOfStore } from "../log/driver-errors.js";

/** A run; or, where none is named, whichever ends or waits for somebody after this entry of the log. */
export type Awaited = { readonly runId: string } | { readonly after: number };

/** One that waits. Its outcome is undefined where the session has nothing left to do and says nothing of the run. */
export type Waiter = {
  readonly awaited: Awaited;
  readonly outcome: Promise<Outcome>;
  readonly settle: (outcome: Outcome) => void;
};

type Outcome = { readonly result: RunResult | undefined } | { readonly error: unknown };

/** A session that is waited for. A list is made anew where it changes: most have one entry or none, and take no room for more. */
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

/** Gives an outcome to those to whom it belongs; they wait no longer. */
function take(session: WaitedFor, belongs: (waiter: Waiter) => boolean, outcomeFor: (waiter: Waiter) => Outcome): void {
  const taken = session.waiters.filter(belongs);
  if (taken.length === 0) return;
  session.waiters = session.waiters.filter((waiter) => !taken.includes(waiter));
  for (const waiter of taken) waiter.settle(outcomeFor(waiter));
}

/** What became of a run, and the entry that says so. */
export function settleRun(session: WaitedFor, result: RunResult, seq: number): void {
  take(
    session,
    ({ awaited }) => ("runId" in awaited ? awaited.runId === result.runId : seq > awaited.after),
    () => ({ result }),
  );
}

/** The driver is gone: who waits learns why. */
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
      const result = resultOf(sessionId, state, transcript);
      if (result !== null) settleRun(session, result, Number.POSITIVE_INFINITY);
      const heldBack = { reason: "held_back" } as const;
      take(
        session,
        ({ awaited }) =>
          "runId" in awaited && state.queue.some((one) => one.kind === "run" && one.runId === awaited.runId),
        ({ awaited }) => ({ result: interrupted(sessionId, state, transcript, awaited, heldBack) }),
      );
      take(
        session,
        ({ awaited }) => isResting(state) || ("runId" in awaited && awaited.runId !== state.runId),
        () => ({ result: undefined }),
      );
      break;
    }
  }
}

/** The result of a run of which nothing is known here, because the store does not answer. @throws what else went wrong */
export function storeFailed(sessionId: string, awaited: Awaited, error: unknown): RunResult {
  if (!isOfStore(error)) throw error;
  return interrupted(sessionId, initialState, createTranscript(), awaited, { reason: "store_failed", error });
}

/** Only what was committed counts: a transcript may hold what the store then refused. */
function interrupted(
  sessionId: string,
  state: State,
  transcript: Transcript,
  awaited: Awaited,
  { reason, error }: Pick<Extract<RunResult, { status: "interrupted" }>, "reason"> & { readonly error?: unknown },
): RunResult {
  const present = state.status === "idle" ? null : state;
  const runId = "runId" in awaited ? awaited.runId : (present?.runId ?? "");
  const run = present?.runId === runId ? present : null;
  const steps = run?.counters.totalSteps ?? 0;
  const said = transcript.run?.runId === runId && transcript.run.steps === steps ? transcript.run.answer.trim() : "";
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
