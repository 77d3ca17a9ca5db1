/**
 * Shapes that several public events share.
 */

/** An attempt that failed, of the model call or of the tool call. Times are in milliseconds. */
export type FailedAttemptOf = {
  /** Whose attempt it was. */
  readonly of: "model" | "tool";
  readonly attempt: number;
  /** What happened. */
  readonly message: string;
  readonly durationMs: number;
  /** Absent if something else than another attempt followed. */
  readonly retryInMs?: number;
};

export type CallFields = {
  readonly runId: string;
  readonly callKey: string;
  readonly toolCallId: string;
  readonly name: string;
};
