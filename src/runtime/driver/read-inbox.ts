/**
 * Reads the inbox of a session, and what its messages refer to: reports of child sessions, and histories in blobs.
 */
import type { InboxMessage } from "../../core/machine/inbox.js";
import type { State } from "../../core/machine/state.js";
import type { Store } from "../../ports/store.js";
import { type KnownQuestions, readReportedQuestions } from "../log/open-questions.js";
import { type LoadedHistories, readHistories } from "../log/posted-history.js";

type InboxReader = {
  readonly sessionId: string;
  readonly agent: { readonly store: Store };
  readonly questions: KnownQuestions;
  readonly state: State;
};

/**
 * Messages may be consumed during other reads. So the inbox is read last, directly before its messages are consumed.
 * @throws PawlError `store_failed`, `store_corrupt`
 */
export async function readInbox(reader: InboxReader): Promise<readonly InboxMessage[]> {
  const { sessionId, agent, questions } = reader;
  const { store } = agent;
  let histories: LoadedHistories | undefined;
  for (;;) {
    const messages = await store.inbox(sessionId);
    const reading = readReportedQuestions(store, questions, reader.state, messages);
    if (reading !== undefined) {
      await reading;
      continue;
    }
    if (!messages.some(({ body }) => "history" in body)) return messages;
    histories ??= new Map();
    const known = histories;
    const read = readHistories(known, messages, sessionId, store);
    if (read === undefined) return messages.map((message) => known.get(message.id) ?? message);
    await read;
  }
}
