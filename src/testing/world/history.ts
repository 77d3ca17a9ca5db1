/**
 * The input of invariants: everything that happened in a world, and the log that resulted.
 */
import type { Entry, Event } from "../../core/machine/event.js";
import { concernsSession, type Fact, type FactOf } from "./facts.js";
import type { World } from "./world.js";

/** The history of one session. Facts about processes, clocks and people belong to every session. */
export type History = {
  /** The facts, in order. */
  readonly facts: readonly Fact[];
  /** The commits that the store accepted, in order. */
  readonly rows: readonly FactOf<"written">[];
  /** The log of the session. */
  readonly log: readonly Entry[];
};

/** A description of what is wrong, with the fact that shows it if there is one. */
export type Breach =
  | string
  | {
      /** A description of what is wrong. */
      readonly what: string;
      /** The fact that shows it. */
      readonly fact: Fact;
    };

/** A rule that must hold, by its number in docs/reliability.md. `check` returns what is wrong, or undefined. */
export type Invariant<Checked extends History = History> = {
  /** The number of the rule. */
  readonly number: number;
  /** The rule in words. */
  readonly name: string;
  /** Checks a history. */
  readonly check: (history: Checked) => Breach | undefined;
};

/** @param sessionId default: the main session of the world */
export async function readHistory(world: World, sessionId: string = world.sessionId): Promise<History> {
  const log = await world.store.read(sessionId);
  const facts = world.facts.filter((fact) => concernsSession(fact, sessionId));
  const rows = facts.filter((fact) => fact.type === "written");
  return { facts, rows, log };
}

/** Describes what is wrong with an entry, with the commit that wrote the entry. */
export function createBreach(seq: number, what: string, rows: History["rows"]): Breach {
  const row = rows.find(({ commit }) => commit.expectedSeq + commit.events.length >= seq);
  return row === undefined ? what : { what, fact: row };
}

/** Whether an event answers this call with one of these types of answer. */
export function isAnswer(event: Event, callKey: string, types: readonly string[]): boolean {
  return event.type === "answered" && event.callKey === callKey && types.includes(event.answer.type);
}
