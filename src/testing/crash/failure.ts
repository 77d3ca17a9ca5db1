/**
 * The failures of plays with crashes.
 */
import { getErrorMessage } from "../../core/data/error-message.js";
import type { Fact } from "../world/facts.js";
import { InvariantBroken } from "../world/invariants.js";
import { formatStory } from "../world/story.js";

/** `invariant`: the number of the broken invariant in docs/reliability.md; null for any other error. */
export type Failure = { readonly invariant: number | null; readonly message: string };

/** A play failed. The message contains the trace of the play. */
export class PlayFailure extends Error {
  override readonly name = "PlayFailure";
  readonly invariant: number | null;

  constructor(where: string, cause: unknown, facts: readonly Fact[]) {
    const broken = cause instanceof InvariantBroken ? cause : null;
    const story = formatStory(facts, { lines: 60, about: broken?.line ?? null });
    super(`${where}: ${getErrorMessage(cause)}\n\n${story}`, { cause });
    this.invariant = broken?.number ?? null;
  }
}

export function toFailure(error: unknown): Failure {
  if (error instanceof PlayFailure) return { invariant: error.invariant, message: error.message };
  return { invariant: null, message: getErrorMessage(error) };
}
