/**
 * The ids of traces: hashes of the session and the run, so that all processes that take part in a run compute the same
 * id.
 */
import { sha256 } from "../lib/hash.js";

/** 32 hexadecimal digits. */
export function createTraceId(sessionId: string, runId: string): string {
  return sha256(JSON.stringify([sessionId, runId])).slice(0, 32);
}

/** The run of a call. A call key is `runId/modelCallIndex/position`. */
export function parseRunId(callKey: string): string {
  return callKey.split("/").slice(0, -2).join("/");
}
