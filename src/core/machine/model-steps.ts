/**
 * The model call of a step: its preparation, its outcome, and the next state.
 *
 * 1. Only the current attempt of the current step counts. An outcome of any other attempt is stale.
 * 2. An answer completes the step. A failed attempt counts as an error, and the step keeps its number.
 * 3. A provider that paused continues with the same conversation: input that arrives meanwhile waits until its turn is over.
 */

import { isPaused } from "../data/finish-reason.js";
import { emptyResponseCode, type Fault, guardTrippedCode, toolCallsOf } from "../data/message.js";
import type { Reason } from "../data/reasons.js";
import { addUsageUnrounded } from "../data/usage.js";
import { startCalls } from "./calls.js";
import type { EventOf } from "./event.js";
import { findSpentBudget, isCompactionAllowed } from "./reached-limits.js";
import { clearCompactionRequest, contextAfterCompaction, hasValidRange } from "./requested-compaction.js";
import type { Cut, Failing, ModelRunning, Preparing, Purpose, RunState, State } from "./state.js";
import { continueAfterCut, finishRun, nextStep, pickRunState, toModelRunning, toPreparing } from "./steps.js";
import { stopRun } from "./stopping.js";

export function applyPrepared(state: Preparing, event: EventOf<"prepared">): State {
  if (state.for !== "step" || state.stopping !== null || event.modelCallIndex !== state.modelCallIndex) return state;
  if (event.purpose !== state.purpose || event.contextSeq < state.startSeq || event.contextSeq > state.seq)
    return state;
  const call = { purpose: state.purpose, contextSeq: event.contextSeq, backoff: null };
  const running = toModelRunning(state, event.model === undefined ? call : { ...call, model: event.model });
  if (state.purpose === "unpause") return { ...running, attempt: state.attempt + 1 };
  const queue = state.queue.filter((queued) => queued.kind === "run" || queued.seq > event.contextSeq);
  return { ...running, attempt: state.attempt + 1, queue };
}

export function applyCompactionStarted(state: Preparing, event: EventOf<"compaction_started">): State {
  if (state.for !== "step" || state.stopping !== null || event.modelCallIndex !== state.modelCallIndex) return state;
  return isCompactionAllowed(state) ? startCompaction(state, state.purpose) : state;
}

function startCompaction(run: RunState, purpose: Purpose): Preparing {
  return toPreparing(run, { for: "compaction", purpose });
}

export function applyCompacted(state: Preparing, event: EventOf<"compacted">): State {
  if (state.for !== "compaction" || state.stopping !== null || !hasValidRange(event, state)) return state;
  const shrank = event.keptFrom !== undefined && event.summary !== undefined;
  const weight = shrank ? 1 : 2;
  const { counters } = state;
  const compacted: RunState = {
    ...clearCompactionRequest(pickRunState(state)),
    counters: { ...counters, compactionAttempts: counters.compactionAttempts + weight },
    compactionsInRow: state.compactionsInRow + weight,
    usage: event.usage === undefined ? state.usage : addUsageUnrounded(state.usage, event.usage),
    context: contextAfterCompaction(event, state),
    restarts: shrank ? 0 : state.restarts,
  };
  const spent = findSpentBudget(compacted);
  if (spent !== undefined) return finishRun(compacted, state.purpose === "summary" ? "max_steps" : spent);
  return toPreparing(compacted, { for: "step", purpose: state.purpose });
}

export function applyModelFinished(state: ModelRunning, event: EventOf<"model_finished">): State {
  if (!isCurrentAttempt(state, event)) return state;
  const run: RunState = {
    ...pickRunState(state),
    usage: addUsageUnrounded(state.usage, event.usage),
    counters: { ...state.counters, totalSteps: state.counters.totalSteps + 1 },
    restarts: 0,
    compactionsInRow: 0,
  };
  if (state.purpose === "summary") return finishRun(run, "max_steps");
  const calls = toolCallsOf(event.message);
  const cut = detectCut(event, calls.length > 0);
  const paused = isPaused(event.finishReason, event.message, event.ending);
  if (calls.length > 0)
    return startCalls(
      run,
      calls.map((call) => call.name),
      cut,
      paused,
    );
  if (state.stopping !== null) return finishRun(run, state.stopping.reason);
  if (cut === null && paused) return nextStep(run, "unpause", event.at);
  const steered = state.queue.some((queued) => queued.kind === "steer");
  if (steered && (cut === null || cut === "length")) return nextStep(run, "step", event.at);
  if (cut !== null) return continueAfterCut(run, cut, event.at);
  if (event.finishReason.unified === "other") return finishRun(run, "other");
  return state.limits.requireDoneTool === true ? nextStep(run, "remind", event.at) : finishRun(run, "stop");
}

function detectCut(
  { finishReason: { unified }, cut, ending }: EventOf<"model_finished">,
  hasCalls: boolean,
): Cut | null {
  if (cut !== undefined) return cut;
  if (ending === "unclear" && hasCalls) return "unclear";
  return unified === "length" || unified === "content-filter" || unified === "error" ? unified : null;
}

export function applyModelFailed(state: ModelRunning, event: EventOf<"model_failed">): State {
  if (!isCurrentAttempt(state, event)) return state;
  const { next, failure } = event;
  const isError = failure.kind !== "cancelled";
  const errorCount = state.counters.errorCount + (isError ? 1 : 0);
  const failed: ModelRunning = {
    ...state,
    usage: event.usage === undefined ? state.usage : addUsageUnrounded(state.usage, event.usage),
    counters: { ...state.counters, errorCount },
    failing: isError ? countFailure(state.failing, event) : state.failing,
  };
  const code = failure.code === guardTrippedCode ? guardTrippedCode : failure.kind;
  const fault = { code, message: failure.message, retryable: next.type === "retry" };
  if (state.stopping !== null) return finishRun(failed, state.stopping.reason);
  const limit = errorCount >= state.limits.maxErrors ? "max_errors" : findSpentBudget(failed);
  if (limit !== undefined && next.type !== "give_up") return endAfterFailure(failed, limit, event.at, fault);
  switch (next.type) {
    case "retry":
      return next.inMs > 0
        ? { ...failed, backoff: { until: event.at + next.inMs, ms: next.inMs } }
        : { ...failed, attempt: state.attempt + 1 };
    case "fallback": {
      const { model: _givenUp, ...run } = failed;
      return { ...run, fallback: next.index, failing: null, attempt: state.attempt + 1 };
    }
    case "compact":
      return isCompactionAllowed(state)
        ? startCompaction(failed, state.purpose)
        : endAfterFailure(failed, "context_limit", event.at, fault);
    case "give_up":
      return endAfterFailure(failed, next.reason, event.at, fault);
  }
}

function countFailure(before: Failing | null, { timing, failure }: EventOf<"model_failed">): Failing {
  const { since, attempts, empty } = before ?? { since: timing.startedAt, attempts: 0, empty: 0 };
  return { since, attempts: attempts + 1, empty: empty + (failure.code === emptyResponseCode ? 1 : 0) };
}

/** If the call for the summary at `max_steps` fails, the run ends with `max_steps`. */
function endAfterFailure(state: ModelRunning, reason: Reason, at: number, fault: Fault): State {
  if (state.purpose === "summary") return finishRun(state, "max_steps");
  return stopRun(finishRun(state, reason), reason, at, fault);
}

function isCurrentAttempt(
  state: ModelRunning,
  event: { readonly modelCallIndex: number; readonly attempt: number },
): boolean {
  return event.modelCallIndex === state.modelCallIndex && event.attempt === state.attempt && state.backoff === null;
}
