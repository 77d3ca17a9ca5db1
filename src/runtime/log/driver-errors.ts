/**
 * The errors of a failed store or driver, of a missing session, and of a shutdown.
 */
import type { State } from "../../core/machine/state.js";
import { PawlError } from "../../errors.js";
import type { Lease, Store } from "../../ports/store.js";
import { formatError } from "../lib/error-text.js";
import type { Closing } from "./closing.js";

/** Why a message was lost with its driver; undefined if another process took over, so that the message can be posted instead. */
export function findLossCause(sessionId: string, closing: Closing | null): unknown {
  if (closing?.type === "broken") return brokenError(sessionId, closing.error);
  return closing?.type === "interrupted" && closing.reason === "store_failed" ? closing.error : undefined;
}

/** The store failed after a message was written, or when it is unknown whether the message was written. */
export function unsettledError(sessionId: string, stored: "perhaps" | "yes", cause: unknown): PawlError {
  const what = `The store failed (${formatError(cause)}), and`;
  const known =
    stored === "yes"
      ? `the store has the message to session ${sessionId}. Do not send it again; resume.`
      : `it may or may not have the message to session ${sessionId}. Check the session before you send it again.`;
  return new PawlError("store_failed", `${what} ${known}`, { cause });
}

/** A defect of Pawl, or of a store's code. */
export function brokenError(sessionId: string, cause: unknown): PawlError {
  const what = `The driver of session ${sessionId} failed (${formatError(cause)}).`;
  return new PawlError("internal", `${what} Everything committed is safe. Please report this defect.`, { cause });
}

export function createNoSessionError(sessionId: string): PawlError {
  return new PawlError(
    "no_session",
    `There is no session ${sessionId} in this store. List the sessions, or check the store's path. If a result had resumable: false, nothing was kept: send the request again.`,
  );
}

/** The log of a session ends before an entry that was already read. */
export function createReplacedSessionError(sessionId: string): PawlError {
  return new PawlError(
    "no_session",
    `The session ${sessionId} that was followed no longer exists: its log has become shorter. Another session was begun under its id, or the store was restored from a backup. Read it from its beginning.`,
  );
}

export function throwNoSession(sessionId: string): never {
  throw createNoSessionError(sessionId);
}

/** Another process drives the session, and the caller does not want to wait for it. */
export function sessionHeldError(sessionId: string): PawlError {
  return new PawlError(
    "session_busy",
    `Another process is running session ${sessionId}. Leave it to that process, or resume with follow: true to wait for it.`,
  );
}

/** There is nothing to resume. */
export function runFinishedError(sessionId: string, { status }: Pick<State, "status">): PawlError {
  return new PawlError(
    "run_finished",
    status === "idle"
      ? `Session ${sessionId} has no run yet. Send an input to start the first one.`
      : `The last run of session ${sessionId} has ended (${status}). Send an input to start the next run.`,
  );
}

/** The message was not sent: after a shutdown, an agent accepts no work. */
export function shutDownError(name: string, sessionId: string): PawlError {
  return new PawlError(
    "shut_down",
    `The agent "${name}" was shut down. Create another agent to resume session ${sessionId}.`,
  );
}

/** Whether an error comes from a store. Such an error does not end a run: the result is `interrupted`. */
export function isStoreError(error: unknown): boolean {
  return !(error instanceof PawlError) || error.code.startsWith("store_") || error.code === "not_storable";
}

/** Releases a session for other processes. If the store fails, the lease expires by itself. */
export async function releaseLease(store: Store, lease: Lease): Promise<void> {
  try {
    await store.release(lease);
  } catch {
    // Another process can claim the session when the lease has expired.
  }
}

export function busyError(sessionId: string): PawlError {
  return new PawlError(
    "session_busy",
    `Session ${sessionId} already has a run in progress. Wait for it to end, or send with mode "queue", "steer" or "interrupt".`,
  );
}
