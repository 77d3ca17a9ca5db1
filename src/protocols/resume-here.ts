/**
 * Goes on with a session in this process, for those who follow it.
 */
import { PawlError, type Session } from "../index.js";

/** Carries the session on in this process. @returns why it cannot; null if it ended, waits, or goes on elsewhere */
export async function resumeHere(session: Pick<Session, "resume">): Promise<string | null> {
  try {
    const result = await session.resume();
    if (result.status !== "interrupted" || result.reason === "lease_lost") return null;
    return result.error?.message ?? result.text;
  } catch (error) {
    if (error instanceof PawlError && error.code === "run_finished") return null;
    return error instanceof Error ? error.message : String(error);
  }
}
