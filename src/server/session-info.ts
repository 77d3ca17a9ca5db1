/**
 * Loads the info of a session from its log or, until its first request has been consumed, from that request.
 */
import type { SessionInfo, SessionSummary, Store } from "../index.js";
import { readSessionLook } from "../inspect.js";

/**
 * Loads the info of a session, with the principal of its top session.
 *
 * @param describeTop describes a top session. Lists pass a function that caches, because children share their top session.
 */
export async function loadSessionInfo(
  store: Store,
  { sessionId, info: storedInfo }: Pick<SessionSummary, "sessionId" | "info">,
  describeTop: Store["describe"] = (id) => store.describe(id),
): Promise<SessionInfo | null> {
  return addTopPrincipal(storedInfo ?? (await loadBeginningInfo(store, sessionId)), describeTop);
}

/** A child session belongs to the principal that began the top session. */
export async function addTopPrincipal(
  info: SessionInfo | null,
  describeTop: Store["describe"],
): Promise<SessionInfo | null> {
  if (info === null || info.principal !== undefined || info.top === undefined) return info;
  const principal = (await describeTop(info.top))?.info?.principal;
  return principal === undefined ? info : { ...info, principal };
}

/** Loads the info of a session with an empty log. The model is unknown until a process consumes the first request. */
export async function loadBeginningInfo(store: Store, sessionId: string): Promise<SessionInfo | null> {
  return createBeginningInfo((await readSessionLook(store, sessionId)).binding);
}

export function createBeginningInfo(binding: Omit<SessionInfo, "model"> | null): SessionInfo | null {
  return binding === null ? null : { model: "", ...binding };
}

/** Creates a `describe` that reads each session once. */
export function createCachedDescribe(store: Store): Store["describe"] {
  const described = new Map<string, Promise<SessionSummary | null>>();
  return (sessionId) => {
    const summary = described.get(sessionId) ?? store.describe(sessionId);
    described.set(sessionId, summary);
    return summary;
  };
}
