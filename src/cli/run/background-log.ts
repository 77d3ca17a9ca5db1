/**
 * The output file of a session's background processes. It repeats content of the session, so it is deleted with the session.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";

export function resolveLogPath(home: string, sessionId: string): string {
  return join(home, "logs", `${encodeURIComponent(sessionId).slice(0, maxNameLength)}.log`);
}

const maxNameLength = 200;

/** Removes the file if there is one. */
export function removeLog(home: string, sessionId: string): void {
  rmSync(resolveLogPath(home, sessionId), { force: true });
}
