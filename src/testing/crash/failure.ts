/**
 * What did not hold in a play with crashes.
 */
import { type Fact, traceOf } from "../world/facts.js";
import { InvariantBroken } from "../world/invariants.js";

/** `invariant`: its number in docs/reliability.md, where one is broken. */
export type Failure = { readonly invariant: number | null; readonly message: string };

/** A play that went wrong; the message has what happened in it. */
export class PlayFailure extends Error {
  override readonly name = "PlayFailure";
  readonly invariant: number | null;

  constructor(where: string, cause: unknown, facts: readonly Fact[]) {
    super(`${where}: ${cause instanceof Error ? cause.message : String(cause)}\n\n${traceOf(facts, 60)}`, { cause });
    this.invariant = cause instanceof InvariantBroken ? cause.number : null;
  }
}

export function failureOf(error: unknown): Failure {
  if (error instanceof PlayFailure) return { invariant: error.invariant, message: error.message };
  return { invariant: null, message: error instanceof Error ? error.message : String(error) };
}
