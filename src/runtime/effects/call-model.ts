/**
 * One attempt of a model call: streamed, assembled, and settled as a message or a typed failure.
 */

import { addCost } from "../../context/services.js";
import { defined } from "../../core/data/defined.js";
import { classifyEnding, isPaused } from "../../core/data/finish-reason.js";
import {
  type AssistantMessage,
  emptyResponseCode,
  type FinishReason,
  guardTrippedCode,
  type ModelFailure,
  onlyCallsCode,
  type ProviderMetadata,
  pausedTooOftenCode,
  providerErrorFailure,
  textOf,
  toolCallsOf,
  type Usage,
} from "../../core/data/message.js";
import type { AfterFailure, EventBody, Timing } from "../../core/machine/event.js";
import { continuedText } from "../../core/transcript/run-record.js";
import { byteLength } from "../../platform/bytes.js";
import type { MessageDelta, ModelRequest } from "../../ports/model.js";
import { callAfterAttempt, type SettledAttempt } from "../hooks/model-hooks.js";
import { runHooksOnProviderResults } from "../hooks/provider-results.js";
import type { Cancellation } from "../lib/cancellation.js";
import { findEnd, toMessage } from "../model/assembled-message.js";
import { cutOffText } from "../model/cut-off-text.js";
import { createAssembly, type MessageAssembly } from "../model/message-assembly.js";
import { chooseModel, findStream } from "../model/models.js";
import { type PartialOutput, type PartialOutputReader, readPartialOutput } from "../model/partial-output.js";
import { type StreamOptions, streamMessage } from "../model/stream-attempt.js";
import { publishDelta, publishPartialOutput } from "../subscribers/broadcast.js";
import { canCompact, isNearContextLimit } from "../work/context-size.js";
import type { EffectContext, EffectOf } from "../work/effect-context.js";
import { decideAfterEmptyMessage, decideAfterFailure } from "./after-failure.js";
import { type GuardedCall, guardCall, passedVerdict, type Verdict } from "./guard-call.js";
import { buildRequest } from "./model-request.js";

/** The maximum size of a message in bytes of JSON. The size of a log entry is limited, and the entry contains more than the message. */
const maxMessageBytes = 1_000_000;

export async function callModel(
  effect: EffectOf<"call_model">,
  context: EffectContext,
  cancellation: Cancellation,
): Promise<EventBody | undefined> {
  const startedAt = context.now();
  const request = buildRequest(effect, context);
  // Awaits only a promise, so that the model is called right after the commit that asked for it.
  const built = request instanceof Promise ? await request : request;
  if (built.type === "missing") return createRestart(effect, built.message, context);
  while (!context.hold.isFresh()) if (!(await context.hold.refresh())) return undefined;
  const { agent, memory, now, subscribers } = context;
  const { model, timeouts } = chooseModel(context);
  const assembly = createAssembly(built.request);
  let firstDeltaMs: number | undefined;
  const output = createOutputReader(built.request, context);
  const publish = (deltas: readonly MessageDelta[]) => {
    for (const delta of deltas) {
      firstDeltaMs ??= now() - startedAt;
      publishDelta(subscribers, delta);
      output?.take(delta);
    }
  };
  const guard = agent.hooks.besideLLMCall.length === 0 ? null : guardCall(effect, built.request, context, cancellation);
  // Subscribers must not see the beginning of an answer that is held back.
  if (guard?.holds !== true) memory.partial = assembly;
  const options: StreamOptions = {
    stream: findStream(agent, model),
    timeouts,
    clock: agent.clock,
    cancellation: guard?.cancellation ?? cancellation,
    publish: guard === null ? publish : (deltas) => guard.pass(assembly, deltas, publish),
    isLeaseFresh: context.hold.isFresh,
  };
  await streamMessage(assembly, built.request, options);
  const verdict = guard === null ? passedVerdict : await guard.settled(assembly, publish);
  output?.end();
  if (memory.partial === assembly) memory.partial = null;
  const timing: Timing = {
    startedAt,
    durationMs: Math.max(0, now() - startedAt),
    ...(firstDeltaMs === undefined ? {} : { firstDeltaMs }),
  };
  const event = settleAttempt(effect, assembly, timing, context);
  const settled = guard === null ? event : applyVerdict(event, verdict, guard, assembly, context);
  const seen = runHooksOnProviderResults(settled, context, maxMessageBytes);
  return callAfterAttempt(seen instanceof Promise ? await seen : seen, context, cancellation);
}

