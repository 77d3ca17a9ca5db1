/**
 * What must hold after every simulation, whatever happened in it.
 */
import type { History, Invariant } from "./history.js";
import { effectInvariants } from "./invariants-effects.js";
import { logInvariants, meantInvariant } from "./invariants-log.js";
import { peopleInvariants } from "./invariants-people.js";
import { toolInvariants } from "./invariants-tools.js";

const invariants: readonly Invariant[] = [
  ...logInvariants,
  meantInvariant,
  ...effectInvariants,
  ...toolInvariants,
  ...peopleInvariants,
];

/** An invariant that does not hold; its number is that of docs/reliability.md. */
export class InvariantBroken extends Error {
  override readonly name = "InvariantBroken";
  readonly number: number;

  constructor({ number, name }: Pick<Invariant, "number" | "name">, what: string) {
    super(`invariant ${number} (${name}) is broken: ${what}`);
    this.number = number;
  }
}

/** @throws InvariantBroken for the first that does not hold */
export function checkInvariants(history: History, checked: readonly Invariant[] = invariants): void {
  for (const invariant of checked) {
    const broken = invariant.check(history);
    if (broken !== undefined) throw new InvariantBroken(invariant, broken);
  }
}
