/**
 * The last work of an agent that hands its session over: its `afterStep` hooks and the handoff's filter. After that, the session belongs to
 * the next agent.
 */
import type { EventBody, HookRecord } from "../../core/machine/event.js";
import { toolNameOf } from "../../core/transcript/results.js";
import { findHandoff, type HandoffFilter } from "../agent/handoffs.js";
import { callAfterStep, pickHookRecords } from "../hooks/step-hooks.js";
import type { Cancellation } from "../lib/cancellation.js";
import type { Coroutine } from "../lib/coroutine.js";
import type { EffectContext } from "../work/effect-context.js";
import { applyHandoffFilter } from "../work/handoff-filter.js";

export function* prepareHandoff(context: EffectContext, cancellation: Cancellation): Coroutine<EventBody | undefined> {
  const { state, memory, runMemory, transcript, agent } = context;
  if (state.status !== "preparing" || state.for !== "handoff") return undefined;
  const { runId, modelCallIndex, handoff, session } = state;
  if (handoff === undefined || session === null) return undefined;
  const failed = (message: string, records: readonly HookRecord[]): EventBody => {
    const fault = { code: "hook_failed", message, retryable: false };
    return { type: "run_finished", runId, modelCallIndex, reason: "hook_failed", fault, ...pickHookRecords(records) };
  };
  const afterStep = yield* callAfterStep(context, cancellation);
  const records = afterStep?.records ?? [];
  if (afterStep?.failure !== undefined) return failed(afterStep.failure, records);
  const { to, callKey } = handoff;
  const call = transcript.calls.get(callKey);
  const name = call === undefined ? "" : toolNameOf(call);
  const filter = findFilter(name, to, context);
  // A filter may have side effects, and a replay must not have any.
  if (agent.isReplay === true && typeof filter === "function") return undefined;
  const startedAt = agent.clock.elapsed();
  const filterResult = yield* applyHandoffFilter(filter, state, context, cancellation);
  if (!filterResult.ok) {
    const { outcome, message } = filterResult;
    const ms = Math.max(0, agent.clock.elapsed() - startedAt);
    const record: HookRecord = { name: `filter of ${name}`, hook: "afterStep", ms, outcome, message };
    return failed(`the filter of the handoff to "${to}" failed: ${message}`, [...records, record]);
  }
  // Both belong to this agent.
  memory.spareHookContext = null;
  runMemory.sources = null;
  const list = filterResult.messages === undefined ? {} : { messages: filterResult.messages };
  return { type: "handed_off", runId, from: session.agent, to, callKey, ...list, ...pickHookRecords(records) };
}

/** Finds the filter by tool name, or else by target, because the tool may have been renamed since the call was decided. */
function findFilter(toolName: string, to: string, { agent }: EffectContext): HandoffFilter | undefined {
  const named = agent.tools.get(toolName)?.tool;
  const found = named === undefined ? undefined : findHandoff(named);
  if (found !== undefined) return found.filter;
  for (const { tool } of agent.tools.values()) {
    const handoff = findHandoff(tool);
    if (handoff?.to === to) return handoff.filter;
  }
  return undefined;
}
