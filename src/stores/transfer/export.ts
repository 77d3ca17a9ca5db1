/**
 * Exports sessions as lines of text: a complete copy that `importSessions` can write into another store.
 *
 * Nothing is written to the store, and nothing is locked. Each session is therefore checked again after its last line, and all of them at
 * the end, because a child that ends meanwhile has reported to a parent that is already written. If a session has changed, the export
 * fails, and its output has no last line.
 */
import { anArray, anObject, checkOptions, type OptionTable } from "../../check-options.js";
import { defined } from "../../core/data/defined.js";
import type { Message } from "../../core/data/message.js";
import type { Entry } from "../../core/machine/event.js";
import type { InboxMessage } from "../../core/machine/inbox.js";
import { formatVersion } from "../../core/machine/state.js";
import { blobsOf, blobsOfOutput } from "../../core/transcript/blob-references.js";
import { PawlError } from "../../errors.js";
import { encodeBase64 } from "../../platform/bytes.js";
import { isHolderDead } from "../../platform/holder.js";
import type { ScheduleRow } from "../../ports/schedule-store.js";
import type { Signal } from "../../ports/signal.js";
import type { SessionSummary, Store } from "../../ports/store.js";
import {
  chainSum,
  type EndLine,
  exportVersion,
  formatLine,
  type Line,
  maxBlobPartBytes,
  maxIdsPerLine,
} from "./lines.js";

/** Options for an export. */
export type ExportOptions = {
  /** Exports these sessions, with all sessions that they have started. Default: every session in the store. */
  readonly sessionIds?: readonly string[];
  /** Ends the export with an `AbortError`. */
  readonly signal?: AbortSignal;
};

const rules: OptionTable<ExportOptions> = { sessionIds: anArray, signal: anObject };

/** How many sessions or entries are read at once. */
const pageSize = 100;

/**
 * A complete copy of sessions as text, line by line, each with its line break: logs, inboxes, blobs, and the sessions that they have
 * started. Delayed messages are exported with their sessions. An export of a whole store also contains its signals and schedules, and the
 * delayed messages of sessions that have not begun. Nothing is redacted: the export contains everything that the store contains, including
 * keys and passwords.
 *
 * First stop the processes that drive the sessions. A session that is running, or that changes during the export, ends the export with
 * `session_busy`.
 *
 * @throws PawlError `no_session`, `session_busy`; `bad_input` if a session was started by another one, which must be named instead;
 * `store_corrupt` if a blob is missing
 */
export async function* exportSessions(
  store: Store,
  options: ExportOptions = {},
): AsyncGenerator<string, void, undefined> {
  checkOptions("exportSessions()", rules, options);
  const { sessionIds, signal } = options;
  const written = new Map<string, string>();
  let sum = "";
  const write = (line: Line): string => {
    signal?.throwIfAborted();
    const text = formatLine(line);
    sum = chainSum(sum, text);
    return `${text}\n`;
  };
  yield write({ type: "pawl_sessions", version: exportVersion, format: formatVersion });
  for await (const summary of sessionIds === undefined ? listSessions(store) : listNamedSessions(store, sessionIds)) {
    if (written.has(summary.sessionId)) continue;
    written.set(summary.sessionId, markOf(summary));
    for await (const line of exportSession(store, summary)) yield write(line);
  }
  if (sessionIds === undefined) {
    for await (const signal of listSignals(store)) yield write({ type: "signal", signal });
    for await (const row of listSchedules(store, {})) yield write({ type: "schedule", row });
    // Only for sessions that have not begun: the others were exported with their delayed messages.
    for await (const row of listSchedules(store, { isDelayed: true }))
      if (row.sessionId !== undefined && !written.has(row.sessionId)) yield write({ type: "delayed", row });
    await checkAllSessions(store, written);
  } else for (const [sessionId, mark] of written) await checkUnchanged(store, sessionId, mark);
  yield `${formatLine({ type: "end", sessions: written.size, sum } satisfies EndLine)}\n`;
}

