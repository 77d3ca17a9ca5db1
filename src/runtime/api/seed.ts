/**
 * Starts a session with an imported conversation. A file of more than 64 KiB becomes a blob before any entry refers to it.
 */
import type { FilePart, Message, ToolOutput } from "../../core/data/message.js";
import type { SeededHistory } from "../../core/machine/history.js";
import { fileSize, isUrlFile, toBlobFile } from "../../core/transcript/blob-references.js";
import { PawlError } from "../../errors.js";
import { decodeBase64 } from "../../platform/bytes.js";
import type { Store } from "../../ports/store.js";
import { type CheckedHistory, splitHistory } from "../agent/history.js";
import type { IndexedMessage } from "../agent/history-parts.js";
import { createTitle } from "../agent/run-input.js";
import { readEntries } from "../log/read-entries.js";
import { findFinalEvent } from "../log/read-log.js";
import { withKnownSession } from "../session/deliver.js";
import { isRequested } from "../session/known-result.js";
import type { LocalSession } from "../session/local-session.js";

type BlobStore = Pick<Store, "putBlob">;

const maxInlineBytes = 64 * 1024;

/** Splits the history for the log, with its large files in blobs. @throws PawlError `bad_input`, `store_failed` */
export async function seedHistory(history: CheckedHistory, localSession: LocalSession): Promise<SeededHistory> {
  if (!history.messages.some(({ message }) => hasLargeFile(message))) return splitHistory(history);
  const { sessionId, agent } = localSession;
  return withKnownSession(localSession, async () => {
    const messages: IndexedMessage[] = [];
    for (const { index, message } of history.messages)
      messages.push({
        index,
        message: hasLargeFile(message) ? await moveFilesToBlobs(message, sessionId, agent.store) : message,
      });
    return splitHistory({ ...history, messages });
  });
}

function isLarge(file: FilePart): boolean {
  return !isUrlFile(file) && (fileSize(file) ?? 0) > maxInlineBytes;
}

function listFiles(message: Message): readonly FilePart[] {
  return message.parts.flatMap((part): readonly FilePart[] => {
    if (part.type === "file") return [part];
    if (part.type !== "tool_result" || part.output.type !== "content") return [];
    return part.output.parts.filter((content) => content.type === "file");
  });
}

function hasLargeFile(message: Message): boolean {
  return listFiles(message).some(isLarge);
}

async function moveFilesToBlobs(message: Message, sessionId: string, store: BlobStore): Promise<Message> {
  const made = new Map<FilePart, FilePart>();
  for (const file of listFiles(message).filter(isLarge)) {
    const bytes = decodeBase64(file.data);
    made.set(file, toBlobFile(file, await store.putBlob(sessionId, bytes), bytes.length));
  }
  const replaceFile = <Part extends { readonly type: string }>(part: Part) =>
    part.type === "file" ? ((made.get(part as never) as Part | undefined) ?? part) : part;
  const replaceOutput = (output: ToolOutput): ToolOutput =>
    output.type === "content" ? { ...output, parts: output.parts.map(replaceFile) } : output;
  const parts = (message.parts as readonly Message["parts"][number][]).map((part) =>
    part.type === "tool_result" ? { ...part, output: replaceOutput(part.output) } : replaceFile(part),
  );
  return { ...message, parts } as Message;
}

/** A history can only be added when a session starts. @throws PawlError `bad_input` if the session exists */
export async function refuseUnlessNew(sessionId: string, store: Store, runId?: string): Promise<void> {
  const state = (await store.load(sessionId))?.state;
  const isNew = (state?.session ?? null) === null && (await store.inbox(sessionId)).length === 0;
  if (isNew || (runId !== undefined && (await isKnownRun(sessionId, store, runId)))) return;
  throw sessionExistsError(sessionId);
}

/** If two processes start a session at the same time, only one succeeds. @throws PawlError `bad_input` for the other process */
export async function refuseUnlessEntered({ parts }: SeededHistory, sessionId: string, store: Store): Promise<void> {
  const entered: unknown[] = [];
  for await (const { event } of readEntries(store, sessionId, 0)) {
    if (event.type === "history_added") entered.push(event.messages);
    else if (event.type !== "session_created") break;
  }
  // The history was posted to another process that has not consumed it yet. It is durable, and nothing precedes it.
  if (entered.length === 0 && (await store.inbox(sessionId)).length > 0) return;
  if (JSON.stringify(entered) !== JSON.stringify(parts)) throw sessionExistsError(sessionId);
}

/** The first words of the conversation, as a title in lists. */
export function createHistoryTitle({ messages }: CheckedHistory): string {
  const first = messages.find(({ message }) => message.role === "user")?.message;
  return first?.role === "user" ? createTitle([first]) : "";
}

async function isKnownRun(sessionId: string, store: Store, runId: string): Promise<boolean> {
  return (await isRequested(store, sessionId, runId)) || (await findFinalEvent(store, sessionId, runId)) !== null;
}

function sessionExistsError(sessionId: string): PawlError {
  return new PawlError(
    "bad_input",
    `Session ${sessionId} already exists. A history can only be added when a session starts. Omit it, or use another session.`,
  );
}
