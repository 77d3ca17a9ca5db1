/**
 * Logs the failures of a server's workers.
 */
import { PawlError, type WorkerReport } from "../index.js";
import { createFailureLine } from "./log-line.js";
import type { ServerSettings } from "./server-settings.js";

/** Logs a failure that a worker of the server, or of a tick, has reported. */
export function logFailure({ log }: Pick<ServerSettings, "log">, report: WorkerReport): void {
  if (report.type === "store_failed" || report.type === "schedule_failed") log(createFailureLine("work", report.error));
  else if (report.type === "notice_failed")
    log(createFailureLine("notice", report.error, report.sessionId === null ? {} : { sessionId: report.sessionId }));
  // A session without an agent in this process belongs to another process.
  else if (report.type === "refused" && !hasNoAgent(report.error))
    log(createFailureLine("work", report.error, { sessionId: report.sessionId }));
}

function hasNoAgent(error: unknown): boolean {
  return error instanceof PawlError && error.code === "agent_mismatch";
}
