/**
 * Messages and events that a process sends to its own sessions.
 */
import { defined } from "../../core/data/defined.js";
import { startNextRun } from "../../core/machine/consequences.js";
import type { Event, EventBody } from "../../core/machine/event.js";
import type { InboxMessage } from "../../core/machine/inbox.js";
import { isResting, type State } from "../../core/machine/state.js";
import type { CompiledAgent } from "../agent/compiled-agent.js";
import { formatError } from "../lib/error-text.js";

type MessageDeps = Pick<CompiledAgent, "clock" | "makeId">;

/** Aborts a run because the signal that it was started with was aborted. */
export function createAbortMessage(runId: string, signal: AbortSignal, { clock, makeId }: MessageDeps): InboxMessage {
  return {
    id: `abort/${makeId()}`,
    at: clock.now(),
    body: { type: "abort", runId, note: `its signal was aborted${formatReason(signal.reason)}` },
  };
}

/** Empty for the platform's default reason. */
function formatReason(reason: unknown): string {
  const isPlatformReason = reason instanceof DOMException && reason.name === "AbortError";
  return isPlatformReason ? "" : `: ${formatError(reason, maxReasonCharacters)}`;
}

const maxReasonCharacters = 500;

/** The result of a call that settled after its run had ended; undefined if the event is not a result. */
export function createLateMessage(event: EventBody, { clock }: MessageDeps): InboxMessage | undefined {
  if (event.type !== "tool_finished" || event.output === undefined) return undefined;
  const { callKey, output, returned, outcome } = event;
  return {
    id: `late/${callKey}`,
    at: clock.now(),
    body: { type: "result", callKey, output, ...defined({ returned }), isError: outcome !== "ok" },
  };
}

/** The same result as an event, for a session that is still driven here: the run had abandoned the call. */
export function toLateResult(event: Extract<Event, { type: "tool_finished" }>): Event {
  const { callKey, outcome, output, returned, at } = event;
  return { type: "late_result", callKey, outcome, ...defined({ output, returned }), at };
}

/** Starts the next queued run if no run is in progress: an abort leaves the queue in place. */
export function startQueuedRun(state: State): readonly EventBody[] {
  return isResting(state) ? startNextRun(state) : [];
}
