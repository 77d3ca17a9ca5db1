/**
 * The key of an attempt of a model call, unique within its session.
 */

export type AttemptOfCall = { readonly runId: string; readonly modelCallIndex: number; readonly attempt: number };

export function toAttemptKey({ runId, modelCallIndex, attempt }: AttemptOfCall): string {
  return `${runId}/${modelCallIndex}/${attempt}`;
}
