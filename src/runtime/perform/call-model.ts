/**
 * One attempt of a model call: streamed, put together, and settled as a message or a typed failure.
 */
import type { AfterFailure, EventBody, Timing } from "../../core/event.js";
import type { Message } from "../../core/message.js";
import {
  type AssistantMessage,
  type ModelFailure,
  type ProviderMetadata,
  toolCallsOf,
  type Usage,
} from "../../core/message.js";
import type { Reason } from "../../core/reasons.js";
import { summaryText } from "../../core/transcript.js";
import type { MessageDelta, ModelDelta, ModelRequest, ToolSpecification } from "../../ports/model.js";
import { type Assembly, addDelta, createAssembly, endOf, endWith, messageOf } from "../assembly.js";
import type { Cancellation } from "../cancellation.js";
import { textOfError } from "../error-text.js";
import type { EffectOf, Perform, Work } from "../work.js";

/** Bytes of a message's JSON: an entry of the log has a bound, and other things to hold. */
const mostMessageBytes = 1_000_000;

export const callModel: Perform<EffectOf<"call_model">> = async (effect, work, cancellation) => {
  const startedAt = work.now();
  rememberCall(effect, work, startedAt);
  const request = requestOf(effect, work);
  const assembly = createAssembly(request);
  let firstDeltaMs: number | undefined;
  const publish = (deltas: readonly MessageDelta[]) => {
    for (const delta of deltas) {
      firstDeltaMs ??= work.now() - startedAt;
      work.publishDelta(delta);
    }
  };
  await stream(request, assembly, work, cancellation, publish);
  const timing: Timing = {
    startedAt,
    durationMs: Math.max(0, work.now() - startedAt),
    ...(firstDeltaMs === undefined ? {} : { firstDeltaMs }),
  };
  return settle(effect, assembly, timing, work);
};

async function stream(
  request: ModelRequest,
  assembly: Assembly,
  work: Work,
  { signal }: Cancellation,
  publish: (deltas: readonly MessageDelta[]) => void,
): Promise<void> {
  work.memory.partial = assembly;
  try {
    // The clean-up of a model that has said its last is not waited for.
    const deltas = iteratorOf(work.parts.model.stream(request, signal));
    for (let next = await deltas.next(); next.done !== true; next = await deltas.next()) {
      if (!signal.aborted) publish(addDelta(assembly, next.value));
      if (!signal.aborted && assembly.end === null) continue;
      leave(deltas);
      break;
    }
    if (signal.aborted) publish(endWith(assembly, { kind: "cancelled", message: "The call was aborted." }));
    else publish(endWith(assembly, { kind: "network", message: "The stream ended before the answer was complete." }));
  } catch (error) {
    const failure: ModelFailure = signal.aborted
      ? { kind: "cancelled", message: "The call was aborted." }
      : { kind: "provider", message: textOfError(error) };
    publish(endWith(assembly, failure));
  } finally {
    if (work.memory.partial === assembly) work.memory.partial = null;
  }
}

function iteratorOf(stream: AsyncIterable<ModelDelta>): AsyncIterator<ModelDelta> {
  if (typeof stream?.[Symbol.asyncIterator] !== "function") throw new Error("The model gave no stream.");
  return stream[Symbol.asyncIterator]();
}

function leave(deltas: AsyncIterator<unknown>): void {
  Promise.resolve(deltas.return?.()).catch(() => {});
}

function requestOf(effect: EffectOf<"call_model">, { sessionId, parts, state, transcript }: Work): ModelRequest {
  const options = transcript.run?.options ?? {};
  const summary = state.status === "model_running" && state.purpose === "summary";
  const systemPrompt = options.systemPrompt ?? parts.systemPrompt;
  const toolChoice = summary ? ("none" as const) : options.toolChoice;
  const { runId, modelCallIndex, attempt } = effect;
  return {
    sessionId,
    runId,
    modelCallIndex,
    attempt,
    ...(systemPrompt === undefined ? {} : { systemPrompt }),
    messages: summary ? [...transcript.messages, summaryRequest] : transcript.messages,
    tools: summary ? noTools : activeTools(parts.specifications, options.activeTools),
    ...(toolChoice === undefined ? {} : { toolChoice }),
    ...(options.providerOptions === undefined ? {} : { providerOptions: options.providerOptions }),
  };
}

const summaryRequest: Message = { role: "user", parts: [{ type: "text", text: summaryText }] };
const noTools: readonly ToolSpecification[] = [];

