/**
 * Decides what follows a failed attempt of a model call: a compaction, another attempt after a delay, the next model, or the
 * end of the run.
 */

import type { ModelFailure } from "../../core/data/message.js";
import type { Reason } from "../../core/data/reasons.js";
import type { AfterFailure } from "../../core/machine/event.js";
import type { State } from "../../core/machine/state.js";
import { chooseModel } from "../model/models.js";
import { retryDelayMs } from "../model/retry.js";
import { canCompact } from "../work/context-size.js";
import type { EffectContext } from "../work/effect-context.js";

/** @param startedAt when the attempt began, epoch milliseconds */
export function decideAfterFailure(failure: ModelFailure, startedAt: number, context: EffectContext): AfterFailure {
  const { agent, state, now } = context;
  if (failure.kind === "context_overflow" && state.status === "model_running" && canCompact(state, context))
    return { type: "compact" };
  const { since, attempts } = getFailing(state) ?? { since: startedAt, attempts: 0 };
  const inMs = retryDelayMs(chooseModel(context).retry, failure, attempts + 1, now() - since, hasAnswered(context));
  if (inMs !== undefined) return { type: "retry", inMs };
  // If a hook chose a model for this call, the run's current model is tried next.
  const isChosen = state.status === "model_running" && state.model !== undefined;
  const next = getFallback(state) + (isChosen ? 0 : 1);
  return next < agent.models.length
    ? { type: "fallback", index: next }
    : { type: "give_up", reason: toReason(failure) };
}

/** Whether a model has already answered in this session. */
export function hasAnswered({ transcript }: Pick<EffectContext, "transcript">): boolean {
  return transcript.messages.some(({ role }) => role === "assistant");
}

/** An empty answer is retried once (FIN-5). */
export function decideAfterEmptyMessage({ state }: EffectContext): AfterFailure {
  return getFailing(state)?.empty ? { type: "give_up", reason: "empty_response" } : { type: "retry", inMs: 0 };
}

function getFailing(state: State) {
  return state.status === "idle" ? null : state.failing;
}

function getFallback(state: State): number {
  return state.status === "idle" ? 0 : state.fallback;
}

function toReason({ kind }: ModelFailure): Reason {
  if (kind === "context_overflow") return "context_limit";
  return kind === "content_filter" ? "content_filter" : "model_error";
}
