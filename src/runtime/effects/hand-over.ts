/**
 * The last work of an agent that hands its session over: its hooks of the step and the filter of the handoff. Then the
 * session is the next agent's.
 */
import type { EventBody, HookRecord } from "../../core/machine/event.js";
import { toolOf } from "../../core/transcript/results.js";
import { type HandoffFilter, handoffOf } from "../agent/handoffs.js";
import { callAfterStep, hookRecords } from "../hooks/step-hooks.js";
import type { Cancellation } from "../lib/cancellation.js";
import type { Coroutine } from "../lib/coroutine.js";
import type { EffectContext } from "../work/effect-context.js";
import { filteredMessages } from "../work/handoff-filter.js";

export function* handOver(context: EffectContext, cancellation: Cancellation): Coroutine<EventBody | undefined> {
  const { state, memory, transcript, parts } = context;
  if (state.status !== "preparing" || state.for !== "handoff") return undefined;
  const { runId, modelCallIndex, handoff, session } = state;
  if (handoff === undefined || session === null) return undefined;
  const failed = (message: string, records: readonly HookRecord[]): EventBody => {
    const fault = { code: "hook_failed", message, retryable: false };
    return { type: "run_finished", runId, modelCallIndex, reason: "hook_failed", fault, ...hookRecords(records) };
  };
  const told = yield* callAfterStep(context, cancellation);
  const records = told?.records ?? [];
  if (told?.failure !== undefined) return failed(told.failure, records);
  const { to, callKey } = handoff;
  const call = transcript.calls.get(callKey);
  const name = call === undefined ? "" : toolOf(call);
  const filter = filterOf(name, to, context);
  // A filter may ask anybody, and a replay asks nobody.
  if (parts.isReplay === true && typeof filter === "function") return undefined;
  const startedAt = parts.clock.elapsed();
  const filtered = yield* filteredMessages(filter, state, context, cancellation);
  if (!filtered.ok) {
    const { outcome, message } = filtered;
    const ms = Math.max(0, parts.clock.elapsed() - startedAt);
    const record: HookRecord = { name: `filter of ${name}`, hook: "afterStep", ms, outcome, message };
    return failed(`the filter of the handoff to "${to}" failed: ${message}`, [...records, record]);
  }
  // They hold what belongs to this agent.
  memory.spareHookContext = null;
  memory.sources = null;
  const list = filtered.messages === undefined ? {} : { messages: filtered.messages };
  return { type: "handed_off", runId, from: session.agent, to, callKey, ...list, ...hookRecords(records) };
}

/** By the name of the tool. The tool may have been renamed since the call was decided. */
function filterOf(toolName: string, to: string, { parts }: EffectContext): HandoffFilter | undefined {
  const named = parts.tools.get(toolName)?.tool;
  const found = named === undefined ? undefined : handoffOf(named);
  if (found !== undefined) return found.filter;
  for (const { tool } of parts.tools.values()) {
    const handoff = handoffOf(tool);
    if (handoff?.to === to) return handoff.filter;
  }
  return undefined;
}
