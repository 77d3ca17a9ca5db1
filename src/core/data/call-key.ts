/**
 * The key of a tool call: `runId/modelCallIndex/position`. The log and the protocols contain it. A run id may contain slashes.
 */
export type CallKeyParts = {
  readonly runId: string;
  readonly modelCallIndex: number;
  /** The position of the call in its message. Positions count from 1. */
  readonly position: number;
};

export function callKeyOf(runId: string, modelCallIndex: number, position: number): string {
  return `${runId}/${modelCallIndex}/${position}`;
}

/** The numbers of a malformed key are NaN or 0. */
export function parseCallKey(callKey: string): CallKeyParts {
  const parts = callKey.split("/");
  return {
    runId: parts.slice(0, -2).join("/"),
    modelCallIndex: Number(parts.at(-2)),
    position: Number(parts.at(-1)),
  };
}

export function isCallOfStep(callKey: string, runId: string, modelCallIndex: number): boolean {
  return callKey.startsWith(`${runId}/${modelCallIndex}/`);
}

/** The key of a question: its call, and the question of its tool. */
export function questionKey({
  callKey,
  questionId = "",
}: {
  readonly callKey: string;
  readonly questionId?: string | undefined;
}): string {
  return `${callKey}/${questionId}`;
}
