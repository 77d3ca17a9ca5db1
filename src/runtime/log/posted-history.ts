/**
 * Histories in inbox messages. Inbox messages have a size limit, so the history is stored in blobs, and the process that consumes the
 * message reads them first.
 */
import type { Message } from "../../core/data/message.js";
import type { InboxMessage } from "../../core/machine/inbox.js";
import { PawlError } from "../../errors.js";
import type { Store } from "../../ports/store.js";

type BlobStore = Pick<Store, "putBlob" | "getBlob">;

/** Moves the history of a message to blobs, so that the message can be posted. */
export async function storeHistoryInBlobs(
  message: InboxMessage,
  sessionId: string,
  store: BlobStore,
): Promise<InboxMessage> {
  const { body } = message;
  if (!("history" in body) || body.history === undefined) return message;
  const parts: string[] = [];
  for (const part of body.history.parts)
    parts.push(
      typeof part === "string" ? part : await store.putBlob(sessionId, new TextEncoder().encode(JSON.stringify(part))),
    );
  return { ...message, body: { ...body, history: { ...body.history, parts } } };
}

/** Inbox messages whose histories were loaded, by id. */
export type LoadedHistories = Map<string, InboxMessage>;

/** Loads the histories that `known` does not have yet; undefined if there are none to load. */
export function readHistories(
  known: LoadedHistories,
  messages: readonly InboxMessage[],
  sessionId: string,
  store: BlobStore,
): Promise<unknown> | undefined {
  const unread = messages.filter((message) => hasHistoryInBlobs(message) && !known.has(message.id));
  if (unread.length === 0) return undefined;
  return Promise.all(
    unread.map(async (message) => known.set(message.id, await loadHistory(message, sessionId, store))),
  );
}

function hasHistoryInBlobs({ body }: InboxMessage): boolean {
  return "history" in body && body.history?.parts.some((part) => typeof part === "string") === true;
}

/** @throws PawlError `store_corrupt` if the store has lost a blob */
async function loadHistory(message: InboxMessage, sessionId: string, store: BlobStore): Promise<InboxMessage> {
  const { body } = message;
  if (!("history" in body) || body.history === undefined) return message;
  const parts = await Promise.all(
    body.history.parts.map((part) => (typeof part === "string" ? loadPart(part, sessionId, store) : part)),
  );
  return { ...message, body: { ...body, history: { ...body.history, parts } } };
}

async function loadPart(hash: string, sessionId: string, store: BlobStore): Promise<readonly Message[]> {
  const bytes = await store.getBlob(sessionId, hash);
  if (bytes === null)
    throw new PawlError(
      "store_corrupt",
      `The blob ${hash} with the history of session ${sessionId} is missing from the store. Restore it from a backup.`,
    );
  return JSON.parse(new TextDecoder().decode(bytes)) as readonly Message[];
}
