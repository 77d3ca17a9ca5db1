/**
 * Finds the agent of this process that reads a session. For a child session, it is the agent of the top session, because the
 * agent of a tool belongs to it.
 */
import type { Agent, SessionInfo, Store } from "../index.js";
import { loadBeginningInfo } from "./session-info.js";

/** @param info null for a session that has not begun yet; its first request then names the agent */
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
