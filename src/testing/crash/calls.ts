/**
 * Collects the outcome, the starts and the effects of each call, from the log and from the world's facts.
 */

import { callKeyOf } from "../../core/data/call-key.js";
import { toolCallsOf } from "../../core/data/message.js";
import type { Entry } from "../../core/machine/event.js";
import type { Fact } from "../world/facts.js";

export type PlayedCall = {
  readonly tool: string;
  /** Empty if the call has no result. */
  readonly outcome: string;
  readonly starts: number;
  /** How many times the call took effect; 0 if the world does not record it. */
  readonly acts: number;
};

/** Collects every call that a model requested, by key. Without `facts`, the starts come from the log. */
export function collectCalls(log: readonly Entry[], facts: readonly Fact[] | null): ReadonlyMap<string, PlayedCall> {
  const calls = new Map<string, PlayedCall>();
  const updateCall = (callKey: string, update: (call: PlayedCall) => Partial<PlayedCall>) => {
    const call = calls.get(callKey);
    if (call !== undefined) calls.set(callKey, { ...call, ...update(call) });
  };
  for (const { event } of log) {
    if (event.type === "model_finished")
      for (const [index, { name: tool }] of toolCallsOf(event.message).entries()) {
        const callKey = callKeyOf(event.runId, event.modelCallIndex, index + 1);
        calls.set(callKey, { tool, outcome: "", starts: 0, acts: 0 });
      }
    if (event.type === "tool_finished") {
      const { outcome, attempt = 1 } = event;
      updateCall(event.callKey, () => ({ outcome, starts: facts === null ? attempt : 0 }));
    }
  }
  for (const fact of facts ?? []) {
    if (fact.type === "tool_started") updateCall(fact.callKey, ({ starts }) => ({ starts: starts + 1 }));
    if (fact.type === "tool_acted") updateCall(fact.callKey, ({ acts }) => ({ acts: acts + 1 }));
  }
  return calls;
}
