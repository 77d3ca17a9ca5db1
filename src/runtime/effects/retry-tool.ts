/**
 * Decides whether a failed call is retried (TOOL-15).
 *
 * 1. The policy of the call says how often, and the machine uses the same rule. The tool's `when` says for which errors.
 * 2. A call that is no longer wanted is not retried.
 * 3. The delay is derived from the call, so that nothing here is random and no two sessions retry at the same time.
 */
import type { Fault } from "../../core/data/message.js";
import { canRetryCall } from "../../core/machine/call-transition.js";
import type { HookRecord } from "../../core/machine/event.js";
import { callOf } from "../../core/machine/state.js";
import { PawlError } from "../../errors.js";
import type { AnyTool } from "../../ports/tool.js";
import type { Cancellation } from "../lib/cancellation.js";
import { formatError } from "../lib/error-text.js";
import { retryDelay } from "../lib/retry-delay.js";
import { FinalToolError } from "../tools/final-error.js";
import { StepError } from "../tools/step-error.js";
import type { EffectContext, EffectOf } from "../work/effect-context.js";

export type NextAttempt = { readonly retryInMs: number };

/** Returns when to retry after what the tool threw; undefined if the call ends with this error. */
export function findNextAttempt(
  error: unknown,
  tool: AnyTool | undefined,
  { callKey, attempt }: EffectOf<"run_tool">,
  { state, sessionId }: EffectContext,
  { isCancelled }: Cancellation,
  records: HookRecord[],
): NextAttempt | undefined {
  const call = callOf(state, callKey);
  if (isCancelled || call?.status !== "running" || call.policy.retry === undefined || !canRetryCall(call))
    return undefined;
  // Any step error other than a plain failure would occur again in the next attempt.
  if (error instanceof StepError && error.code !== "step_failed") return undefined;
  if (error instanceof FinalToolError || isNotStorable(error)) return undefined;
  if (!isWorthRetry(error, tool, records)) return undefined;
  return { retryInMs: retryDelay(call.policy.retry, call.failures ?? 0, `${sessionId}/${callKey}/${attempt}`) };
}

/** The tool or its step has done its work, but the value cannot be stored: another attempt would do the work again, for the same value. */
function isNotStorable(error: unknown): boolean {
  const code = error instanceof StepError ? error.reason : error instanceof PawlError ? error.code : undefined;
  return code === "not_storable";
}

function isWorthRetry(error: unknown, tool: AnyTool | undefined, records: HookRecord[]): boolean {
  const when = tool?.retry?.when;
  if (when === undefined) return true;
  try {
    return when(error) === true;
  } catch (thrown) {
    const message = formatError(thrown, 500);
    records.push({ name: `retry.when of ${tool?.name}`, hook: "afterToolCall", ms: 0, outcome: "threw", message });
    return false;
  }
}

/** The error in the log: the text that the hooks have left of it. */
export function createToolFault(text: string): Fault {
  return { code: "tool_failed", message: text.replace(/^Error: /, ""), retryable: true };
}
