/**
 * The public events about a run as a whole: its end, an abort, failed hooks.
 */
import type { Event, EventOf } from "../machine/event.js";
import { isTerminal, type State, type TerminalState } from "../machine/state.js";
import type { LastMessage } from "../transcript/run-record.js";
import type { Transcript } from "../transcript/transcript.js";
import { createAbortedResult, resultOf } from "./outcome.js";
import type { PublicEventBody } from "./public-event.js";

/** The `final` event and the last step's message, once the run has ended and its `afterRun` hooks were called. */
export function runEndEvents(
  sessionId: string,
  transcript: Transcript,
  before: State,
  after: State,
): readonly PublicEventBody[] {
  if (!hasEnded(after) || (hasEnded(before) && before.runId === after.runId)) return none;
  const result = resultOf(sessionId, after, transcript);
  if (result === null) return none;
  const final: PublicEventBody = { type: "final", runId: after.runId, result };
  const heldBackMessage = findHeldBackMessage(transcript, after);
  return heldBackMessage === null ? [final] : [messageEvent(after.runId, heldBackMessage), final];
}

/** The last step's message. Other messages, and messages with calls, had their event with their own entry. */
function findHeldBackMessage({ run, calls }: Transcript, { modelCallIndex }: TerminalState): LastMessage | null {
  const last = run?.last ?? null;
  if (last === null || last.modelCallIndex !== modelCallIndex) return null;
  return last.cut === true || calls.size === 0 ? last : null;
}

export function messageEvent(runId: string, { modelCallIndex, attempt, message, cut }: LastMessage): PublicEventBody {
  const body = { type: "message", runId, modelCallIndex, attempt, message } as const;
  return cut === undefined ? body : { ...body, cut };
}

/** One event for each attempt of a refused answer, in order, beginning with the attempts that it continued. */
export function withdrawnEvents(
  { runId, reason }: EventOf<"run_finished">,
  { run }: Transcript,
): readonly PublicEventBody[] {
  const bodies: PublicEventBody[] = [];
  if (reason !== "output_refused") return bodies;
  for (let refused = run?.refused; refused != null; refused = refused.continues)
    bodies.unshift({
      type: "attempt_withdrawn",
      runId,
      modelCallIndex: refused.modelCallIndex,
      attempt: refused.attempt,
    });
  return bodies;
}

/** The events of an abort. A queued run ends here; the current run ends later, with its own entry. */
export function abortEvents(
  sessionId: string,
  event: EventOf<"abort_requested">,
  before: State,
): readonly PublicEventBody[] {
  const { runId } = event;
  const requested: PublicEventBody = { type: "abort_requested", runId, ...pickNote(event) };
  return "runId" in before && before.runId !== runId
    ? [requested, { type: "final", runId, result: createAbortedResult(sessionId, runId) }]
    : [requested];
}

/** One event for each hook that failed. */
export function hookFailedEvents({ hooks }: Event, after: State): readonly PublicEventBody[] {
  if (hooks === undefined || after.status === "idle") return none;
  const { runId } = after;
  return hooks.flatMap(({ name, hook, outcome, message = "" }): readonly PublicEventBody[] =>
    outcome === "ok" || outcome === "changed" || outcome === "tripped"
      ? none
      : [{ type: "hook_failed", runId, name, hook, outcome, message }],
  );
}

const none: readonly PublicEventBody[] = [];

function hasEnded(state: State): state is TerminalState {
  return isTerminal(state) && state.afterRunHooksPending !== true;
}

function pickNote({ note, by }: EventOf<"abort_requested">): { readonly note?: string; readonly by?: string } {
  return { ...(note === undefined ? {} : { note }), ...(by === undefined ? {} : { by }) };
}

export function restartedEvent({ runId, fault }: EventOf<"restarted">): PublicEventBody {
  return { type: "restarted", runId, ...(fault === undefined ? {} : { fault }) };
}
