/**
 * Checks that all stores share, with the same error messages.
 */
import { findIdProblem, formatIdError } from "../../core/data/ids.js";
import { PawlError } from "../../errors.js";
import { sha256 } from "../../platform/hash.js";
import type { Commit } from "../../ports/store.js";

/** Whether this is a valid id for a session or message. */
export function isValidId(id: string): boolean {
  return findIdProblem(id) === null;
}

/** @throws PawlError `bad_input` */
export function checkId(kind: "session" | "message", id: string): void {
  const problem = findIdProblem(id);
  if (problem !== null) throw new PawlError("bad_input", formatIdError(kind, id, problem));
}

/** Whether every database returns this text unchanged. */
export function isStorableText(text: string): boolean {
  return !text.includes("\0") && !/\p{Surrogate}/u.test(text);
}

/** Checks that the state of a commit is the state after its last event. */
export function checkSeq(commit: Commit): void {
  const last = commit.expectedSeq + commit.events.length;
  if (commit.events.length > 0 && commit.state.seq !== last)
    throw new PawlError(
      "internal",
      `A commit ends at entry ${last}, but its state belongs to entry ${commit.state.seq}. Nothing was written; please report this.`,
    );
}

/** The error of `delete` if the session is held or its run is active. */
export function sessionActiveError(sessionId: string): PawlError {
  return new PawlError(
    "session_active",
    `Session ${sessionId} was not deleted: it is held, or a run is under way. Abort it first, or delete it with \`force\`.`,
  );
}

/** The error of `putBlob` if the session that the blob would belong to does not exist. */
export function noSessionError(sessionId: string): PawlError {
  return new PawlError("no_session", `There is no session ${sessionId} to store a blob for. Claim it first.`);
}

/** The SHA-256 of a blob, in hexadecimal. */
export function hashBlob(bytes: Uint8Array): string {
  return sha256(bytes);
}
