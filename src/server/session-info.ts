/**
 * What is known of a session: by its log or, as long as nobody has taken its first request, by that request.
 */
import { findBeginning, type SessionInfo, type SessionSummary, type Store } from "../index.js";

/** A child session belongs to the principal that began the session at the top. */
export async function loadSessionInfo(
  store: Store,
  { sessionId, info: storedInfo }: Pick<SessionSummary, "sessionId" | "info">,
): Promise<SessionInfo | null> {
  const info = storedInfo ?? (await loadBeginningInfo(store, sessionId));
  if (info === null || info.principal !== undefined || info.top === undefined) return info;
  const principal = (await store.describe(info.top))?.info?.principal;
  return principal === undefined ? info : { ...info, principal };
}

/** Of a session whose log was empty a moment ago. The process that takes its first request says which model it has. */
export async function loadBeginningInfo(store: Store, sessionId: string): Promise<SessionInfo | null> {
  const beginning = await findBeginning(store, sessionId);
  return beginning === null ? null : { model: "", ...beginning.session };
}
