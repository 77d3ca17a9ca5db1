/**
 * Begins a session with a conversation from elsewhere. A file of more than 64 KiB becomes a blob before anything names
 * it.
 */
import type { FilePart, Message, ToolOutput } from "../../core/data/message.js";
import type { SeededHistory } from "../../core/machine/history.js";
import { bytesOfFile, isUrl, keptFile } from "../../core/transcript/blob-references.js";
import { PawlError } from "../../errors.js";
import { bytesOfBase64 } from "../../platform/bytes.js";
import type { Store } from "../../ports/store.js";
import { type CheckedHistory, inParts } from "../agent/history.js";
import type { Placed } from "../agent/history-parts.js";
import { titleOf } from "../agent/run-input.js";
import { readEntries } from "../log/read-entries.js";
import { findFinalEvent } from "../log/read-log.js";
import { whileKnown } from "../session/deliver.js";
import { isRequested } from "../session/known-result.js";
import type { LocalSession } from "../session/local-session.js";

type Blobs = Pick<Store, "putBlob">;

const mostInlineBytes = 64 * 1024;

/** The history as parts for the log, with its large files in blobs. @throws PawlError `bad_input`, `store_failed` */
export async function seededHistory(history: CheckedHistory, live: LocalSession): Promise<SeededHistory> {
  if (!history.messages.some(({ message }) => holdsLarge(message))) return inParts(history);
  const { sessionId, parts } = live;
  return whileKnown(live, async () => {
    const messages: Placed[] = [];
    for (const { index, message } of history.messages)
      messages.push({
        index,
        message: holdsLarge(message) ? await withBlobs(message, sessionId, parts.store) : message,
      });
    return inParts({ ...history, messages });
  });
}

function isLarge(file: FilePart): boolean {
  return !isUrl(file) && (bytesOfFile(file) ?? 0) > mostInlineBytes;
}

function filesOf(message: Message): readonly FilePart[] {
  return message.parts.flatMap((part): readonly FilePart[] => {
    if (part.type === "file") return [part];
    if (part.type !== "tool_result" || part.output.type !== "content") return [];
    return part.output.parts.filter((content) => content.type === "file");
  });
}

function holdsLarge(message: Message): boolean {
  return filesOf(message).some(isLarge);
}

async function withBlobs(message: Message, sessionId: string, store: Blobs): Promise<Message> {
  const made = new Map<FilePart, FilePart>();
  for (const file of filesOf(message).filter(isLarge)) {
    const bytes = bytesOfBase64(file.data);
    made.set(file, keptFile(file, await store.putBlob(sessionId, bytes), bytes.length));
  }
  const fileIn = <Part extends { readonly type: string }>(part: Part) =>
    part.type === "file" ? ((made.get(part as never) as Part | undefined) ?? part) : part;
  const outputIn = (output: ToolOutput): ToolOutput =>
    output.type === "content" ? { ...output, parts: output.parts.map(fileIn) } : output;
  const parts = (message.parts as readonly Message["parts"][number][]).map((part) =>
    part.type === "tool_result" ? { ...part, output: outputIn(part.output) } : fileIn(part),
  );
  return { ...message, parts } as Message;
}

/** A history is added only when a session begins. @throws PawlError `bad_input` if the session exists */
export async function refuseUnlessNew(sessionId: string, store: Store, runId?: string): Promise<void> {
  const state = (await store.load(sessionId))?.state;
  const isNew = (state?.session ?? null) === null && (await store.inbox(sessionId)).length === 0;
  if (isNew || (runId !== undefined && (await isKnownRun(sessionId, store, runId)))) return;
  throw existsAlready(sessionId);
}

/** Of two processes that begin a session at once, one is first. @throws PawlError `bad_input` for the other one */
export async function refuseUnlessEntered({ parts }: SeededHistory, sessionId: string, store: Store): Promise<void> {
  const entered: unknown[] = [];
  for await (const { event } of readEntries(store, sessionId, 0)) {
    if (event.type === "history_added") entered.push(event.messages);
    else if (event.type !== "session_created") break;
  }
  // Posted to another process that has not taken it yet: it is durable, and nothing came before it.
  if (entered.length === 0 && (await store.inbox(sessionId)).length > 0) return;
  if (JSON.stringify(entered) !== JSON.stringify(parts)) throw existsAlready(sessionId);
}

/** The first words of the conversation, for lists. */
export function titleOfHistory({ messages }: CheckedHistory): string {
  const first = messages.find(({ message }) => message.role === "user")?.message;
  return first?.role === "user" ? titleOf([first]) : "";
}

async function isKnownRun(sessionId: string, store: Store, runId: string): Promise<boolean> {
  return (await isRequested(store, sessionId, runId)) || (await findFinalEvent(store, sessionId, runId)) !== null;
}

function existsAlready(sessionId: string): PawlError {
  return new PawlError(
    "bad_input",
    `Session ${sessionId} exists already. A history is added only when a session begins: leave it out, or take another session.`,
  );
}
