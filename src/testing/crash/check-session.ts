/**
 * Checks a session by its stored data alone, whichever process wrote it and however many times the process died.
 */
import type { Store } from "../../ports/store.js";
import type { Invariant } from "../world/history.js";
import { checkInvariants, InvariantBroken } from "../world/invariants.js";
import { storedInvariants } from "../world/invariants-log.js";

const undamagedInvariant: Pick<Invariant, "number" | "name"> = { number: 1, name: "stored data is undamaged" };

/**
 * Checks a session's log and state: no damage, no gaps, one message for each step, one result for each call, and a
 * log that folds to the state.
 *
 * @throws InvariantBroken, or PawlError `store_corrupt`
 */
export async function checkSession(store: Store, sessionId: string): Promise<void> {
  const [problem] = await store.verify(sessionId);
  if (problem !== undefined) throw new InvariantBroken(undamagedInvariant, problem.what);
  const log = await store.read(sessionId);
  const loaded = await store.load(sessionId);
  if (loaded === null) return;
  const { state, seq } = loaded;
  const commit = {
    expectedSeq: 0,
    events: log.map(({ event }) => event),
    state,
    at: 0,
    activity: "resting",
    dueAt: null,
    askedAt: null,
  } as const;
  const fact = { type: "written", sessionId, process: "", epoch: 0, line: 0, at: 0, commit } as const;
  if (seq !== log.length)
    throw new InvariantBroken(undamagedInvariant, `the state is from entry ${seq}, but the log ends at ${log.length}`);
  checkInvariants({ facts: [], rows: [fact], log }, storedInvariants);
}
