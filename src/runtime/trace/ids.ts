/**
 * The ids of traces: hashes of what they name, so that every process that has a part in a run finds the same ones.
 */
import { sha256 } from "../lib/hash.js";

/** 32 hexadecimal digits. */
export function traceIdOf(sessionId: string, runId: string): string {
  return sha256(JSON.stringify([sessionId, runId])).slice(0, 32);
}

/** The run of a call: its key ends in the step and the position. */
export function runIdOf(callKey: string): string {
  return callKey.split("/").slice(0, -2).join("/");
}
