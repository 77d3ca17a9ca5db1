/**
 * Drafts a commit: events with all their immediate consequences, applied to the committed state.
 */
import { consequences } from "../../core/machine/consequences.js";
import type { Event, EventBody } from "../../core/machine/event.js";
import { isTerminal, type State } from "../../core/machine/state.js";
import { transition } from "../../core/machine/transition.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import { publicEvents } from "../../core/view/entry-events.js";
import { type CompiledAgent, getSessionAgent } from "../agent/compiled-agent.js";
import { hasEndHooks } from "../hooks/end-hooks.js";
import { type CommittedEntry, toSentCall, unheard } from "../log/committed-entry.js";
import { appendFrozen } from "../log/frozen-transcript.js";
import { createQuestionLookup, type KnownQuestions } from "../log/open-questions.js";
import { isHeard, type Subscribers } from "../subscribers/broadcast.js";
import { attachChanges, fitsDataLimit } from "../work/data-changes.js";
import type { ProcessMemory } from "../work/effect-context.js";
import { toLateResult } from "./internal-messages.js";
import { endUnstarted } from "./unstarted-calls.js";

export type Draft = {
  readonly apply: (body: EventBody) => void;
  readonly state: () => State;
  readonly entries: readonly CommittedEntry[];
};

export type DraftOptions = {
  readonly sessionId: string;
  readonly agent: CompiledAgent;
  readonly transcript: Transcript;
  readonly memory: ProcessMemory;
  readonly questions: KnownQuestions;
  readonly subscribers: Subscribers;
};

/** @param at the time for events without one, in epoch milliseconds */
export function createDraft(
  committed: State,
  at: number,
  { sessionId, agent, transcript, memory, questions, subscribers }: DraftOptions,
): Draft {
  const entries: CommittedEntry[] = [];
  const getQuestions = createQuestionLookup(questions);
  const isTraced = agent.listeners.length > 0;
  let state = committed;

  function apply(body: EventBody): void {
    const event = applyDataLimits(stampTime(body, at));
    if (event === null) return;
    const isLate = event.type === "tool_finished" && state.interrupted.includes(event.callKey);
    appendEvent(isLate ? toLateResult(event) : event);
    for (let consequent = following(); consequent.length > 0; consequent = following())
      for (const next of consequent) appendEvent(stampTime(next, event.at));
  }

  function following(): readonly EventBody[] {
    const consequent = consequences(state);
    return consequent.length > 0 ? consequent : endUnstarted(committed, state);
  }

  /** Applies changes of the data to the data in this draft. Null for an outside change that no longer fits the limit. */
  function applyDataLimits(event: Event): Event | null {
    if (event.type === "data_changed") return fitsDataLimit(transcript.data, event.patch) ? event : null;
    if (memory.changes === null || event.type !== "tool_finished") return event;
    return attachChanges(event, { memory, transcript });
  }

  function appendEvent(original: Event): void {
    const before = state;
    const event =
      original.type === "run_finished" && hasEndHooks(getSessionAgent(agent, before))
        ? { ...original, afterRunHooksPending: true as const }
        : original;
    const after = transition(before, event);
    if (after === before) return;
    const entry = { seq: after.seq, event };
    appendFrozen(transcript, entry);
    state = after;
    // Waiters for a run get its result from the last event of the run. A queued run that is aborted ends during another run.
    const mayEndRun = isTerminal(after) || event.type === "abort_requested";
    const events =
      isHeard(subscribers) || mayEndRun
        ? publicEvents(sessionId, entry, transcript, before, after, getQuestions)
        : unheard;
    const sent = isTraced ? toSentCall(entry, transcript) : null;
    entries.push({ entry, events, before, after, shown: transcript.messages.length, sent, asked: transcript.run });
  }

  return { apply, state: () => state, entries };
}

/** Mutates its argument, which was created for this commit: a copy would be measurable on the hot path. */
function stampTime(body: EventBody, at: number): Event {
  const event = body as { at?: number };
  event.at ??= at;
  return event as Event;
}
