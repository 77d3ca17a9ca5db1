/**
 * Reads a session before a worker claims it.
 */
import type { SessionBinding } from "../core/machine/state.js";
import { PawlError } from "../errors.js";
import type { Store } from "../ports/store.js";
import { readSessionLook, type SessionLook } from "../runtime/api/session-beginning.js";

export type SessionLookup = { readonly binding: SessionBinding; readonly seen: SessionLook };

/** @throws PawlError `no_session` */
export async function lookUpSession(store: Store, sessionId: string): Promise<SessionLookup> {
  const seen = await readSessionLook(store, sessionId);
  if (seen.binding !== null) return { binding: seen.binding, seen };
  throw new PawlError(
    "no_session",
    `Session ${sessionId} is empty: neither its log nor its inbox names an agent. Send it an input first.`,
  );
}

/** Lists a child session and its ancestors, from the bottom up. */
export async function loadSessionChain(store: Store, sessionId: string): Promise<readonly string[]> {
  const chain: string[] = [];
  for (let id: string | undefined = sessionId; id !== undefined && !chain.includes(id); ) {
    chain.push(id);
    id = (await lookUpSession(store, id)).binding.parent?.sessionId;
  }
  return chain;
}