/** Applies the verdict of the hooks beside the call: an answer that they did not accept does not count. */
function applyVerdict(
  event: SettledAttempt,
  verdict: Verdict,
  { holds, records }: GuardedCall,
  assembly: MessageAssembly,
  context: EffectContext,
): SettledAttempt {
  const hooks = records();
  const { runId, modelCallIndex, attempt, model, timing, resends, usage } = event;
  if (verdict.type === "passed") {
    if (event.type === "model_finished" || !holds) return { ...event, hooks };
    // No hook has seen the text of an answer that was cut off.
    const { partial: _, ...unseen } = event;
    return { ...unseen, hooks };
  }
  const step = { runId, modelCallIndex, attempt, model, timing, ...defined({ resends, usage }) };
  if (verdict.type === "tripped") {
    const { reason, message } = verdict;
    const failure = { kind: "cancelled", code: guardTrippedCode, message } as const;
    return { type: "model_failed", ...step, failure, next: { type: "give_up", reason }, hooks };
  }
  const next = decideAfterFailure(unseenFailure, timing.startedAt, context);
  const partial = holds ? undefined : cutOffText(assembly);
  return { type: "model_failed", ...step, failure: unseenFailure, next, hooks, ...defined({ partial }) };
}

const unseenFailure: ModelFailure = {
  kind: "cancelled",
  message: "The run was ended before its guards had looked at the answer.",
};

/** Only an answer with a schema is parsed while it streams. It may continue earlier answers. */
function createOutputReader(
  identity: ModelRequest,
  { transcript, agent, subscribers }: EffectContext,
): PartialOutputReader | undefined {
  if (identity.responseFormat === undefined) return undefined;
  const publish = (item: PartialOutput) => publishPartialOutput(subscribers, item);
  return readPartialOutput({ identity, before: continuedText(transcript), clock: agent.clock, publish });
}

/** The step is prepared again, and counts as a restart, so a blob that is lost again and again ends the run. */
function createRestart({ runId }: EffectOf<"call_model">, message: string, { memory }: EffectContext): EventBody {
  const fault = { code: "blob_missing", message, retryable: true };
  return { type: "restarted", runId, holder: memory.holder, fault };
}

function settleAttempt(
  { runId, modelCallIndex, attempt }: EffectOf<"call_model">,
  assembly: MessageAssembly,
  timing: Timing,
  context: EffectContext,
): SettledAttempt {
  const { model } = chooseModel(context);
  const end = findEnd(assembly);
  const toFailedAttempt = (
    refusal: MessageRefusal,
    details: Pick<FailedAttempt, "usage" | "partial">,
  ): FailedAttempt => {
    const resends = assembly.resends === 0 ? {} : { resends: assembly.resends };
    return {
      type: "model_failed",
      runId,
      modelCallIndex,
      attempt,
      model: model.id,
      timing,
      ...resends,
      ...refusal,
      ...details,
    };
  };
  if (end.type === "failed") {
    const { failure } = end;
    const next = decideAfterFailure(failure, timing.startedAt, context);
    const partial = failure.kind === "cancelled" ? cutOffText(assembly) : undefined;
    return toFailedAttempt({ failure, next }, defined({ usage: estimateFailureUsage(end, context), partial }));
  }
  const message = toMessage(assembly);
  const { finishReason, usage, providerMetadata } = end;
  const { warnings } = assembly;
  const refusal = isTooLong(assembly, message, providerMetadata)
    ? tooLongRefusal
    : findRefusal(message, finishReason, timing.startedAt, context);
  if (isSummaryWithoutText(message, context))
    return toFailedAttempt(onlyCallsRefusal, { usage: priceUsage(usage, context) });
  if (refusal !== undefined)
    return toFailedAttempt(refusal, { usage: priceUsage({ ...usage, partial: true }, context) });
  const isFull = finishReason.unified === "length" && isNearContextLimit(usage.inputTokens, context);
  if (isFull && context.state.status === "model_running" && canCompact(context.state, context))
    return toFailedAttempt(contextFullRefusal, { usage: priceUsage(usage, context) });
  const finished: Mutable<Extract<SettledAttempt, { type: "model_finished" }>> = {
    type: "model_finished",
    runId,
    modelCallIndex,
    attempt,
    model: model.id,
    timing,
    message,
    finishReason,
    usage: priceUsage(usage, context),
  };
  // Key by key, because each spread in a literal iterates over its keys.
  if (assembly.resends > 0) finished.resends = assembly.resends;
  if (isFull) finished.cut = "context";
  const ending = classifyEnding(finishReason, message);
  if (ending !== undefined) finished.ending = ending;
  if (providerMetadata !== undefined) finished.providerMetadata = providerMetadata;
  if (warnings !== null) finished.warnings = warnings;
  return finished;
}

type FailedAttempt = Extract<SettledAttempt, { type: "model_failed" }>;
type Mutable<Event> = { -readonly [Key in keyof Event]: Event[Key] };

