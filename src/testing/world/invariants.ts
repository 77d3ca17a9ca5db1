/**
 * Checks a history against invariants.
 */
import type { History, Invariant } from "./history.js";

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
export function checkInvariants<Checked extends History>(
  history: Checked,
  invariants: readonly Invariant<Checked>[],
): void {
  for (const invariant of invariants) {
    const broken = invariant.check(history);
    if (broken !== undefined) throw new InvariantBroken(invariant, broken);
  }
}
