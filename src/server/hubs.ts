/**
 * The hubs of a server, by session: created for the first watcher, and removed when the last one has left.
 */

import type { Client, Redact, SessionSource } from "../index.js";
import { afterEntry } from "../stream/cursor.js";
import type { LiveSource } from "./client/index.js";
import type { FindReadingAgent } from "./find-reading-agent.js";
import { createHub, type Hub, type HubSource } from "./hub.js";
import type { LoneRuns } from "./lone-runs.js";
import type { Links } from "./peers/links.js";
import { redactItems } from "./redact-items.js";

export type Hubs = {
  readonly getOrOpen: (sessionId: string) => Promise<Hub>;
  readonly findLiveSource: (sessionId: string) => Promise<LiveSource>;
};

export type HubsDeps = {
  readonly links: Links;
  readonly loneRuns: LoneRuns | null;
  readonly client: Client;
  readonly findReadingAgent: FindReadingAgent;
  readonly redact: Redact;
};

export function createHubs(deps: HubsDeps): Hubs {
  const hubs = new Map<string, Promise<Hub>>();

  async function open(sessionId: string): Promise<Hub> {
    const { seq, session } = await deps.client.session(sessionId).state();
    const agent = await deps.findReadingAgent(sessionId, session);
    // The session handle is created on use, so that the hub of an inactive session does not hold one.
    const events: SessionSource["events"] = (options) => (agent ?? deps.client).session(sessionId).events(options);
    const after = afterEntry(seq);
    const openItems: HubSource["openItems"] = (signal, onLive) =>
      redactItems(deps.links.items({ id: sessionId, events }, after, { signal, onLive }), deps.redact);
    const liveSource = await deps.links.findLiveSource(sessionId);
    const streamClosed = deps.loneRuns?.streamOpened(sessionId);
    return createHub({ openItems }, liveSource, () => {
      hubs.delete(sessionId);
      streamClosed?.();
    });
  }

  return {
    getOrOpen(sessionId) {
      const existing = hubs.get(sessionId);
      if (existing !== undefined) return existing;
      const opening = open(sessionId);
      hubs.set(sessionId, opening);
      opening.catch(() => hubs.delete(sessionId));
      return opening;
    },
    async findLiveSource(sessionId) {
      const existing = await hubs.get(sessionId)?.catch(() => undefined);
      return existing?.liveSource() ?? deps.links.findLiveSource(sessionId);
    },
  };
}