/** Adds the cost to usage. If a provider omits counts, the usage is partial: a lower bound. */
function priceUsage(usage: Usage, context: EffectContext): Usage {
  const isKnown = usage.inputTokens !== undefined && usage.outputTokens !== undefined;
  return addCost(isKnown ? usage : { ...usage, partial: true }, chooseModel(context).model.id, context.agent.services);
}

/**
 * A failed attempt may have used more than it reported, and may have used something even if it reported nothing, unless the provider
 * rejected it.
 */
function estimateFailureUsage(
  { usage, failure }: { readonly usage?: Usage; readonly failure: ModelFailure },
  context: EffectContext,
): Usage | undefined {
  if (usage !== undefined) return priceUsage({ ...usage, partial: true }, context);
  return unbilledFailures.has(failure.kind) ? undefined : { partial: true };
}

const unbilledFailures: ReadonlySet<ModelFailure["kind"]> = new Set([
  "rate_limit",
  "overloaded",
  "context_overflow",
  "quota",
  "auth",
  "invalid_request",
]);

type MessageRefusal = { readonly failure: ModelFailure; readonly next: AfterFailure };

/** The end of the context window cut off the answer. The answer is dropped, and the model is called again after a compaction (FIN-3). */
const contextFullRefusal: MessageRefusal = {
  failure: {
    kind: "context_overflow",
    code: "context_full",
    message: "The answer was cut at the end of the context window.",
  },
  next: { type: "compact" },
};

const tooLongRefusal: MessageRefusal = {
  failure: { kind: "invalid_request", message: "The model's message is too long to be kept." },
  next: { type: "give_up", reason: "model_error" },
};

function isTooLong(
  { characters, parts }: MessageAssembly,
  message: AssistantMessage,
  metadata: ProviderMetadata | undefined,
): boolean {
  // A character takes at most six bytes in JSON, and the keys of a part less than a thousand, so most messages need not be measured.
  if (characters * 6 + parts.length * 1_000 < maxMessageBytes) return false;
  return byteLength(JSON.stringify([message, metadata ?? null])) > maxMessageBytes;
}

/** The next attempt must not call tools. */
const onlyCallsRefusal: MessageRefusal = {
  failure: { kind: "provider", code: onlyCallsCode, message: "The model called tools instead of summing up." },
  next: { type: "retry", inMs: 0 },
};

/** Whether an answer contains only calls, which do not run after the last step. */
function isSummaryWithoutText(message: AssistantMessage, { state, transcript }: EffectContext): boolean {
  const { run } = transcript;
  if (state.status !== "model_running" || state.purpose !== "summary" || run === null) return false;
  if (!run.summary.keepsTools || run.summary.forbidsCalls) return false;
  return toolCallsOf(message).length > 0 && textOf(message).trim() === "";
}

/** How often in a row a provider may be asked to continue its turn (FIN-9). Anthropic runs up to ten of its tools each time. */
const maxPauses = 20;

const pausedTooOftenRefusal: MessageRefusal = {
  failure: {
    kind: "provider",
    code: pausedTooOftenCode,
    message: `The provider paused its turn ${maxPauses + 1} times in a row and never finished it.`,
  },
  next: { type: "give_up", reason: "model_error" },
};

/** How many model calls in a row have only continued a paused turn, including the current one. */
function countPauses({ state, transcript }: EffectContext): number {
  const since = transcript.run?.pausedSince ?? null;
  return since === null || !("modelCallIndex" in state) ? 0 : state.modelCallIndex - since + 1;
}

/** Why an answer is rejected: the provider says that it failed, never finishes, or returned nothing (FIN-5). */
function findRefusal(
  message: AssistantMessage,
  finishReason: FinishReason,
  startedAt: number,
  context: EffectContext,
): MessageRefusal | undefined {
  const { unified } = finishReason;
  const calls = toolCallsOf(message).length;
  if (unified === "error" && calls === 0) {
    return { failure: providerErrorFailure, next: decideAfterFailure(providerErrorFailure, startedAt, context) };
  }
  const hasContent = message.parts.some(
    (part) => part.type !== "reasoning" && !(part.type === "text" && part.text.trim() === ""),
  );
  if (isPaused(finishReason, message, classifyEnding(finishReason, message))) {
    if (calls === 0 && countPauses(context) >= maxPauses) return pausedTooOftenRefusal;
    // A provider may pause before it has produced anything.
    if (message.parts.length > 0) return undefined;
  }
  // Any other finish reason explains by itself why the answer is empty (FIN-3, FIN-4).
  if (hasContent || (unified !== "stop" && unified !== "tool-calls")) return undefined;
  return {
    failure: { kind: "provider", code: emptyResponseCode, message: "The answer was empty." },
    next: decideAfterEmptyMessage(context),
  };
}
