/**
 * The lines that a server logs.
 */

import { getErrorMessage } from "../core/data/error-message.js";
import type { Redact } from "../index.js";
import { warn } from "../platform/process.js";

/** A line of the server's log. There is one for each request that changes something, and for each failure. */
export type LogLine = {
  /** Epoch milliseconds. */
  readonly at: number;
  /** The id of the request; empty if there was none. */
  readonly requestId: string;
  /** The principal of the request; null if it is unknown. */
  readonly principal: string | null;
  /** The requested action. */
  readonly action: string;
  readonly sessionId: string | null;
  /** The HTTP status of the response. */
  readonly status: number;
  /** Present if the server failed. */
  readonly error?: unknown;
  /** The number of refusals since the last such line. Present if the line summarizes several. */
  readonly count?: number;
};

/** Makes a logger safe to call: what it logs has happened, so its own failure becomes a process warning. */
export function createLog(log: (line: LogLine) => unknown, redact: Redact): (line: LogLine) => void {
  const warnAbout = (error: unknown) => warn(`The server's log failed: ${formatReason(error, redact)}`, "PAWL_LOG");
  return (line) => {
    try {
      const returned = log(line);
      if (returned instanceof Promise) returned.catch(warnAbout);
    } catch (error) {
      warnAbout(error);
    }
  };
}

/** The author's redaction may throw, too. */
function formatReason(error: unknown, redact: Redact): string {
  try {
    return redact(getErrorMessage(error));
  } catch {
    return "its error cannot be shown";
  }
}

/** Creates the line of a failure outside of a request. */
export function createFailureLine(
  action: string,
  error: unknown,
  { principal = null, sessionId = null }: Partial<Pick<LogLine, "principal" | "sessionId">> = {},
): LogLine {
  return { at: Date.now(), requestId: "", principal, action, sessionId, status: 500, error };
}
