/**
 * Checks a history against invariants.
 */
import type { History, Invariant } from "./history.js";

/**
 * An invariant that does not hold. `number`: its number in docs/reliability.md. `line`: the line of the story that shows the
 * problem; null if there is none.
 */
export class InvariantBroken extends Error {
  /** Distinguishes this error from others. */
  override readonly name = "InvariantBroken";
  /** The number of the invariant. */
  readonly number: number;
  /** The line of the history that shows the problem; null if none does. */
  readonly line: number | null;

  constructor({ number, name }: Pick<Invariant, "number" | "name">, what: string, line: number | null = null) {
    super(`invariant ${number} (${name}) is broken: ${what}`);
    this.number = number;
    this.line = line;
  }
}

/** @throws InvariantBroken for the first invariant that does not hold */
export function checkInvariants<Checked extends History>(
  history: Checked,
  invariants: readonly Invariant<Checked>[],
): void {
  for (const invariant of invariants) {
    const broken = invariant.check(history);
    if (typeof broken === "string") throw new InvariantBroken(invariant, broken);
    if (broken !== undefined) throw new InvariantBroken(invariant, broken.what, broken.fact.line);
  }
}
