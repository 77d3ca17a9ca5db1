/**
 * An error with which `runTool` ends a call: another attempt would give the same.
 */
export class FinalToolError extends Error {
  override readonly name = "FinalToolError";
}
