/**
 * Sends the history of a session to an editor that loads it.
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
  // Omit past notices, compactions and usage.
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

/** The messages of an event that are not from the model. */
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

/** Converts the text of an imported conversation. Its calls are omitted. */
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