async function* listSessions(store: Store, parent?: string): AsyncGenerator<SessionSummary> {
  let after: { readonly updatedAt: number; readonly sessionId: string } | undefined;
  for (;;) {
    const sessions = await store.list({
      limit: pageSize,
      ...(after === undefined ? {} : { after }),
      ...(parent === undefined ? {} : { parent }),
    });
    yield* sessions;
    after = sessions.at(-1);
    if (after === undefined || sessions.length < pageSize) return;
  }
}

/** The signals that are kept for waits that begin later. They belong to no session. */
async function* listSignals({ signals }: Store): AsyncGenerator<Signal> {
  const now = Date.now();
  for (let after: Signal | undefined; signals !== undefined; ) {
    const page = await signals.list(now, { limit: pageSize, ...defined({ after }) });
    yield* page;
    after = page.at(-1);
    if (page.length < pageSize) return;
  }
}

/** The schedules of the store, or delayed messages. @throws PawlError `store_corrupt` */
async function* listSchedules(
  { schedules }: Store,
  options: { readonly sessionId?: string; readonly isDelayed?: boolean },
): AsyncGenerator<ScheduleRow> {
  for (let after = ""; schedules !== undefined; ) {
    const page = await schedules.list({ after, limit: pageSize, ...options });
    for (const { error } of page) if (error !== undefined) throw error;
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return;
    after = last.id;
  }
}

/** The named sessions and all of their descendants. */
async function* listNamedSessions(store: Store, sessionIds: readonly string[]): AsyncGenerator<SessionSummary> {
  for (const sessionId of sessionIds) {
    const summary = await store.describe(sessionId);
    if (summary === null) throw new PawlError("no_session", `There is no session ${sessionId} to export.`);
    const parent = summary.info?.parent?.sessionId;
    if (parent !== undefined && (await store.describe(parent)) !== null)
      throw new PawlError(
        "bad_input",
        `Session ${sessionId} was started by session ${parent}. Export ${parent}: the sessions that it has started are included.`,
      );
    yield* walkFamily(store, summary);
  }
}

async function* walkFamily(store: Store, ancestor: SessionSummary): AsyncGenerator<SessionSummary> {
  const visited = new Set([ancestor.sessionId]);
  const pending = [ancestor];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    yield next;
    for await (const child of listSessions(store, next.sessionId)) {
      // A damaged list could contain a cycle.
      if (visited.has(child.sessionId)) continue;
      visited.add(child.sessionId);
      pending.push(child);
    }
  }
}

/** A session that changed while the pages of the list were read may have been on none of them. */
async function checkAllSessions(store: Store, written: ReadonlyMap<string, string>): Promise<void> {
  for await (const session of listSessions(store))
    if (markOf(session) !== written.get(session.sessionId)) throw changedError(session.sessionId);
}

async function checkUnchanged(store: Store, sessionId: string, mark: string): Promise<void> {
  const session = await store.describe(sessionId);
  if (session === null || markOf(session) !== mark) throw changedError(sessionId);
}

/** Differs if the log or the inbox has changed, or if the session was deleted and created again. */
function markOf({ createdAt, seq, inbox }: SessionSummary): string {
  return `${createdAt}/${seq}/${inbox}`;
}

async function* exportSession(store: Store, summary: SessionSummary): AsyncGenerator<Line> {
  const { sessionId, createdAt, updatedAt, seq, activity, holder } = summary;
  if (activity === "active" && holder !== null && !isHolderDead(holder))
    throw new PawlError(
      "session_busy",
      `Session ${sessionId} is running in process ${holder.pid} on ${holder.host}. Wait for it, or stop it, then export again.`,
    );
  yield { type: "session", sessionId, createdAt, updatedAt, entries: seq };
  const written = new Set<string>();
  for await (const entry of readEntries(store, sessionId, seq)) {
    for (const hash of blobsOf(entry.event)) yield* exportBlob(store, sessionId, hash, written);
    yield entry;
  }
  if (seq > 0) {
    const last = await store.load(sessionId);
    if (last?.seq !== seq) throw changedError(sessionId);
    yield { type: "state", state: last.state };
  }
  yield* exportInbox(store, sessionId, written);
  for await (const row of listSchedules(store, { sessionId })) yield { type: "delayed", row };
  await checkUnchanged(store, sessionId, markOf(summary));
}

