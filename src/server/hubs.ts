/**
 * The hubs of a server, by session: made when somebody begins to watch, forgotten when the last watcher has left.
 */
import { type Agent, type Client, isHeldHere, type Redact, type Store } from "../index.js";
import type { LiveSource } from "./client/index.js";
import { createHub, type Hub } from "./hub.js";
import { redacted } from "./redacted-items.js";

export type Hubs = {
  readonly of: (sessionId: string) => Promise<Hub>;
  readonly live: (sessionId: string) => Promise<LiveSource>;
};

export type HubParts = {
  readonly store: Store;
  readonly client: Client;
  readonly agents: ReadonlyMap<string, Agent>;
  readonly redact: Redact;
  /** Whether this process carries runs out. */
  readonly works: boolean;
};

export function createHubs(parts: HubParts): Hubs {
  const hubs = new Map<string, Promise<Hub>>();

  async function open(sessionId: string): Promise<Hub> {
    const { seq, session } = await parts.client.session(sessionId).state();
    const agent = session === null ? undefined : parts.agents.get(session.agent);
    const followed = agent?.session(sessionId) ?? parts.client.session(sessionId);
    const items = (signal: AbortSignal) => redacted(followed.events({ after: seq, signal }), parts.redact);
    const live = () => liveSource(sessionId, parts);
    return createHub({ items, live }, await live(), () => hubs.delete(sessionId));
  }

  return {
    of(sessionId) {
      const known = hubs.get(sessionId);
      if (known !== undefined) return known;
      const opening = open(sessionId);
      hubs.set(sessionId, opening);
      opening.catch(() => hubs.delete(sessionId));
      return opening;
    },
    live: (sessionId) => liveSource(sessionId, parts),
  };
}

/** Deltas come from the process that holds the session. If nobody does, this one will, if it has the agent. */
async function liveSource(sessionId: string, { store, agents, works }: HubParts): Promise<LiveSource> {
  const summary = await store.describe(sessionId);
  if (summary === null) return "none";
  const { holder, info } = summary;
  if (holder !== null) return isHeldHere(holder) ? "here" : "none";
  return works && info !== null && agents.has(info.agent) ? "here" : "none";
}
