/**
 * The failed attempts of a tool call, and of the model call that requested it, for public events.
 */
import { isCallOfStep } from "../data/call-key.js";
import type { EventOf, Repair } from "../machine/event.js";
import type { CallRecord } from "../transcript/results.js";
import type { Transcript } from "../transcript/transcript.js";
import type { CallFields, FailedAttemptOf, PublicEventBody } from "./public-event.js";

export function toolFailedEvent(
  { attempt, fault, timing, retryInMs }: EventOf<"tool_failed">,
  call: CallFields,
): PublicEventBody {
  return { type: "tool_failed", attempt, fault, durationMs: timing.durationMs, retryInMs, ...call };
}

/** The attempts that failed before the call got its result. */
export function collectFailedAttempts(
  { callKey, failed }: CallRecord,
  { run }: Transcript,
): { readonly attempts?: readonly FailedAttemptOf[] } {
  const modelFailures = run?.failedAttempts ?? null;
  const isSameStep =
    run !== null && modelFailures !== null && isCallOfStep(callKey, run.runId, modelFailures.modelCallIndex);
  if (!isSameStep && failed === undefined) return noAttempts;
  const modelAttempts = isSameStep ? modelFailures.attempts.map((one) => ({ of: "model", ...one }) as const) : [];
  const toolAttempts = (failed ?? []).map(
    ({ fault, ...one }) => ({ of: "tool", message: fault.message, ...one }) as const,
  );
  return { attempts: [...modelAttempts, ...toolAttempts] };
}

const noAttempts = {};

/** How the call was repaired before it was decided. */
export function pickRepair({ decision: { repair } }: EventOf<"tool_decided">): { readonly repair?: Repair } {
  return repair === undefined ? noAttempts : { repair };
}
