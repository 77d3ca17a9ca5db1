/**
 * An error that `runTool` throws to end a call without retries.
 */
export class FinalToolError extends Error {
  override readonly name = "FinalToolError";
}
