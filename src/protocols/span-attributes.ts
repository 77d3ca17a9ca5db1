/**
 * Span attributes, named as in the conventions, or `pawl.…` where the conventions have no name.
 */
import type { Attributes } from "@opentelemetry/api";
import type { Usage } from "../index.js";
import type { TracedAttempt, TracedCall, TracedHook, TracedToolStep, TracedWait, TraceRecordOf } from "../inspect.js";
import * as names from "./genai.js";

export function toRunAttributes(
  started: TraceRecordOf<"run_started">,
  finished: TraceRecordOf<"run_finished">,
  include: { readonly content: boolean; readonly principal: boolean },
): Attributes {
  const { sessionId, runId, agent, input, parent, principal } = started;
  const parts = [{ type: "text", content: input }];
  return omitUndefined({
    [names.operation]: names.operations.run,
    [names.agentName]: agent,
    [names.conversationId]: sessionId,
    ...toUsageAttributes(finished.usage),
    [names.errorType]: finished.status === "failed" ? (finished.fault ?? finished.reason) : undefined,
    [names.principal]: include.principal ? principal : undefined,
    [names.inputMessages]: include.content ? JSON.stringify([{ role: "user", parts }]) : undefined,
    "pawl.run.id": runId,
    "pawl.run.status": finished.status,
    "pawl.run.reason": finished.reason,
    "pawl.run.steps": finished.steps,
    "pawl.run.restarts": finished.restarts,
    "pawl.parent.session.id": parent?.sessionId,
    "pawl.parent.call.key": parent?.callKey,
  });
}

export function toAttemptAttributes(
  attempt: TracedAttempt,
  { sessionId, modelCallIndex, messages, reused, promptCache, settings = {} }: TraceRecordOf<"step">,
): Attributes {
  const { model, usage, finishReason, failure, firstDeltaMs, text } = attempt;
  const { provider, modelId } = parseModelId(model);
  return omitUndefined({
    [names.operation]: names.operations.modelCall,
    [names.provider]: provider,
    [names.requestModel]: modelId,
    ...toSettingsAttributes(settings),
    [names.conversationId]: sessionId,
    [names.finishReasons]: finishReason === undefined ? undefined : [finishReason.unified],
    [names.timeToFirstChunk]: firstDeltaMs === undefined ? undefined : firstDeltaMs / 1000,
    ...toUsageAttributes(usage),
    [names.errorType]: failure?.kind,
    [names.outputMessages]:
      text === undefined ? undefined : formatOutputMessages(text, finishReason?.unified ?? "error"),
    "pawl.model_call.index": modelCallIndex,
    "pawl.model_call.attempt": attempt.attempt,
    "pawl.model_call.resends": attempt.resends,
    "pawl.model_call.messages": messages,
    "pawl.cache.broke": reused.broke,
    "pawl.cache.ttl": promptCache,
  });
}

function toSettingsAttributes(settings: NonNullable<TraceRecordOf<"step">["settings"]>): Attributes {
  const { stopSequences } = settings;
  return {
    [names.temperature]: settings.temperature,
    [names.topP]: settings.topP,
    [names.topK]: settings.topK,
    [names.maxTokens]: settings.maxOutputTokens,
    [names.stopSequences]: stopSequences === undefined ? undefined : [...stopSequences],
    [names.seed]: settings.seed,
    [names.presencePenalty]: settings.presencePenalty,
    [names.frequencyPenalty]: settings.frequencyPenalty,
    "pawl.model_call.reasoning": settings.reasoning,
    "pawl.model_call.parallel_tool_calls": settings.parallelToolCalls,
  };
}

function formatOutputMessages(text: string, finishReason: string): string {
  return JSON.stringify([{ role: "assistant", parts: [{ type: "text", content: text }], finish_reason: finishReason }]);
}

/** Splits `provider/model`. An id without a slash has no provider. */
function parseModelId(model: string): { readonly provider?: string; readonly modelId: string } {
  const slash = model.indexOf("/");
  if (slash < 1) return { modelId: model };
  const provider = model.slice(0, slash);
  return { provider: names.providers.get(provider) ?? provider, modelId: model.slice(slash + 1) };
}

export function toCallAttributes(call: TracedCall, { sessionId }: TraceRecordOf<"step">): Attributes {
  const { name, toolCallId, outcome, callKey, ran, input, output, returned, waits, cut } = call;
  return omitUndefined({
    [names.operation]: names.operations.toolCall,
    [names.toolName]: name,
    [names.toolCallId]: toolCallId,
    [names.toolType]: "function",
    [names.conversationId]: sessionId,
    [names.errorType]: outcome === "ok" ? undefined : (outcome ?? "unknown"),
    [names.toolArguments]: input,
    [names.toolResult]: output,
    "pawl.call.returned": returned,
    "pawl.call.key": callKey,
    "pawl.call.attempt": ran?.attempt,
    "pawl.child.cut": cut,
    "pawl.child.session.id": waits.find((wait) => wait.childId !== undefined)?.childId,
  });
}

export function toToolStepAttributes({ step, outcome, tries, output }: TracedToolStep): Attributes {
  return omitUndefined({
    "pawl.tool_step.name": step,
    "pawl.tool_step.tries": tries,
    [names.errorType]: outcome === "ok" ? undefined : outcome,
    [names.toolResult]: output,
  });
}

export function toWaitAttributes(call: TracedCall, wait: TracedWait): Attributes {
  return omitUndefined({
    [names.toolName]: call.name,
    "pawl.call.key": call.callKey,
    "pawl.wait.for": wait.for,
    "pawl.wait.by": wait.by,
    "pawl.wait.step": wait.step,
    "pawl.wait.duration_ms": wait.durationMs,
  });
}

export function toHookAttributes({ name, hook, outcome, message, durationMs, callKey }: TracedHook): Attributes {
  return omitUndefined({
    "pawl.hook.name": name,
    "pawl.hook.point": hook,
    "pawl.hook.outcome": outcome,
    "pawl.hook.message": message,
    "pawl.hook.duration_ms": durationMs,
    "pawl.call.key": callKey,
  });
}

export function toCompactionAttributes(record: TraceRecordOf<"compaction">): Attributes {
  return omitUndefined({
    "pawl.compaction.tokens_before": record.tokensBefore,
    "pawl.compaction.tokens_after": record.tokensAfter,
    [names.errorType]: record.fault,
  });
}

export function toHandoffAttributes({ callKey, from, to, messages }: TraceRecordOf<"handoff">): Attributes {
  return omitUndefined({
    "pawl.call.key": callKey,
    "pawl.handoff.from": from,
    "pawl.handoff.to": to,
    "pawl.handoff.messages": messages,
  });
}

function toUsageAttributes(usage: Usage | undefined): Attributes {
  return {
    [names.inputTokens]: usage?.inputTokens,
    [names.outputTokens]: usage?.outputTokens,
    [names.reasoningTokens]: usage?.reasoningTokens,
    [names.cacheReadTokens]: usage?.cacheReadTokens,
    [names.cacheWriteTokens]: usage?.cacheWriteTokens,
    "pawl.cost_usd": usage?.costUsd,
  };
}

function omitUndefined(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}
