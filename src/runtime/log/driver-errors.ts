/**
 * What is said where a store or a driver gave out, and where there is nothing to wait for.
 */
import { PawlError } from "../../errors.js";
import type { Lease, Store } from "../../ports/store.js";
import type { Closing } from "./closing.js";

/** Why a message was lost with the driver that took it; undefined where it can still be posted: another process took over. */
export function lostMessageError(sessionId: string, closing: Closing | null): PawlError | undefined {
  if (closing?.type === "broken") return brokenError(sessionId, closing.error);
  if (closing?.type !== "interrupted" || closing.reason !== "store_failed") return undefined;
  const { error: cause } = closing;
  const what = `Session ${sessionId} could not be written (${messageOf(cause)}).`;
  return new PawlError("store_failed", `${what} Look at the store, then send it again or resume.`, { cause });
}

/** A defect of Pawl, or of a store's code. */
export function brokenError(sessionId: string, cause: unknown): PawlError {
  const what = `The driver of session ${sessionId} is broken (${messageOf(cause)}).`;
  return new PawlError("internal", `${what} What was committed is safe; please report it.`, { cause });
}

export function throwNoSession(sessionId: string): never {
  throw new PawlError(
    "no_session",
    `There is no session ${sessionId} in this store. List what there is, or check the store's path.`,
  );
}

/** Nothing was sent: a process that shuts down takes nothing up. */
export function shutDownError(name: string, sessionId: string): PawlError {
  return new PawlError(
    "shut_down",
    `The agent "${name}" was shut down. Make another one to carry on with session ${sessionId}.`,
  );
}

/** Whether an error is a store's: it ends no run, and is told as `interrupted`. */
export function isOfStore(error: unknown): boolean {
  return !(error instanceof PawlError) || error.code.startsWith("store_") || error.code === "not_storable";
}

/** A session whose driver gave out is free for others; where the store refuses, its lease runs out. */
export async function releaseLease(store: Store, lease: Lease): Promise<void> {
  try {
    await store.release(lease);
  } catch {
    // It ends by itself; the session is carried on then.
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
