/**
 * The signals that the calls of a session wait for.
 *
 * 1. A signal reaches a wait as an ordinary answer in the session's inbox, which the store posts.
 * 2. The ids of these messages have their own prefix, so the machine can distinguish a signal from a person's answer.
 */
import type { Call } from "./call-state.js";
import { hasCalls, type State } from "./state.js";

/** A tool's wait for a signal. */
export type SignalWait = {
  readonly callKey: string;
  /** The name of the wait among the steps of the call. */
  readonly step: string;
  /** The key of the signal. */
  readonly key: string;
  /** In epoch milliseconds. Signals sent at or after this time do not count. */
  readonly expiresAt?: number;
};

/** The id prefix of messages that deliver signals to waits. No other message has this prefix. */
export const signalPrefix = "signal/";

/** Whether the message with this id was posted for a signal. */
export function isSignalMessage(id: string): boolean {
  return id.startsWith(signalPrefix);
}

const noWaits: readonly SignalWait[] = [];

/** The session's open waits for signals. Always the same empty array if there are none. */
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
