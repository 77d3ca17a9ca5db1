/**
 * The signals for which the calls of a session wait.
 *
 * 1. A signal reaches a wait as an ordinary answer in the session's inbox, which the store posts.
 * 2. The ids of these messages have their own prefix, so the machine can tell a signal from a person's answer.
 */
import type { Call } from "./call-state.js";
import { hasCalls, type State } from "./state.js";

/** A wait of a tool for a signal. */
export type SignalWait = {
  readonly callKey: string;
  /** The name of the wait among the steps of the call. */
  readonly step: string;
  /** The key of the signal. */
  readonly key: string;
  /** In epoch milliseconds. Signals that were sent from then on do not count. */
  readonly expiresAt?: number;
};

/** The beginning of the ids of messages by which signals reach waits. No other message has such an id. */
export const signalPrefix = "signal/";

/** Whether the message with this id was posted for a signal. */
export function isSignalMessage(id: string): boolean {
  return id.startsWith(signalPrefix);
}

const noWaits: readonly SignalWait[] = [];

/** The open waits for signals of a session. Always the same empty array if there are none. */
export function signalWaits(state: State): readonly SignalWait[] {
  if (!hasCalls(state) || state.stopping !== null) return noWaits;
  const waits = state.calls.flatMap(waitsOfCall);
  return waits.length === 0 ? noWaits : waits;
}

function waitsOfCall(call: Call): readonly SignalWait[] {
  if (call.status !== "asking" || call.open === undefined) return noWaits;
  return call.open.flatMap(({ step, key, expiresAt }) =>
    key === undefined
      ? noWaits
      : [{ callKey: call.callKey, step, key, ...(expiresAt === undefined ? {} : { expiresAt }) }],
  );
}
