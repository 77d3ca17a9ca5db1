/**
 * Compactions that a person requests, and the effect of every compaction on the state.
 *
 * 1. Each request is followed by a `compacted` event, even if the compaction is aborted or abandoned. The next compaction answers all
 *    earlier requests.
 * 2. Aborting a run also cancels the request.
 * 3. In a session at rest, the compaction is a separate effect, and a run that starts meanwhile takes it over. In a run, it comes before a
 *    model call, like any other compaction. If the run ends first, the session is compacted at rest.
 */
import { defined } from "../data/defined.js";
import type { EventBody, EventOf } from "./event.js";
import { type ActiveState, isTerminal, type State, type TerminalState } from "./state.js";

/** Records a request. There is one at a time: further requests wait for the same compaction. */
export function applyCompactionRequested(state: State): State {
  if (state.status === "idle" || state.compactionAsked !== undefined) return state;
  const compactionAsked = { seq: state.seq + 1 };
  return isTerminal(state) ? { ...state, compactionAsked, restarts: 0 } : { ...state, compactionAsked };
}

export function applyCompactedAtRest(state: TerminalState, event: EventOf<"compacted">): State {
  if (event.runId !== undefined || state.compactionAsked === undefined || !hasValidRange(event, state)) return state;
  return { ...clearCompactionRequest(state), context: contextAfterCompaction(event, state) };
}

export function clearCompactionRequest<Asked extends object>(state: Asked): Asked;
export function clearCompactionRequest(state: { readonly compactionAsked?: unknown }): object {
  if (state.compactionAsked === undefined) return state;
  const { compactionAsked: _, ...rest } = state;
  return rest;
}

/** Cancels the requested compaction. At rest, `droppedCompactionEvents` then ends it. */
export function dropCompaction<Asked extends ActiveState | TerminalState>(
  state: Asked,
  dropped: "aborted" | "crash_loop",
): Asked {
  const { compactionAsked } = state;
  if (compactionAsked === undefined || compactionAsked.dropped !== undefined) return state;
  return { ...state, compactionAsked: { ...compactionAsked, dropped } };
}

/** Whether a session at rest is to be compacted because a person requested it. */
export function isCompacting(state: State): state is TerminalState & Required<Pick<State, "compactionAsked">> {
  return isTerminal(state) && state.compactionAsked !== undefined && state.compactionAsked.dropped === undefined;
}

/** The event that ends a dropped compaction. */
export function droppedCompactionEvents({ compactionAsked }: TerminalState): readonly EventBody[] {
  if (compactionAsked?.dropped === undefined) return none;
  const code = compactionAsked.dropped;
  return [{ type: "compacted", fault: { code, message: dropMessages[code], retryable: false } }];
}

const none: readonly never[] = [];

/** The log stores these texts, and a replay compares them: a new wording would make a difference in earlier logs. */
const dropMessages = {
  aborted: "The compaction was aborted.",
  crash_loop: "The program ended each time that the conversation was summed up.",
} as const;

/** The part of the log that a process reads from now on. */
export function contextAfterCompaction(
  { keptFrom, summary, readFrom = keptFrom, runStartSeq, dataBlob }: EventOf<"compacted">,
  { seq, context }: State,
): State["context"] {
  if (keptFrom === undefined || summary === undefined || readFrom === undefined) return context;
  return { readFrom, ...defined({ runStartSeq, dataBlob }), compactedSeq: seq + 1 };
}

/** Whether the entries that a compaction refers to are in the log, and in order. */
export function hasValidRange(
  { keptFrom, readFrom = keptFrom, runStartSeq = 1 }: EventOf<"compacted">,
  { seq }: State,
): boolean {
  if (keptFrom === undefined || readFrom === undefined) return keptFrom === readFrom;
  return runStartSeq >= 1 && runStartSeq <= readFrom && readFrom >= 1 && readFrom <= keptFrom && keptFrom <= seq + 1;
}
