/**
 * The agent of this process that reads a session: the one at the top for a child session, because the agent behind a tool
 * belongs to it.
 */
import type { Agent, SessionInfo, Store } from "../index.js";
import { loadBeginningInfo } from "./session-info.js";

/** @param info null for a session that nobody has begun yet: then its first request names the agent */
export type FindReadingAgent = (
  sessionId: string,
  info: Pick<SessionInfo, "agent" | "top"> | null,
) => Promise<Agent | undefined>;

export function createReadingAgentFinder(store: Store, agents: ReadonlyMap<string, Agent>): FindReadingAgent {
  return async (sessionId, knownInfo) => {
    const info = knownInfo ?? (await loadBeginningInfo(store, sessionId));
    if (info === null) return undefined;
    const top = info.top === undefined ? undefined : (await store.describe(info.top))?.info?.agent;
    return agents.get(top ?? info.agent) ?? agents.get(info.agent);
  };
}
