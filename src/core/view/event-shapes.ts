/**
 * Shapes that several public events share.
 */

/** A failed attempt of the model call or the tool call. Times are in milliseconds. */
export type FailedAttemptOf = {
  /** Whether the attempt was the model's or the tool's. */
  readonly of: "model" | "tool";
  readonly attempt: number;
  /** The error message. */
  readonly message: string;
  readonly durationMs: number;
  /** Absent if no further attempt followed. */
  readonly retryInMs?: number;
};

export type CallFields = {
  readonly runId: string;
  readonly callKey: string;
  readonly toolCallId: string;
  readonly name: string;
};
