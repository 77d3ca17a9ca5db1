/**
 * The hubs of a server, by session: made when somebody begins to watch, forgotten when the last watcher has left.
 */

import type { Client, Redact, SessionSource } from "../index.js";
import { afterEntry } from "../stream/cursor.js";
import type { LiveSource } from "./client/index.js";
import { createHub, type Hub, type HubSource } from "./hub.js";
import type { LoneRuns } from "./lone-runs.js";
import type { Links } from "./peers/links.js";
import type { ReadingAgent } from "./reading-agent.js";
import { redacted } from "./redacted-items.js";

export type Hubs = {
  readonly of: (sessionId: string) => Promise<Hub>;
  readonly live: (sessionId: string) => Promise<LiveSource>;
};

export type HubParts = {
  readonly links: Links;
  readonly alone: LoneRuns | null;
  readonly client: Client;
  readonly agentFor: ReadingAgent;
  readonly redact: Redact;
};

export function createHubs(parts: HubParts): Hubs {
  const hubs = new Map<string, Promise<Hub>>();

  async function open(sessionId: string): Promise<Hub> {
    const { seq, session } = await parts.client.session(sessionId).state();
    const agent = await parts.agentFor(sessionId, session);
    // The handle of a session is made when it is used: a hub in whose session nothing happens does not hold one.
    const events: SessionSource["events"] = (options) => (agent ?? parts.client).session(sessionId).events(options);
    const after = afterEntry(seq);
    const items: HubSource["items"] = (signal, onLive) =>
      redacted(parts.links.items({ id: sessionId, events }, after, { signal, onLive }), parts.redact);
    const live = await parts.links.live(sessionId);
    const leave = parts.alone?.joined(sessionId);
    return createHub({ items }, live, () => {
      hubs.delete(sessionId);
      leave?.();
    });
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
    async live(sessionId) {
      const known = await hubs.get(sessionId)?.catch(() => undefined);
      return known?.live() ?? parts.links.live(sessionId);
    },
  };
}
