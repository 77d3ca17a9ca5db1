/**
 * The history of a simulation: what happened, the log, what a reader of the log sees, and what people were told.
 */
import type { Entry } from "../../../src/core/machine/event.js";
import { initialState, type State } from "../../../src/core/machine/state.js";
import { transition } from "../../../src/core/machine/transition.js";
import { appendEntry, createTranscript } from "../../../src/core/transcript/transcript.js";
import { publicEvents } from "../../../src/core/view/entry-events.js";
import type { PublicEvent } from "../../../src/core/view/public-event.js";
import { type History, historyOf } from "../../../src/testing/world/history.js";
import type { World } from "../../../src/testing/world/world.js";
import type { Clients } from "./clients.js";

export type SimulationHistory = History & {
  /** What a reader of the whole log sees. */
  readonly events: readonly PublicEvent[];
  readonly clients: Pick<Clients, "questions" | "readers">;
  /** Nothing went wrong except in models and tools. */
  readonly isCalm: boolean;
};

export async function simulationHistoryOf(
  world: World,
  clients: SimulationHistory["clients"],
  isCalm: boolean,
): Promise<SimulationHistory> {
  const history = await historyOf(world);
  return { ...history, events: eventsOf(world.sessionId, history.log), clients, isCalm };
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
