/**
 * A draft of a commit: events with all their immediate consequences, applied to the committed state.
 */
import { consequences } from "../../core/machine/consequences.js";
import type { Event, EventBody } from "../../core/machine/event.js";
import type { State } from "../../core/machine/state.js";
import { transition } from "../../core/machine/transition.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import { publicEvents } from "../../core/view/entry-events.js";
import { type CompiledAgent, partsNear } from "../agent/compiled-agent.js";
import { hasEndHooks } from "../hooks/end-hooks.js";
import { type CommittedEntry, sentCall } from "../log/committed-entry.js";
import { appendFrozen } from "../log/frozen-transcript.js";
import { type KnownQuestions, questionsFrom } from "../log/open-questions.js";
import { fits, withChanges } from "../work/data-changes.js";
import type { ProcessMemory } from "../work/effect-context.js";
import { lateResult } from "./internal-messages.js";

export type Draft = {
  readonly apply: (body: EventBody) => void;
  readonly state: () => State;
  readonly steps: readonly CommittedEntry[];
};

export type DraftOptions = {
  readonly sessionId: string;
  readonly parts: CompiledAgent;
  readonly transcript: Transcript;
  readonly memory: ProcessMemory;
  readonly questions: KnownQuestions;
};

/** @param at the time of events that have none, in epoch milliseconds */
export function createDraft(
  committed: State,
  at: number,
  { sessionId, parts, transcript, memory, questions }: DraftOptions,
): Draft {
  const steps: CommittedEntry[] = [];
  const questionsOf = questionsFrom(questions);
  const isTraced = parts.listeners.length > 0;
  let state = committed;

  function apply(body: EventBody): void {
    const event = withData(stamped(body, at));
    if (event === null) return;
    const isLate = event.type === "tool_finished" && state.interrupted.includes(event.callKey);
    append(isLate ? lateResult(event) : event);
    for (let follow = consequences(state); follow.length > 0; follow = consequences(state))
      for (const next of follow) append(stamped(next, event.at));
  }

  /** Changes of the data are made of the data as it stands here. Null: a change from outside that does not fit any more. */
  function withData(event: Event): Event | null {
    if (event.type === "data_changed") return fits(transcript.data, event.patch) ? event : null;
    if (memory.changes === null || event.type !== "tool_finished") return event;
    return withChanges(event, { memory, transcript });
  }

  function append(given: Event): void {
    const before = state;
    const event =
      given.type === "run_finished" && hasEndHooks(partsNear(parts, before))
        ? { ...given, afterRunHooksPending: true as const }
        : given;
    const after = transition(before, event);
    if (after === before) return;
    const entry = { seq: after.seq, event };
    appendFrozen(transcript, entry);
    state = after;
    const events = publicEvents(sessionId, entry, transcript, before, after, questionsOf);
    const sent = isTraced ? sentCall(entry, transcript) : null;
    steps.push({ entry, events, before, after, shown: transcript.messages.length, sent, asked: transcript.run });
  }

  return { apply, state: () => state, steps };
}

/** Mutates its argument, which was created for this commit: a copy is measurable on the hot path. */
function stamped(body: EventBody, at: number): Event {
  const event = body as { at?: number };
  event.at ??= at;
  return event as Event;
}
