/**
 * Loads the state of an existing session. A session begins with its first entry, or with a message in its inbox.
 */
import { initialState, type State } from "../../core/machine/state.js";
import type { Store } from "../../ports/store.js";
import { throwNoSession } from "./driver-errors.js";

/**
 * @param isStarting whether this process is about to start the session
 * @throws PawlError `no_session`
 */
export async function loadExistingState(
  store: Pick<Store, "load" | "inbox">,
  sessionId: string,
  isStarting: () => boolean = () => false,
): Promise<State> {
  // Two attempts: the session may have been started, and its message consumed, between the two reads of the first.
  for (let attempt = 1; attempt <= 2; attempt += 1) {
    const state = (await store.load(sessionId))?.state ?? initialState;
    if (state.session !== null || isStarting() || (await store.inbox(sessionId)).length > 0) return state;
  }
  return throwNoSession(sessionId);
}
