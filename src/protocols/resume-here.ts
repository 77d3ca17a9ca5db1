/**
 * Resumes a session in this process, for a client that follows it.
 */
import { getErrorMessage } from "../core/data/error-message.js";
import { PawlError, type Session } from "../index.js";

/** Resumes the session in this process. @returns why it cannot; null if it ended, waits, or continues elsewhere */
export async function resumeHere(session: Pick<Session, "resume">): Promise<string | null> {
  try {
    const result = await session.resume();
    if (result.status !== "interrupted" || result.reason === "lease_lost") return null;
    return result.error?.message ?? result.text;
  } catch (error) {
    if (error instanceof PawlError && error.code === "run_finished") return null;
    return getErrorMessage(error);
  }
}
