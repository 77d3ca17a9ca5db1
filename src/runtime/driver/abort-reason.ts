/**
 * The abort reasons for the signals of tools and models: errors that a tool can distinguish and rethrow.
 *
 * If a caller in this process aborts its own signal, the reason is the reason of that signal. Every other reason is an `AbortError`, or a
 * `TimeoutError` if a time limit was reached, whose message says what happened.
 */
import { type Reason, reasons } from "../../core/data/reasons.js";
import type { EventOf } from "../../core/machine/event.js";
import type { State } from "../../core/machine/state.js";
import type { Closing } from "../log/closing.js";
import type { CommittedEntry } from "../log/committed-entry.js";
import { findAbortedSignal, type RunSignals } from "../subscribers/run-signals.js";

/**
 * Why a commit ends work that was in flight. Call it before the commit is published, because the end of a run drops the
 * signal of its caller. @param entries the entries of the commit
 */
export function findAbortReason(
  entries: readonly CommittedEntry[],
  state: State,
  signalled: RunSignals,
): () => unknown {
  for (const { entry } of entries) {
    const { event } = entry;
    if (event.type !== "abort_requested" || !("runId" in state) || event.runId !== state.runId) continue;
    const signalReason = findAbortedSignal(signalled, state.runId);
    return signalReason === undefined
      ? () => new DOMException(formatRequest(event), "AbortError")
      : () => signalReason.reason;
  }
  return () => createStopError(state);
}

function createStopError(state: State): DOMException {
  const reason = findStopReason(state);
  if (reason === undefined) return new DOMException("This work is no longer needed.", "AbortError");
  return new DOMException(reasons[reason].text, reason === "max_wall_clock" ? "TimeoutError" : "AbortError");
}

function formatRequest({ note, by }: EventOf<"abort_requested">): string {
  const who = by === undefined ? "" : ` by ${by}`;
  return note === undefined || note === "" ? `The run was aborted${who}.` : `The run was aborted${who}: ${note}`;
}

function findStopReason(state: State): Reason | undefined {
  if ("stopping" in state && state.stopping !== null) return state.stopping.reason;
  return "reason" in state ? state.reason : undefined;
}

/** Why this process stops driving a session while work is in flight. */
export function createClosingError(closing: Closing): DOMException {
  const message = closing.type === "interrupted" ? closingMessages[closing.reason] : closingMessages[closing.type];
  return new DOMException(message, "AbortError");
}

const closingMessages = {
  parked: "The session was released.",
  broken: "The session's driver failed because of a defect.",
  store_failed: "The session's store failed.",
  shutdown: "The process is shutting down.",
  left: "The process handed the session over to other processes.",
  lease_lost: "Another process is running the session now.",
  held_back: "The run is waiting in the queue.",
} as const;
