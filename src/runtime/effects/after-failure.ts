/**
 * What follows a failed attempt of a model call: a wait and another, the next model, or the end of the run.
 */

import type { ModelFailure } from "../../core/data/message.js";
import type { Reason } from "../../core/data/reasons.js";
import type { AfterFailure } from "../../core/machine/event.js";
import type { State } from "../../core/machine/state.js";
import { modelOf } from "../model/models.js";
import { canCompact } from "../work/context-size.js";
import type { EffectContext } from "../work/effect-context.js";

/** @param startedAt when the attempt began, epoch milliseconds */
export function afterFailure(failure: ModelFailure, startedAt: number, work: EffectContext): AfterFailure {
  if (failure.kind === "context_overflow" && work.state.status === "model_running" && canCompact(work.state, work))
    return { type: "compact" };
  const inMs = retryIn(failure, startedAt, work);
  if (inMs !== undefined) return { type: "retry", inMs };
  const next = fallbackOf(work.state) + 1;
  return next < work.parts.models.length
    ? { type: "fallback", index: next }
    : { type: "give_up", reason: reasonOf(failure) };
}

/** An answer with nothing in it is asked for once more, and that is all (FIN-5). */
export function afterEmptyAnswer({ state }: EffectContext): AfterFailure {
  return failingOf(state)?.empty ? { type: "give_up", reason: "empty_response" } : { type: "retry", inMs: 0 };
}

/** A policy may be anybody's code: one that throws, or gives no time, gives up. */
function retryIn(failure: ModelFailure, startedAt: number, { parts, state, now }: EffectContext): number | undefined {
  const { since, attempts } = failingOf(state) ?? { since: startedAt, attempts: 0 };
  try {
    const decided = modelOf(parts.models, state).retry.decide(failure, attempts + 1, Math.max(0, now() - since));
    if (!("retryInMs" in decided) || !Number.isFinite(decided.retryInMs)) return undefined;
    return Math.max(0, decided.retryInMs);
  } catch {
    return undefined;
  }
}

function failingOf(state: State) {
  return state.status === "idle" ? null : state.failing;
}

function fallbackOf(state: State): number {
  return state.status === "idle" ? 0 : state.fallback;
}

function reasonOf({ kind }: ModelFailure): Reason {
  if (kind === "context_overflow") return "context_limit";
  return kind === "content_filter" ? "content_filter" : "model_error";
}
