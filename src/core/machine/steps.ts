/**
 * The transitions from one step to the next, and to the end of a run.
 */
import type { Reason } from "../data/reasons.js";
import { findReachedLimit } from "./reached-limits.js";
import {
  type ActiveState,
  type AwaitingHuman,
  type Cut,
  isAsleep,
  type ModelRunning,
  type Preparing,
  type Purpose,
  type RunState,
  type ToolRunning,
} from "./state.js";

/** The fields that every state of a run has. A new optional field must be listed in `optionalFields`. */
export function pickRunState(state: RunState): RunState {
  const run = {
    v: state.v,
    seq: state.seq,
    session: state.session,
    queue: state.queue,
    interrupted: state.interrupted,
    context: state.context,
    runId: state.runId,
    startedAt: state.startedAt,
    startSeq: state.startSeq,
    limits: state.limits,
    modelCallIndex: state.modelCallIndex,
    attempt: state.attempt,
    counters: state.counters,
    usage: state.usage,
    restarts: state.restarts,
    waitedMs: state.waitedMs,
    fallback: state.fallback,
    failing: state.failing,
    compactionsInRow: state.compactionsInRow,
    stopping: state.stopping,
  } satisfies { readonly [Field in Exclude<keyof RunState, OptionalField>]: RunState[Field] };
  if (hasOptionalFields(state)) copyOptionalFields(state, run);
  return run;
}

type OptionalField = { [Field in keyof RunState]-?: undefined extends RunState[Field] ? Field : never }[keyof RunState];

const optionalFields = Object.keys({
  handoff: true,
  parentUntold: true,
  changes: true,
  processes: true,
  compactionAsked: true,
  redactedSeq: true,
  background: true,
} satisfies { readonly [Field in OptionalField]: true }) as readonly OptionalField[];

/** Written out, because looking the fields up by name in a loop is measurable on the hot path. */
function hasOptionalFields(state: RunState): boolean {
  const { handoff, parentUntold, changes, processes, compactionAsked, redactedSeq, background } = state;
  if (compactionAsked !== undefined || redactedSeq !== undefined || background !== undefined) return true;
  return handoff !== undefined || parentUntold !== undefined || changes !== undefined || processes !== undefined;
}

function copyOptionalFields(state: RunState, run: object): void {
  for (const field of optionalFields) if (state[field] !== undefined) Object.assign(run, { [field]: state[field] });
}

type OwnFields<Status> = Status extends RunState ? Omit<Status, keyof RunState | "status"> : never;
type Mutable<Status extends RunState> = { -readonly [Key in keyof Status]: Status[Key] };

// States of a run are built key by key: spreading a run into a literal with more keys costs ten times as much.

export function toPreparing(run: RunState, fields: OwnFields<Preparing>): Preparing {
  const state = pickRunState(run) as Mutable<Preparing>;
  state.status = "preparing";
  state.for = fields.for;
  if (fields.for === "finish") (state as { reason: Reason }).reason = fields.reason;
  else (state as { purpose: Purpose }).purpose = fields.purpose;
  return state as Preparing;
}

export function toModelRunning(
  run: RunState,
  { purpose, contextSeq, backoff, model }: OwnFields<ModelRunning>,
): ModelRunning {
  const state = pickRunState(run) as Mutable<ModelRunning>;
  state.status = "model_running";
  state.purpose = purpose;
  state.contextSeq = contextSeq;
  if (model !== undefined) state.model = model;
  state.backoff = backoff;
  return state;
}

export function toToolRunning(
  run: RunState,
  { calls, cut, doneSeq, paused, parkedSince }: OwnFields<ToolRunning>,
): ToolRunning {
  const state = pickRunState(run) as Mutable<ToolRunning>;
  state.status = "tool_running";
  state.calls = calls;
  state.cut = cut;
  state.doneSeq = doneSeq;
  if (paused === true) state.paused = true;
  if (parkedSince !== undefined) state.parkedSince = parkedSince;
  return state;
}

export function toAwaitingHuman(
  run: RunState,
  { calls, cut, doneSeq, paused, since }: OwnFields<AwaitingHuman>,
): AwaitingHuman {
  const state = pickRunState(run) as Mutable<AwaitingHuman>;
  state.status = "awaiting_human";
  state.calls = calls;
  state.cut = cut;
  state.doneSeq = doneSeq;
  if (paused === true) state.paused = true;
  state.since = since;
  return state;
}

/** The clock of a run is stopped while the run waits for a person, a time or a signal, unless its limits say otherwise. */
export function isClockHeld(state: ActiveState): boolean {
  return (state.status === "awaiting_human" || isAsleep(state)) && state.limits.wallClockIncludesWaiting !== true;
}

/** Goes to the next step, unless a limit of the run is reached. */
export function nextStep(run: RunState, purpose: Exclude<Purpose, "summary">, at: number): Preparing {
  const limit = findReachedLimit(run, at);
  if (limit !== undefined && !(limit === "max_steps" && run.limits.onMaxSteps === "summary"))
    return finishRun(run, limit);
  const next = toPreparing(run, { for: "step", purpose: limit === undefined ? purpose : "summary" });
  return { ...next, modelCallIndex: run.modelCallIndex + 1, attempt: 0, failing: null };
}

/** Prepares the end of the run, for this reason. A pending handoff is dropped. */
export function finishRun(run: RunState, reason: Reason): Preparing {
  return toPreparing(dropHandoff(run), { for: "finish", reason });
}

export function dropHandoff(run: RunState): RunState {
  if (run.handoff === undefined) return run;
  const { handoff: _, ...rest } = pickRunState(run);
  return rest;
}

/**
 * The next state after a cut answer. At the output limit, the model is asked to continue; after an unknown finish reason, it may request
 * its calls again. Both together happen at most `maxContinuations` times.
 */
export function continueAfterCut(run: RunState, cut: Cut, at: number): Preparing {
  switch (cut) {
    case "length": {
      const continuations = run.counters.continuations + 1;
      if (continuations > run.limits.maxContinuations) return finishRun(run, "output_limit");
      return nextStep({ ...run, counters: { ...run.counters, continuations } }, "continue", at);
    }
    case "context":
      return finishRun(run, "context_limit");
    case "content-filter":
      return finishRun(run, "content_filter");
    case "error":
      return finishRun(run, "model_error");
    case "unclear": {
      const continuations = run.counters.continuations + 1;
      if (continuations > run.limits.maxContinuations) return finishRun(run, "model_error");
      return nextStep({ ...run, counters: { ...run.counters, continuations } }, "step", at);
    }
  }
}
