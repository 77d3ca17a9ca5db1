/**
 * Trace ids: hashes of the session and the run, so that all processes that take part in a run compute the same id.
 */
import { parseTraceparent, traceparentOf } from "../../core/data/traceparent.js";
import { sha256 } from "./hash.js";

/** 32 hexadecimal digits. */
export function createTraceId(sessionId: string, runId: string): string {
  return sha256(JSON.stringify([sessionId, runId])).slice(0, 32);
}

/** The trace id of the span in which the run was requested, if any; otherwise one derived from the session and the run. */
export function getTraceId(sessionId: string, runId: string, requestTraceparent: string | undefined): string {
  return parseTraceparent(requestTraceparent)?.traceId ?? createTraceId(sessionId, runId);
}

/**
 * The `traceparent` that a tool call sends to other services, the same in every attempt: it is in the trace of the run, and is
 * sampled unless the request for the run was not.
 */
export function createCallTraceparent(
  { sessionId, runId, callKey }: { readonly sessionId: string; readonly runId: string; readonly callKey: string },
  requestTraceparent: string | undefined,
): string {
  const traceId = getTraceId(sessionId, runId, requestTraceparent);
  const isSampled = parseTraceparent(requestTraceparent)?.isSampled ?? true;
  return traceparentOf({ traceId, spanId: sha256(callKey).slice(0, 16), isSampled });
}
