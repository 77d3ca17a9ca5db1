/**
 * The name that is recorded with a person's answer (SEC-6).
 */
import { userInfo } from "node:os";

/** The given name, or the user that owns this process. */
export function resolveUserName(name?: string): string {
  if (name !== undefined && name.trim() !== "") return name.trim();
  try {
    return userInfo().username;
  } catch {
    // In a container, the process may run under a user id without a name.
    return `user ${process.getuid?.() ?? "unknown"}`;
  }
}
