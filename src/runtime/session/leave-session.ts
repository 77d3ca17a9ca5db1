/**
 * Detaches a session from this process before it rests: in a shutdown, or because the process leaves it to others.
 */
import { initialState } from "../../core/machine/state.js";
import { createTranscript } from "../../core/transcript/transcript.js";
import { drain } from "../driver/drain.js";
import { closeForShutdown } from "../subscribers/broadcast.js";
import { closeWaiters } from "../subscribers/waiters.js";
import { detachChildren } from "./attend-children.js";
import { evictIfIdle, type LocalSession } from "./local-session.js";

/** Drains the driver, and accepts no further work. Resolves when all effects have settled, or after `graceMs`. */
export async function drainLocalSession(localSession: LocalSession, graceMs: number): Promise<void> {
  localSession.drained = true;
  await localSession.opening?.catch(() => {});
  if (localSession.driver !== null) await drain(localSession.driver, graceMs, "shutdown");
  localSession.following?.stop();
  closeForShutdown(localSession);
}

/**
 * Drains the driver, and settles the waiting callers. Subscribers stay and follow the log, and the session may be driven here
 * again. Resolves when all effects have settled, or after `graceMs`.
 */
export async function leaveLocalSession(localSession: LocalSession, graceMs: number): Promise<void> {
  await localSession.opening?.catch(() => {});
  detachChildren(localSession);
  if (localSession.driver !== null) await drain(localSession.driver, graceMs, "left");
  else closeWaiters(localSession, { type: "interrupted", reason: "left" }, initialState, createTranscript());
  evictIfIdle(localSession);
}