function activeTools(
  all: readonly ToolSpecification[],
  names: readonly string[] | undefined,
): readonly ToolSpecification[] {
  return names === undefined ? all : all.filter((one) => names.includes(one.name));
}

function rememberCall({ runId, modelCallIndex }: EffectOf<"call_model">, { memory }: Work, startedAt: number): void {
  const known = memory.modelCall;
  if (known?.runId !== runId || known.modelCallIndex !== modelCallIndex)
    memory.modelCall = { runId, modelCallIndex, startedAt, empty: 0 };
}

function settle(effect: EffectOf<"call_model">, assembly: Assembly, timing: Timing, work: Work): EventBody {
  const { runId, modelCallIndex, attempt } = effect;
  const step = { runId, modelCallIndex, attempt, model: work.parts.model.id, timing };
  const end = endOf(assembly) ?? { type: "failed", failure: { kind: "network", message: "The stream did not end." } };
  if (end.type === "failed") {
    const usage: Usage | undefined = end.usage === undefined ? undefined : { ...end.usage, partial: true };
    return {
      type: "model_failed",
      ...step,
      failure: end.failure,
      next: afterFailure(end.failure, effect, work),
      ...(usage === undefined ? {} : { usage }),
    };
  }
  const message = messageOf(assembly);
  const { finishReason, usage, providerMetadata } = end;
  const refused = isTooLong(message, providerMetadata) ? tooLong : refuse(message, finishReason.unified, effect, work);
  if (refused !== undefined) return { type: "model_failed", ...step, ...refused, usage: { ...usage, partial: true } };
  return {
    type: "model_finished",
    ...step,
    message,
    finishReason,
    usage,
    ...(providerMetadata === undefined ? {} : { providerMetadata }),
  };
}

type Refused = { readonly failure: ModelFailure; readonly next: AfterFailure };

const tooLong: Refused = {
  failure: { kind: "invalid_request", message: "The model's message is too long to be kept." },
  next: { type: "give_up", reason: "model_error" },
};

function isTooLong(message: AssistantMessage, metadata: ProviderMetadata | undefined): boolean {
  return Buffer.byteLength(JSON.stringify([message, metadata ?? null])) > mostMessageBytes;
}

/** An answer that cannot be kept: the provider says that it failed, or there is nothing in it (FIN-5). */
function refuse(
  message: AssistantMessage,
  unified: string,
  effect: EffectOf<"call_model">,
  work: Work,
): Refused | undefined {
  const calls = toolCallsOf(message).length;
  if (unified === "error" && calls === 0) {
    const failure: ModelFailure = { kind: "provider", message: "The provider ended the answer with an error." };
    return { failure, next: afterFailure(failure, effect, work) };
  }
  const said = message.parts.some(
    (part) => part.type !== "reasoning" && !(part.type === "text" && part.text.trim() === ""),
  );
  if (said || unified === "content-filter" || unified === "length") return undefined;
  const failure: ModelFailure = { kind: "provider", code: "empty_response", message: "The answer was empty." };
  const memory = work.memory.modelCall;
  if (memory === null || memory.empty >= 1) return { failure, next: { type: "give_up", reason: "empty_response" } };
  work.memory.modelCall = { ...memory, empty: memory.empty + 1 };
  return { failure, next: { type: "retry", inMs: 0 } };
}

function afterFailure(failure: ModelFailure, effect: EffectOf<"call_model">, work: Work): AfterFailure {
  const elapsedMs = work.now() - (work.memory.modelCall?.startedAt ?? work.now());
  const inMs = retryIn(failure, effect.attempt, elapsedMs, work);
  return inMs === undefined ? { type: "give_up", reason: reasonOf(failure) } : { type: "retry", inMs };
}

/** A policy may be anybody's code: one that throws, or gives no time, gives up. */
function retryIn(failure: ModelFailure, attempt: number, elapsedMs: number, { parts }: Work): number | undefined {
  try {
    const decided = parts.retry.decide(failure, attempt, elapsedMs);
    if (!("retryInMs" in decided) || !Number.isFinite(decided.retryInMs)) return undefined;
    return Math.max(0, decided.retryInMs);
  } catch {
    return undefined;
  }
}

function reasonOf({ kind }: ModelFailure): Reason {
  if (kind === "context_overflow") return "context_limit";
  return kind === "content_filter" ? "content_filter" : "model_error";
}
