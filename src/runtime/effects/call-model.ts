/**
 * One attempt of a model call: streamed, put together, and settled as a message or a typed failure.
 */

import { withCost } from "../../context/services.js";
import {
  type AssistantMessage,
  emptyResponse,
  endedWithError,
  type ModelFailure,
  type ProviderMetadata,
  toolCallsOf,
  type Usage,
} from "../../core/data/message.js";
import type { AfterFailure, EventBody, Timing } from "../../core/machine/event.js";
import type { MessageDelta, ModelRequest } from "../../ports/model.js";
import { callAfterAttempt, type SettledAttempt } from "../hooks/model-hooks.js";
import type { Cancellation } from "../lib/cancellation.js";
import { andThen } from "../lib/maybe-promise.js";
import { endOf, messageOf } from "../model/assembled-message.js";
import { createAssembly, type MessageAssembly } from "../model/message-assembly.js";
import { modelOf } from "../model/models.js";
import { streamInto } from "../model/stream-attempt.js";
import { publishDelta } from "../subscribers/broadcast.js";
import { canCompact, isNearLimit } from "../work/context-size.js";
import type { EffectContext, EffectOf, Perform } from "../work/effect-context.js";
import { afterEmptyAnswer, afterFailure } from "./after-failure.js";
import { requestOf } from "./model-request.js";

/** Bytes of a message's JSON: an entry of the log has a bound, and other things to hold. */
const mostMessageBytes = 1_000_000;

export const callModel: Perform<EffectOf<"call_model">> = (effect, work, cancellation) => {
  const startedAt = work.now();
  return andThen(requestOf(effect, work), (made) =>
    made.type === "missing"
      ? startAnew(effect, made.message, work)
      : attempt(effect, made.request, startedAt, work, cancellation),
  );
};

async function attempt(
  effect: EffectOf<"call_model">,
  request: ModelRequest,
  startedAt: number,
  work: EffectContext,
  cancellation: Cancellation,
): Promise<SettledAttempt> {
  const { model, timeouts } = modelOf(work.parts.models, work.state);
  const { memory } = work;
  const assembly = createAssembly(request);
  let firstDeltaMs: number | undefined;
  const publish = (deltas: readonly MessageDelta[]) => {
    for (const delta of deltas) {
      firstDeltaMs ??= work.now() - startedAt;
      publishDelta(work.hearers, delta);
    }
  };
  memory.partial = assembly;
  await streamInto(assembly, request, { model, timeouts, clock: work.parts.clock, cancellation, publish, memory });
  if (memory.partial === assembly) memory.partial = null;
  const timing: Timing = {
    startedAt,
    durationMs: Math.max(0, work.now() - startedAt),
    ...(firstDeltaMs === undefined ? {} : { firstDeltaMs }),
  };
  return callAfterAttempt(settle(effect, assembly, timing, work), work, cancellation);
}

/** The step is prepared once more, and counts as one that a process died in: what is lost again and again ends the run. */
function startAnew({ runId }: EffectOf<"call_model">, message: string, { memory }: EffectContext): EventBody {
  const fault = { code: "blob_missing", message, retryable: true };
  return { type: "restarted", runId, holder: memory.holder, fault };
}

function settle(
  effect: EffectOf<"call_model">,
  assembly: MessageAssembly,
  timing: Timing,
  work: EffectContext,
): SettledAttempt {
  const { runId, modelCallIndex, attempt } = effect;
  const { model } = modelOf(work.parts.models, work.state);
  const step = { runId, modelCallIndex, attempt, model: model.id, timing };
  const end = endOf(assembly) ?? { type: "failed", failure: { kind: "network", message: "The stream did not end." } };
  if (end.type === "failed") {
    const usage = usedByFailure(end, work);
    return {
      type: "model_failed",
      ...step,
      failure: end.failure,
      next: afterFailure(end.failure, timing.startedAt, work),
      ...(usage === undefined ? {} : { usage }),
    };
  }
  const message = messageOf(assembly);
  const { finishReason, usage, providerMetadata } = end;
  const refused = isTooLong(assembly, message, providerMetadata)
    ? tooLong
    : refuse(message, finishReason.unified, timing.startedAt, work);
  if (refused !== undefined)
    return { type: "model_failed", ...step, ...refused, usage: counted({ ...usage, partial: true }, work) };
  const isFull = finishReason.unified === "length" && isNearLimit(usage.inputTokens, work);
  if (isFull && work.state.status === "model_running" && canCompact(work.state, work))
    return {
      type: "model_failed",
      ...step,
      failure: contextFull,
      next: { type: "compact" },
      usage: counted(usage, work),
    };
  return {
    type: "model_finished",
    ...step,
    message,
    finishReason,
    ...(isFull ? { cut: "context" as const } : {}),
    usage: counted(usage, work),
    ...(providerMetadata === undefined ? {} : { providerMetadata }),
  };
}

/** Where a provider does not tell what an answer used, what is known is the least that it was. */
function counted(usage: Usage, { parts, state }: EffectContext): Usage {
  const isKnown = usage.inputTokens !== undefined && usage.outputTokens !== undefined;
  return withCost(isKnown ? usage : { ...usage, partial: true }, modelOf(parts.models, state).model.id, parts.services);
}

/** A failed attempt may have used more than was told, and something though nothing was, unless the provider turned it away. */
function usedByFailure(
  { usage, failure }: { readonly usage?: Usage; readonly failure: ModelFailure },
  work: EffectContext,
) {
  if (usage !== undefined) return counted({ ...usage, partial: true }, work);
  return turnedAway.has(failure.kind) ? undefined : { partial: true };
}

const turnedAway: ReadonlySet<ModelFailure["kind"]> = new Set([
  "rate_limit",
  "overloaded",
  "context_overflow",
  "quota",
  "auth",
  "invalid_request",
]);

/** An answer that the end of the context window cut is dropped, and asked for again when there is room (FIN-3). */
const contextFull: ModelFailure = {
  kind: "context_overflow",
  code: "context_full",
  message: "The answer was cut at the end of the context window.",
};

type Refused = { readonly failure: ModelFailure; readonly next: AfterFailure };

const tooLong: Refused = {
  failure: { kind: "invalid_request", message: "The model's message is too long to be kept." },
  next: { type: "give_up", reason: "model_error" },
};

function isTooLong(
  { characters, parts }: MessageAssembly,
  message: AssistantMessage,
  metadata: ProviderMetadata | undefined,
): boolean {
  // A character is at most six bytes in JSON, and what is around a part less than a thousand: most messages need no count.
  if (characters * 6 + parts.length * 1_000 < mostMessageBytes) return false;
  return Buffer.byteLength(JSON.stringify([message, metadata ?? null])) > mostMessageBytes;
}

/** An answer that cannot be kept: the provider says that it failed, or there is nothing in it (FIN-5). */
function refuse(
  message: AssistantMessage,
  unified: string,
  startedAt: number,
  work: EffectContext,
): Refused | undefined {
  const calls = toolCallsOf(message).length;
  if (unified === "error" && calls === 0) {
    return { failure: endedWithError, next: afterFailure(endedWithError, startedAt, work) };
  }
  const said = message.parts.some(
    (part) => part.type !== "reasoning" && !(part.type === "text" && part.text.trim() === ""),
  );
  // An end of another kind says by itself why there is nothing (FIN-3, FIN-4).
  if (said || (unified !== "stop" && unified !== "tool-calls")) return undefined;
  return {
    failure: { kind: "provider", code: emptyResponse, message: "The answer was empty." },
    next: afterEmptyAnswer(work),
  };
}
