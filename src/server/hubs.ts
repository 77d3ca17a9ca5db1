/**
 * The hubs of a server, by session. A hub is created for the first watcher, and removed when the last one has left.
 */

import type { Client, PublicEvent, Redact, SessionSource, SessionSummary, Store } from "../index.js";
import { formatCursor } from "../stream/cursor.js";
import type { LiveSource } from "./client/index.js";
import type { FindReadingAgent } from "./find-reading-agent.js";
import { createHub, type Hub, type HubSource } from "./hub.js";
import type { LoneRuns } from "./lone-runs.js";
import type { Links } from "./peers/links.js";
import { redactItems } from "./redact-items.js";

/** `summary` is the session as the caller has just read it, if it has. */
export type Hubs = {
  readonly getOrOpen: (sessionId: string, summary?: SessionSummary) => Promise<Hub>;
  readonly findLiveSource: (sessionId: string, summary: SessionSummary) => Promise<LiveSource>;
};

export type HubsDeps = {
  readonly links: Links;
  readonly loneRuns: LoneRuns | null;
  readonly store: Pick<Store, "describe">;
  readonly client: Client;
  readonly findReadingAgent: FindReadingAgent;
  readonly redact: Redact;
};

export function createHubs(deps: HubsDeps): Hubs {
  const hubs = new Map<string, Promise<Hub>>();

  async function open(sessionId: string, given: SessionSummary | undefined): Promise<Hub> {
    let summary = given ?? (await deps.store.describe(sessionId));
    const agent = await deps.findReadingAgent(sessionId, summary?.info ?? null);
    const liveSource = await deps.links.findLiveSource(summary);
    // The session handle is created on demand, so that the hub of an inactive session does not hold one.
    const events: SessionSource["events"] = (options) => (agent ?? deps.client).session(sessionId).events(options);
    const openLink: HubSource["openLink"] = () => {
      const link = deps.links.getOrOpen({ id: sessionId, events }, summary);
      // Release the summary: it is soon stale, and a process may have many hubs.
      summary = null;
      return link;
    };
    const logged: HubSource["logged"] = (after) =>
      redactItems(events({ follow: false, after: formatCursor(after) }), deps.redact) as AsyncIterable<PublicEvent>;
    const streamClosed = deps.loneRuns?.streamOpened(sessionId);
    return createHub({ openLink, logged, redact: deps.redact }, liveSource, () => {
      hubs.delete(sessionId);
      streamClosed?.();
    });
  }

  return {
    getOrOpen(sessionId, summary) {
      const existing = hubs.get(sessionId);
      if (existing !== undefined) return existing;
      const opening = open(sessionId, summary);
      hubs.set(sessionId, opening);
      opening.catch(() => hubs.delete(sessionId));
      return opening;
    },
    async findLiveSource(sessionId, summary) {
      const existing = await hubs.get(sessionId)?.catch(() => undefined);
      return existing?.liveSource() ?? deps.links.findLiveSource(summary);
    },
  };
}
