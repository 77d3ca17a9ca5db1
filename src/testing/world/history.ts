/**
 * What invariants are checked against: everything that happened in a world, and the log that is left.
 */
import type { Entry, Event } from "../../core/machine/event.js";
import type { Fact, FactOf } from "./facts.js";
import type { World } from "./world.js";

export type History = {
  readonly facts: readonly Fact[];
  /** The commits that the store took, in order. */
  readonly rows: readonly FactOf<"written">[];
  readonly log: readonly Entry[];
};

/** What must hold, by its number in docs/reliability.md. `check` returns what is wrong, or undefined. */
export type Invariant<Checked extends History = History> = {
  readonly number: number;
  readonly name: string;
  readonly check: (history: Checked) => string | undefined;
};

export async function historyOf(world: World): Promise<History> {
  const log = await world.store.read(world.sessionId);
  const rows = world.facts.filter((fact) => fact.type === "written");
  return { facts: world.facts, rows, log };
}

/** Whether an event answers this call with one of these types of answer. */
export function isAnswer(event: Event, callKey: string, types: readonly string[]): boolean {
  return event.type === "answered" && event.callKey === callKey && types.includes(event.answer.type);
}
