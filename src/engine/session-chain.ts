/**
 * What a worker reads of a session before it claims it.
 */
import type { SessionBinding } from "../core/machine/state.js";
import { PawlError } from "../errors.js";
import type { Store } from "../ports/store.js";
import { bindingOf } from "../runtime/api/beginning.js";

/** A child session and the sessions above it, from the bottom up. */
export async function chainFrom(store: Store, sessionId: string): Promise<readonly string[]> {
  const chain: string[] = [];
  for (let id: string | undefined = sessionId; id !== undefined && !chain.includes(id); ) {
    chain.push(id);
    id = (await infoOf(store, id)).parent?.sessionId;
  }
  return chain;
}

/** What a session is bound to. @throws PawlError `no_session` */
export async function infoOf(store: Store, sessionId: string): Promise<SessionBinding> {
  const session = await bindingOf(store, sessionId);
  if (session !== null) return session;
  throw new PawlError(
    "no_session",
    `Session ${sessionId} is empty: neither its log nor its inbox names an agent. Send it an input first.`,
  );
}
