/**
 * The inbox of a session, with what its messages refer to: reports of child sessions, and histories in blobs.
 */
import type { InboxMessage } from "../../core/machine/inbox.js";
import type { State } from "../../core/machine/state.js";
import type { Store } from "../../ports/store.js";
import { type KnownQuestions, readReported } from "../log/open-questions.js";
import { type ReadHistories, readHistories } from "../log/posted-history.js";

type Reader = {
  readonly sessionId: string;
  readonly parts: { readonly store: Store };
  readonly questions: KnownQuestions;
  readonly state: State;
};

/**
 * Messages may be consumed while something else is read. So the inbox is read last, directly before it is taken.
 * @throws PawlError `store_failed`, `store_corrupt`
 */
export async function readInbox(reader: Reader): Promise<readonly InboxMessage[]> {
  const { sessionId, parts, questions } = reader;
  const { store } = parts;
  let histories: ReadHistories | undefined;
  for (;;) {
    const messages = await store.inbox(sessionId);
    const reading = readReported(store, questions, reader.state, messages);
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
