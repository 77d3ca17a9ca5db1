/**
 * What is known of a session: by its log or, as long as nobody has taken its first request, by that request.
 */
import { findBeginning, type SessionInfo, type SessionSummary, type Store } from "../index.js";

/** A child session belongs to the principal that began the session at the top. */
export async function sessionInfo(
  store: Store,
  { sessionId, info: given }: Pick<SessionSummary, "sessionId" | "info">,
): Promise<SessionInfo | null> {
  const info = given ?? (await beginningInfo(store, sessionId));
  if (info === null || info.principal !== undefined || info.top === undefined) return info;
  const principal = (await store.describe(info.top))?.info?.principal;
  return principal === undefined ? info : { ...info, principal };
}

/** Of a session whose log was empty a moment ago. The process that takes its first request says which model it has. */
export async function beginningInfo(store: Store, sessionId: string): Promise<SessionInfo | null> {
  const begun = await findBeginning(store, sessionId);
  return begun === null ? null : { model: "", ...begun.session };
}
