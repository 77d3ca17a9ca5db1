/**
 * What must hold after every simulation, whatever happened in it.
 */
import type { History, Invariant } from "./history.js";
import { effectInvariants } from "./invariants-effects.js";
import { logInvariants } from "./invariants-log.js";
import { peopleInvariants } from "./invariants-people.js";

const invariants: readonly Invariant[] = [...logInvariants, ...effectInvariants, ...peopleInvariants];

/** @throws Error which names the first invariant that does not hold */
export function checkInvariants(history: History): void {
  for (const { number, name, check } of invariants) {
    const broken = check(history);
    if (broken !== undefined) throw new Error(`invariant ${number} (${name}) is broken: ${broken}`);
  }
}