async function* readEntries(store: Store, sessionId: string, last: number): AsyncGenerator<Entry> {
  for (let after = 0; after < last; ) {
    const entries = await store.read(sessionId, after, Math.min(pageSize, last - after));
    yield* entries;
    after = entries.at(-1)?.seq ?? last;
  }
}

async function* exportInbox(store: Store, sessionId: string, written: Set<string>): AsyncGenerator<Line> {
  // Reads the ids first: a message that is consumed between the two reads is then correctly among the ids.
  const messageIds: string[] = [];
  for (;;) {
    const after = messageIds.at(-1);
    const ids = await store.messageIds(sessionId, { limit: maxIdsPerLine, ...(after === undefined ? {} : { after }) });
    messageIds.push(...ids);
    if (ids.length < maxIdsPerLine) break;
  }
  const inbox = await store.inbox(sessionId);
  const pending = new Set(inbox.map(({ id }) => id));
  for (const message of inbox) {
    const read = (hash: string) => readBlob(store, sessionId, hash);
    for (const hash of await listMessageBlobs(message, read)) yield* exportBlob(store, sessionId, hash, written);
    yield { type: "message", message };
  }
  const consumed = messageIds.filter((id) => !pending.has(id));
  for (let start = 0; start < consumed.length; start += maxIdsPerLine)
    yield { type: "taken", ids: consumed.slice(start, start + maxIdsPerLine) };
}

async function* exportBlob(store: Store, sessionId: string, hash: string, written: Set<string>): AsyncGenerator<Line> {
  if (written.has(hash)) return;
  written.add(hash);
  const bytes = await readBlob(store, sessionId, hash);
  let start = 0;
  do {
    const chunk = bytes.subarray(start, start + maxBlobPartBytes);
    const base64 = encodeBase64(chunk);
    yield { type: "blob", hash, bytes: bytes.length, base64 };
    start += maxBlobPartBytes;
  } while (start < bytes.length);
}

async function readBlob(store: Store, sessionId: string, hash: string): Promise<Uint8Array> {
  const bytes = await store.getBlob(sessionId, hash);
  if (bytes !== null) return bytes;
  throw new PawlError(
    "store_corrupt",
    `Session ${sessionId} refers to the blob ${hash}, which is missing from the store. Restore the store from a backup.`,
  );
}

function changedError(sessionId: string): PawlError {
  return new PawlError(
    "session_busy",
    `Session ${sessionId} changed during the export. Stop the process that drives it, then export again.`,
  );
}

/**
 * Lists the blobs that an inbox message refers to. A history is stored in blobs, whose messages may refer to more blobs.
 * @param read returns the bytes of a blob
 */
async function listMessageBlobs(
  { body }: InboxMessage,
  read: (hash: string) => Promise<Uint8Array>,
): Promise<readonly string[]> {
  if (body.type === "result")
    return [body.output, body.returned].flatMap((output) => (output === undefined ? [] : blobsOfOutput(output)));
  if (body.type === "answer" && body.answer.type === "result") return blobsOfOutput(body.answer.output);
  if (!("history" in body) || body.history === undefined) return [];
  const hashes: string[] = [];
  for (const part of body.history.parts) {
    if (typeof part !== "string") hashes.push(...listBlobs(part));
    else hashes.push(part, ...listBlobs(JSON.parse(new TextDecoder().decode(await read(part))) as readonly Message[]));
  }
  return hashes;
}

function listBlobs(messages: readonly Message[]): readonly string[] {
  return blobsOf({ type: "history_added", messages, source: "pawl", at: 0 });
}
