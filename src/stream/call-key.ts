/**
 * The key of a tool call: `runId/modelCallIndex/position`. A run id may contain slashes.
 */

/** The run that a call belongs to. */
export function runIdOfCall(callKey: string): string {
  return callKey.split("/").slice(0, -2).join("/");
}
