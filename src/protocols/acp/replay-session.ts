/**
 * Tells an editor that loads a session what was said and done in it.
 */

import type { AgentContext, SessionUpdate } from "@agentclientprotocol/sdk";
import type { Message, PublicEvent } from "../../index.js";
import { formatCursor } from "../../stream/cursor.js";
import { createSessionView } from "../../view/session-view.js";
import { type OpenSession, tell } from "./open-session.js";
import { updatesOf, userUpdates } from "./updates.js";

export async function replaySession(open: OpenSession, client: AgentContext): Promise<void> {
  const view = createSessionView();
  const redact = open.redactStream();
  // What was a notice then is no news now.
  const updates = { ...open.updates, client: { ...open.updates.client, session: null }, contextWindow: undefined };
  for await (const item of open.session.events({ follow: false, live: false }))
    for (const shown of redact(item)) {
      const event = shown as PublicEvent;
      for (const update of saidBy(event)) await tell(open, client, update);
      for (const change of view.apply(event))
        for (const update of updatesOf(change, updates)) await tell(open, client, update);
      open.shown = formatCursor(event);
    }
}

/** The messages that come with an event, and not from the model. */
function saidBy(event: PublicEvent): readonly SessionUpdate[] {
  switch (event.type) {
    case "run_started":
      return userUpdates(event.input, event.runId);
    case "steered":
      return event.source === "user" ? userUpdates(event.input, `${event.seq}`) : [];
    case "history_added":
      return event.messages.flatMap((message) => historyUpdates(message, `${event.seq}`));
    default:
      return [];
  }
}

/** The words of a conversation from elsewhere. Its calls are left out. */
function historyUpdates(message: Message, messageId: string): readonly SessionUpdate[] {
  switch (message.role) {
    case "user":
      return userUpdates([message], messageId);
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
