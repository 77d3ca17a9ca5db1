/**
 * Whether the waits of a session are those of its state, and whether what they were given is there.
 */
import { type SignalWait, signalWaits } from "../../core/machine/signal-waits.js";
import type { State } from "../../core/machine/state.js";
import { nameOfWait } from "./signals.js";

/** A wait as a store has it, with the id of the message by which it got its signal. */
export type StoredWait = SignalWait & { readonly given: string | null };

/** What is wrong with the waits of a session. @param inbox the ids of the messages in its inbox */
export function findWaitProblems(
  state: State | null,
  waits: readonly StoredWait[],
  inbox: ReadonlySet<string>,
): readonly string[] {
  const expected = new Map((state === null ? [] : signalWaits(state)).map((wait) => [nameOfWait(wait), wait]));
  const problems: string[] = [];
  for (const wait of waits) {
    const name = nameOfWait(wait);
    const match = expected.get(name);
    expected.delete(name);
    if (match === undefined) problems.push(`it waits for a signal in ${name}, and its state does not`);
    else if (match.key !== wait.key || match.expiresAt !== wait.expiresAt)
      problems.push(`its wait ${name} is for another signal than in its state`);
    if (wait.given !== null && !inbox.has(wait.given))
      problems.push(`the signal that its wait ${name} was given is not in its inbox`);
  }
  for (const name of expected.keys()) problems.push(`its state waits for a signal in ${name}, and the store does not`);
  return problems;
}
