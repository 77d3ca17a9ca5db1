/**
 * Those who wait for a run's result in this process. Each gets one.
 */
import { type RunResult, resultOf } from "../core/outcome.js";
import { initialState, isResting, type State } from "../core/state.js";
import { createTranscript, type Transcript } from "../core/transcript.js";
import type { Closing } from "./committer.js";
import { brokenError } from "./given-out.js";

/** A run; or, where none is named, whichever ends or waits for somebody after this entry of the log. */
export type Awaited = { readonly runId: string } | { readonly after: number };

type Waiter = {
  readonly awaited: Awaited;
  readonly resolve: (result: RunResult | undefined) => void;
  readonly reject: (error: unknown) => void;
};

export type Act<Result> = (result: Promise<RunResult | undefined>) => Promise<Result>;

export type Waiters = {
  readonly count: () => number;
  /** Waits for a run while something is done about it. It gets undefined where the session has nothing left to do and says nothing of the run. */
  readonly during: <Result>(awaited: Awaited, act: Act<Result>) => Promise<Result>;
  /** What became of a run, and the entry that says so. */
  readonly settle: (result: RunResult, seq: number) => void;
  /** The driver is gone: who waits learns why. */
  readonly close: (closing: Closing, state: State, transcript: Transcript) => void;
};

export function createWaiters(sessionId: string): Waiters {
  const waiters = new Set<Waiter>();

  function take(belongs: (waiter: Waiter) => boolean, act: (waiter: Waiter) => void): void {
    for (const waiter of waiters)
      if (belongs(waiter)) {
        waiters.delete(waiter);
        act(waiter);
      }
  }

  async function during<Result>(awaited: Awaited, act: Act<Result>): Promise<Result> {
    let waiter: Waiter | undefined;
    const result = new Promise<RunResult | undefined>((resolve, reject) => {
      waiter = { awaited, resolve, reject };
      waiters.add(waiter);
    });
    result.catch(() => {});
    try {
      return await act(result);
    } finally {
      if (waiter !== undefined) waiters.delete(waiter);
    }
  }

  function settle(result: RunResult, seq: number): void {
    take(
      ({ awaited }) => ("runId" in awaited ? awaited.runId === result.runId : seq > awaited.after),
      (waiter) => waiter.resolve(result),
    );
  }

  function fail(error: unknown): void {
    take(
      () => true,
      (waiter) => waiter.reject(error),
    );
  }

  function close(closing: Closing, state: State, transcript: Transcript): void {
    switch (closing.type) {
      case "broken":
        fail(brokenError(sessionId, closing.error));
        break;
      case "interrupted":
        take(
          () => true,
          (waiter) => waiter.resolve(interrupted(sessionId, state, transcript, waiter.awaited, closing)),
        );
        break;
      case "parked": {
        const result = resultOf(sessionId, state, transcript);
        if (result !== null) settle(result, Number.POSITIVE_INFINITY);
        take(
          ({ awaited }) =>
            "runId" in awaited && state.queue.some((one) => one.kind === "run" && one.runId === awaited.runId),
          (waiter) =>
            waiter.resolve(interrupted(sessionId, state, transcript, waiter.awaited, { reason: "held_back" })),
        );
        take(
          ({ awaited }) => isResting(state) || ("runId" in awaited && awaited.runId !== state.runId),
          (waiter) => waiter.resolve(undefined),
        );
        break;
      }
    }
  }

  return { count: () => waiters.size, during, settle, close };
}

/** The result of a run of which nothing is known here, because the store does not answer. */
export function storeFailed(sessionId: string, awaited: Awaited, error: unknown): RunResult {
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
