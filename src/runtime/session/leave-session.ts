/**
 * How a session leaves this process before it rests: in a shutdown, or because the process leaves it to others.
 */
import { initialState } from "../../core/machine/state.js";
import { createTranscript } from "../../core/transcript/transcript.js";
import { drain } from "../driver/drain.js";
import { endForShutdown } from "../subscribers/broadcast.js";
import { closeWaiters } from "../subscribers/waiters.js";
import { leaveChildren } from "./attend-children.js";
import { type LocalSession, leaveIfIdle } from "./local-session.js";

/** Drains the driver, and takes nothing up again. Ends when all effects have settled, or after `graceMs`. */
export async function drainLocalSession(live: LocalSession, graceMs: number): Promise<void> {
  live.drained = true;
  await live.opening?.catch(() => {});
  if (live.driver !== null) await drain(live.driver, graceMs, "shutdown");
  live.following?.stop();
  endForShutdown(live);
}

/**
 * Drains the driver, and ends the waits of callers. Subscribers stay and follow the log, and the session may be taken up
 * again. Ends when all effects have settled, or after `graceMs`.
 */
export async function leaveLocalSession(live: LocalSession, graceMs: number): Promise<void> {
  await live.opening?.catch(() => {});
  leaveChildren(live);
  if (live.driver !== null) await drain(live.driver, graceMs, "left");
  else closeWaiters(live, { type: "interrupted", reason: "left" }, initialState, createTranscript());
  leaveIfIdle(live);
}
