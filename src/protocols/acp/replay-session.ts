/**
 * Tells an editor that loads a session what was said and done in it.
 */

import type { AgentContext, SessionUpdate } from "@agentclientprotocol/sdk";
import type { Message, PublicEvent } from "../../index.js";
import { formatCursor } from "../../stream/cursor.js";
import { createSessionView } from "../../view/session-view.js";
import { type OpenSession, sendUpdate } from "./open-session.js";
import { toUpdates, toUserUpdates } from "./updates.js";

export async function replaySession(open: OpenSession, client: AgentContext): Promise<void> {
  const view = createSessionView();
  const redact = open.redactStream();
  // What was a notice then is no news now.
  const updates = { ...open.updates, client: { ...open.updates.client, session: null }, contextWindow: undefined };
  for await (const item of open.session.events({ follow: false, live: false }))
    for (const visibleItem of redact(item)) {
      const event = visibleItem as PublicEvent;
      for (const update of toInputUpdates(event)) await sendUpdate(open, client, update);
      for (const change of view.apply(event))
        for (const update of toUpdates(change, updates)) await sendUpdate(open, client, update);
      open.shownCursor = formatCursor(event);
    }
}

/** The messages that come with an event, and not from the model. */
function toInputUpdates(event: PublicEvent): readonly SessionUpdate[] {
  switch (event.type) {
    case "run_started":
      return toUserUpdates(event.input, event.runId);
    case "steered":
      return event.source === "user" ? toUserUpdates(event.input, `${event.seq}`) : [];
    case "history_added":
      return event.messages.flatMap((message) => toHistoryUpdates(message, `${event.seq}`));
    default:
      return [];
  }
}

/** The words of a conversation from elsewhere. Its calls are left out. */
function toHistoryUpdates(message: Message, messageId: string): readonly SessionUpdate[] {
  switch (message.role) {
    case "user":
      return toUserUpdates([message], messageId);
    case "assistant":
      return message.parts.flatMap((part): readonly SessionUpdate[] =>
        part.type === "text"
          ? [{ sessionUpdate: "agent_message_chunk", content: { type: "text", text: part.text } }]
          : [],
      );
    case "tool":
      return [];
  }
}
