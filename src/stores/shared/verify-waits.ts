/**
 * Checks that the waits of a session match its state, and that the signals that they received are in its inbox.
 */
import { type SignalWait, signalWaits } from "../../core/machine/signal-waits.js";
import type { State } from "../../core/machine/state.js";
import { nameOfWait } from "./signals.js";

/** A wait as a store has it, with the id of the message that delivered its signal. */
export type StoredWait = SignalWait & { readonly given: string | null };

/** Describes what is wrong with the waits of a session. @param inbox the ids of the messages in its inbox */
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
    if (match === undefined) problems.push(`it waits for a signal in ${name}, but its state does not`);
    else if (match.key !== wait.key || match.expiresAt !== wait.expiresAt)
      problems.push(`its wait ${name} differs from the wait in its state`);
    if (wait.given !== null && !inbox.has(wait.given))
      problems.push(`the signal that its wait ${name} received is not in its inbox`);
  }
  for (const name of expected.keys()) problems.push(`its state waits for a signal in ${name}, but the store does not`);
  return problems;
}
