/**
 * The last work of an agent that hands its session over: its hooks of the step, then the session is the next agent's.
 */
import type { EventBody } from "../../core/machine/event.js";
import { callAfterStep, hookRecords } from "../hooks/step-hooks.js";
import type { Cancellation } from "../lib/cancellation.js";
import type { Coroutine } from "../lib/coroutine.js";
import type { EffectContext } from "../work/effect-context.js";

export function* handOver(context: EffectContext, cancellation: Cancellation): Coroutine<EventBody | undefined> {
  const { state, memory } = context;
  if (state.status !== "preparing" || state.for !== "handoff") return undefined;
  const { runId, modelCallIndex, handoff, session } = state;
  if (handoff === undefined || session === null) return undefined;
  const told = yield* callAfterStep(context, cancellation);
  const records = hookRecords(told?.records ?? []);
  if (told?.failure !== undefined) {
    const fault = { code: "hook_failed", message: told.failure, retryable: false };
    return { type: "run_finished", runId, modelCallIndex, reason: "hook_failed", fault, ...records };
  }
  // They hold what belongs to this agent.
  memory.spareHookContext = null;
  memory.sources = null;
  const { to, callKey } = handoff;
  return { type: "handed_off", runId, callKey, from: session.agent, to, ...records };
}
