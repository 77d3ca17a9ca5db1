/**
 * The session that a command means if the person names none.
 */
import { PawlError, type SessionSummary, type Store } from "../../index.js";
import { agentName } from "./agent-name.js";
import { isUnfinished } from "./session-progress.js";

/** The folder's newest session, other than those that calls started; undefined if there is none. */
export async function findLatestSession(store: Store, root: string): Promise<SessionSummary | undefined> {
  const [latest] = await store.list({ agent: agentName, root, parent: null, limit: 1 });
  return latest;
}

/** @throws PawlError `no_session` if no session has worked in the folder; `advice` says what to do then */
export async function getLatestSession(store: Store, root: string, advice: string): Promise<SessionSummary> {
  const latest = await findLatestSession(store, root);
  if (latest !== undefined) return latest;
  throw new PawlError("no_session", `No session has worked in ${root} yet. ${advice}`);
}

/** The newest session of the folder whose run has not ended; undefined if there is none. */
export async function findUnfinishedSession(store: Store, root: string): Promise<SessionSummary | undefined> {
  const sessions = await store.list({ agent: agentName, root, parent: null, limit: maxSearched });
  return sessions.find(isUnfinished);
}

const maxSearched = 200;
