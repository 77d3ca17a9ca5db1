/**
 * What invariants are checked against: everything that happened, and the log that is left.
 */
import type { Entry } from "../../core/machine/event.js";
import { initialState, type State } from "../../core/machine/state.js";
import { transition } from "../../core/machine/transition.js";
import { appendEntry, createTranscript } from "../../core/transcript/transcript.js";
import { publicEvents } from "../../core/view/entry-events.js";
import type { PublicEvent } from "../../core/view/public-event.js";
import type { Clients } from "./clients.js";
import type { Fact, FactOf } from "./facts.js";
import type { World } from "./world.js";

export type History = {
  readonly facts: readonly Fact[];
  /** The commits that the store took, in order. */
  readonly rows: readonly FactOf<"written">[];
  readonly log: readonly Entry[];
  /** What a reader of the whole log sees. */
  readonly events: readonly PublicEvent[];
  readonly clients: Pick<Clients, "questions" | "readers">;
  /** Nothing went wrong but in models and tools. */
  readonly isCalm: boolean;
};

/** What must hold, by its number in the list of invariants; `check` says what is wrong. */
export type Invariant = {
  readonly number: number;
  readonly name: string;
  readonly check: (history: History) => string | undefined;
};

export async function historyOf(world: World, clients: History["clients"], isCalm: boolean): Promise<History> {
  const log = await world.store.read(world.sessionId);
  const rows = world.facts.filter((fact) => fact.type === "written");
  return { facts: world.facts, rows, log, events: eventsOf(world.sessionId, log), clients, isCalm };
}

function eventsOf(sessionId: string, log: readonly Entry[]): readonly PublicEvent[] {
  const transcript = createTranscript();
  const events: PublicEvent[] = [];
  let state: State = initialState;
  for (const entry of log) {
    const before = state;
    state = transition(before, entry.event);
    appendEntry(transcript, entry);
    events.push(...publicEvents(sessionId, entry, transcript, before, state));
  }
  return events;
}
