/**
 * Finds the rules and the mode that apply to a call: those of the session at the top of a chain of agents. So what a person allows or
 * denies in the session that they see applies to the agents that it calls, and a child agent cannot have its own rules.
 */
import { createClient, type Store } from "../../index.js";
import type { SessionRules } from "./session-rules.js";

export type TopSessions = {
  /**
   * Returns the rules that apply: the given ones for a session without a parent, and otherwise those of the session at the top.
   * @throws PawlError `no_session` if the session at the top is gone
   */
  readonly find: (session: SessionRules) => Promise<SessionRules>;
  /** Returns the last result of `find` for this session; the given rules if there is none. */
  readonly findLatest: (session: SessionRules) => SessionRules;
};

/** The maximum number of sessions that are remembered. A forgotten one is read again. */
const maxSessions = 1_000;

export function createTopSessions(store: Store): TopSessions {
  const client = createClient({ store });
  /** By session. A session never gets another parent. */
  const tops = new Map<string, string>();
  const latest = new Map<string, SessionRules>();

  async function findTop(sessionId: string): Promise<string> {
    const known = tops.get(sessionId);
    if (known !== undefined) return known;
    const summary = await store.describe(sessionId);
    const top = summary?.info?.top ?? sessionId;
    if (summary !== null) remember(tops, sessionId, top);
    return top;
  }

  return {
    async find(session) {
      const top = await findTop(session.sessionId);
      if (top === session.sessionId) return session;
      const rules = { sessionId: top, data: await client.session(top).data() };
      remember(latest, session.sessionId, rules);
      return rules;
    },
    findLatest: (session) => latest.get(session.sessionId) ?? session,
  };
}

function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  const [oldest] = map.keys();
  if (map.size >= maxSessions && oldest !== undefined) map.delete(oldest);
  map.set(key, value);
}
