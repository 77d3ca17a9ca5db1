/**
 * Events that follow from a state alone: results that the machine creates, the end of a run, the start of a queued run. They are applied
 * until none is left, and committed together with the event that caused them.
 */

import type { Event, EventBody } from "./event.js";
import { hasPendingNotice } from "./pending-notice.js";
import { droppedCompactionEvents } from "./requested-compaction.js";
import type { Call, Preparing, Queued, State, TerminalState } from "./state.js";
import { transition } from "./transition.js";

/** The events that follow from this state. Each one changes the state, so applying them terminates. */
export function consequences(state: State): readonly EventBody[] {
  switch (state.status) {
    case "preparing":
      return findRunEnd(state);
    case "tool_running":
    case "awaiting_human":
      return state.calls.some(isSettling)
        ? state.calls.filter(isSettling).map((call) => toResultEvent(state.runId, call))
        : none;
    case "completed":
    case "failed":
      return state.compactionAsked?.dropped === undefined ? startQueuedRun(state) : droppedCompactionEvents(state);
    case "aborted":
      return state.compactionAsked?.dropped === undefined
        ? startInterruptingRun(state)
        : droppedCompactionEvents(state);
    case "idle":
    case "model_running":
      return none;
  }
}

/** The result of an event: the event itself with the events that follow from it, and the final state. */
export type Advance = {
  /** The state after the last of these events. */
  readonly state: State;
  /** The event itself, and the events that follow from it without any outside work. */
  readonly events: readonly Event[];
};

/**
 * Applies an event and its consequences, all at the time of the event. `events` is empty if the event does not apply.
 *
 * @example
 * ```ts
 * import { advance, effects } from "pawl/core";
 *
 * // What a process would do when it resumes a run after a crash:
 * const before = await session.state();
 * if (before.status !== "idle") {
 *   const restarted = { type: "restarted", at: Date.now(), runId: before.runId, holder: "worker-2" } as const;
 *   const { state, events } = advance(before, restarted);
 *   console.log(events.map(({ type }) => type)); // what would be committed
 *   console.log(effects(state).map(({ type, key }) => `${type} ${key}`)); // what would be started
 * }
 * ```
 */
export function advance(state: State, event: Event): Advance {
  let next = transition(state, event);
  if (next === state) return { state, events: none };
  const events: Event[] = [event];
  for (let consequent = consequences(next); consequent.length > 0; consequent = consequences(next)) {
    for (const body of consequent) {
      const following: Event = { at: event.at, ...body };
      next = transition(next, following);
      events.push(following);
    }
  }
  return { state: next, events };
}

const none: readonly never[] = [];

type SettlingCall = Extract<Call, { status: "settling" }>;

function isSettling(call: Call): call is SettlingCall {
  return call.status === "settling";
}

function toResultEvent(runId: string, call: SettlingCall): EventBody {
  return { type: "tool_finished", runId, callKey: call.callKey, outcome: call.outcome, causeSeq: call.causeSeq };
}

/** A run ends here if it is stopping, or if no hook or check may prevent its end. */
function findRunEnd(state: Preparing): readonly EventBody[] {
  if (state.stopping !== null) {
    const { reason, fault } = state.stopping;
    return [{ type: "run_finished", runId: state.runId, reason, ...(fault === undefined ? {} : { fault }) }];
  }
  if (state.for !== "finish" || isPreventable(state)) return none;
  return [{ type: "run_finished", runId: state.runId, reason: state.reason }];
}

/** `beforeStop` hooks and the output check see only an end that the model or the done tool chose (FIN-8). */
export function isPreventable(state: Preparing): boolean {
  return state.for === "finish" && (state.reason === "stop" || state.reason === "done" || state.reason === "other");
}

/**
 * A queued run does not start by itself after an abort, unless the run was aborted to make way for it. It also does not start before the
 * end of the last run is delivered.
 */
function startQueuedRun(state: TerminalState): readonly EventBody[] {
  return hasPendingNotice(state) ? none : startNextRun(state);
}

function startInterruptingRun(state: TerminalState): readonly EventBody[] {
  return state.queue.some(isInterrupting) ? startQueuedRun(state) : none;
}

function isInterrupting(queued: Queued): boolean {
  return queued.kind === "run" && queued.interrupts === true;
}

/** Starts the next queued run: the run that interrupted the last one, or otherwise the oldest. */
export function startNextRun({ queue }: State): readonly EventBody[] {
  const next = queue.find(isInterrupting) ?? queue.find(({ kind }) => kind === "run");
  if (next?.kind !== "run") return none;
  return [{ type: "run_started", runId: next.runId, limits: next.limits, queuedSeq: next.seq }];
}
