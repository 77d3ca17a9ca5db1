/**
 * The idempotency key of a tool call: what services recognize a repeated call by. It must not change for a call that has begun, so its form
 * follows from the log.
 */
import type { EffectContext } from "../work/effect-context.js";

/**
 * The call's key; after the session's id, if the sender chose the id of the run. The session's id is percent-encoded, so that no two calls
 * have the same key, and the id can be sent in a header.
 */
export function createIdempotencyKey(
  callKey: string,
  { sessionId, transcript }: Pick<EffectContext, "sessionId" | "transcript">,
): string {
  return transcript.run?.sessionInKeys === true ? `${encodeURIComponent(sessionId)}/${callKey}` : callKey;
}
