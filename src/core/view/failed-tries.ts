/**
 * The failed attempts of a tool call, and of the model call that asked for it, in public events.
 */
import type { EventOf, Repair } from "../machine/event.js";
import type { CallRecord } from "../transcript/results.js";
import type { Transcript } from "../transcript/transcript.js";
import type { FailedTryOf, OfCall, PublicEventBody } from "./public-event.js";

export function failedTry(
  { attempt, fault, timing, retryInMs }: EventOf<"tool_failed">,
  call: OfCall,
): PublicEventBody {
  return { type: "tool_failed", attempt, fault, durationMs: timing.durationMs, retryInMs, ...call };
}

/** What failed before the call had its result. */
export function attemptsOf(
  { callKey, failed }: CallRecord,
  { run }: Transcript,
): { readonly attempts?: readonly FailedTryOf[] } {
  const asked = run?.failedAttempts ?? null;
  const isOfStep = asked !== null && callKey.startsWith(`${run?.runId}/${asked.modelCallIndex}/`);
  if (!isOfStep && failed === undefined) return noAttempts;
  const ofModel = isOfStep ? asked.attempts.map((one) => ({ of: "model", ...one }) as const) : [];
  const ofTool = (failed ?? []).map(({ fault, ...one }) => ({ of: "tool", message: fault.message, ...one }) as const);
  return { attempts: [...ofModel, ...ofTool] };
}

const noAttempts = {};

/** How the call was repaired before it was decided on. */
export function repairIn({ decision: { repair } }: EventOf<"tool_decided">): { readonly repair?: Repair } {
  return repair === undefined ? noAttempts : { repair };
}
