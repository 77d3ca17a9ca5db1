/**
 * The lines that a server logs.
 */

/** What the server did: one line for each request that changes something, and for each failure. */
export type LogLine = {
  /** Epoch milliseconds. */
  readonly at: number;
  /** The id of the request; empty if there was none. */
  readonly requestId: string;
  /** Who asked; null if nobody is known. */
  readonly principal: string | null;
  /** What was asked. */
  readonly action: string;
  readonly sessionId: string | null;
  /** The HTTP status of the answer. */
  readonly status: number;
  /** Present if the server failed. */
  readonly error?: unknown;
  /** Present if the line stands for several refusals: how many there were since the last such line. */
  readonly count?: number;
};

/** The line of a failure that no request is answered with. */
export function createFailureLine(
  action: string,
  error: unknown,
  { principal = null, sessionId = null }: Partial<Pick<LogLine, "principal" | "sessionId">> = {},
): LogLine {
  return { at: Date.now(), requestId: "", principal, action, sessionId, status: 500, error };
}
