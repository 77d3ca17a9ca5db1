/**
 * Who decides, as it is recorded with an answer (SEC-6).
 */
import { userInfo } from "node:os";

/** The one who is named, or the user whose process this is. */
export function whoDecides(named?: string): string {
  if (named !== undefined && named.trim() !== "") return named.trim();
  try {
    return userInfo().username;
  } catch {
    // A container may run under a user that its system does not know.
    return `user ${process.getuid?.() ?? "unknown"}`;
  }
}
