/**
 * Sessions as lines of text: a complete copy, which `importSessions` puts into another store.
 *
 * Nothing is written to the store, and nothing is locked. So each session is looked at again after its last line: if it has changed
 * meanwhile, the export fails, and what was given of it has no end.
 */
import { aList, anObject, checkOptions, type OptionTable } from "../../check-options.js";
import type { Entry } from "../../core/machine/event.js";
import { formatVersion } from "../../core/machine/state.js";
import { blobsOf } from "../../core/transcript/blob-references.js";
import { PawlError } from "../../errors.js";
import { base64Of } from "../../platform/bytes.js";
import { isHolderDead } from "../../platform/holder.js";
import type { SessionSummary, Store } from "../../ports/store.js";
import { bytesInPart, type EndLine, exportVersion, idsInLine, type Line, nextSum, textOf } from "./lines.js";
import { blobsOfMessage } from "./message-blobs.js";

/** Which sessions are exported. */
export type ExportOptions = {
  /** These sessions, with all sessions that they have started. Default: every session of the store. */
  readonly sessionIds?: readonly string[];
  /** Ends the export with an `AbortError`. */
  readonly signal?: AbortSignal;
};

const rules: OptionTable<ExportOptions> = { sessionIds: aList, signal: anObject };

/** How many sessions or entries are read at once. */
const page = 100;

/**
 * A complete copy of sessions as text, line by line, each with its line break: logs, inboxes, blobs, and the sessions that they have
 * started. Nothing is redacted: it holds what the store holds, keys and passwords too.
 *
 * Stop what drives the sessions first. A session that is running, or that changes meanwhile, ends the export with `session_busy`.
 *
 * @throws PawlError `no_session`, `session_busy`; `bad_input` if a session was started by another one, which has to be named instead;
 *   `store_corrupt` if a blob is missing
 */
export async function* exportSessions(
  store: Store,
  options: ExportOptions = {},
): AsyncGenerator<string, void, undefined> {
  checkOptions("exportSessions()", rules, options);
  const { sessionIds, signal } = options;
  const given = new Set<string>();
  let sum = "";
  const write = (line: Line): string => {
    signal?.throwIfAborted();
    const text = textOf(line);
    sum = nextSum(sum, text);
    return `${text}\n`;
  };
  yield write({ type: "pawl_sessions", version: exportVersion, format: formatVersion });
  for await (const summary of sessionIds === undefined ? everySession(store) : namedSessions(store, sessionIds)) {
    if (given.has(summary.sessionId)) continue;
    given.add(summary.sessionId);
    for await (const line of linesOfSession(store, summary)) yield write(line);
  }
  if (sessionIds === undefined) await checkNoneIsNew(store, given);
  yield `${textOf({ type: "end", sessions: given.size, sum } satisfies EndLine)}\n`;
}

async function* everySession(store: Store, parent?: string): AsyncGenerator<SessionSummary> {
  let after: { readonly updatedAt: number; readonly sessionId: string } | undefined;
  for (;;) {
    const found = await store.list({
      limit: page,
      ...(after === undefined ? {} : { after }),
      ...(parent === undefined ? {} : { parent }),
    });
    yield* found;
    after = found.at(-1);
    if (after === undefined || found.length < page) return;
  }
}

/** The sessions, and those that they have started, and so on. */
async function* namedSessions(store: Store, sessionIds: readonly string[]): AsyncGenerator<SessionSummary> {
  for (const sessionId of sessionIds) {
    const summary = await store.describe(sessionId);
    if (summary === null) throw new PawlError("no_session", `There is no session ${sessionId} to export.`);
    const parent = summary.info?.parent?.sessionId;
    if (parent !== undefined && (await store.describe(parent)) !== null)
      throw new PawlError(
        "bad_input",
        `Session ${sessionId} was started by session ${parent}. Export ${parent}: the sessions that it has started go with it.`,
      );
    yield* withChildren(store, summary);
  }
}

async function* withChildren(store: Store, top: SessionSummary): AsyncGenerator<SessionSummary> {
  const seen = new Set([top.sessionId]);
  const left = [top];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    yield next;
    for await (const child of everySession(store, next.sessionId)) {
      // A damaged list could lead in a circle.
      if (seen.has(child.sessionId)) continue;
      seen.add(child.sessionId);
      left.push(child);
    }
  }
}

/** A session that changed while pages of the list were read may have been on none of them. */
async function checkNoneIsNew(store: Store, given: ReadonlySet<string>): Promise<void> {
  for await (const { sessionId } of everySession(store)) if (!given.has(sessionId)) throw changed(sessionId);
}

async function* linesOfSession(store: Store, summary: SessionSummary): AsyncGenerator<Line> {
  const { sessionId, createdAt, updatedAt, seq, activity, holder } = summary;
  if (activity === "active" && holder !== null && !isHolderDead(holder))
    throw new PawlError(
      "session_busy",
      `Session ${sessionId} is running in process ${holder.pid} on ${holder.host}. Wait for it, or stop it, then export again.`,
    );
  yield { type: "session", sessionId, createdAt, updatedAt, entries: seq };
  const given = new Set<string>();
  for await (const entry of entriesUpTo(store, sessionId, seq)) {
    for (const hash of blobsOf(entry.event)) yield* linesOfBlob(store, sessionId, hash, given);
    yield entry;
  }
  if (seq > 0) {
    const last = await store.load(sessionId);
    if (last?.seq !== seq) throw changed(sessionId);
    yield { type: "state", state: last.state };
  }
  yield* linesOfInbox(store, sessionId, given);
  const after = await store.describe(sessionId);
  if (after === null || after.seq !== seq || after.createdAt !== createdAt) throw changed(sessionId);
}

async function* entriesUpTo(store: Store, sessionId: string, last: number): AsyncGenerator<Entry> {
  for (let after = 0; after < last; ) {
    const entries = await store.read(sessionId, after, Math.min(page, last - after));
    yield* entries;
    after = entries.at(-1)?.seq ?? last;
  }
}

async function* linesOfInbox(store: Store, sessionId: string, given: Set<string>): AsyncGenerator<Line> {
  // The ids come first: a message that is consumed between both is then among the ids, as it should be.
  const taken: string[] = [];
  for (;;) {
    const after = taken.at(-1);
    const ids = await store.messageIds(sessionId, { limit: idsInLine, ...(after === undefined ? {} : { after }) });
    taken.push(...ids);
    if (ids.length < idsInLine) break;
  }
  const inbox = await store.inbox(sessionId);
  const left = new Set(inbox.map(({ id }) => id));
  for (const message of inbox) {
    const read = (hash: string) => blobOf(store, sessionId, hash);
    for (const hash of await blobsOfMessage(message, read)) yield* linesOfBlob(store, sessionId, hash, given);
    yield { type: "message", message };
  }
  const consumed = taken.filter((id) => !left.has(id));
  for (let start = 0; start < consumed.length; start += idsInLine)
    yield { type: "taken", ids: consumed.slice(start, start + idsInLine) };
}

async function* linesOfBlob(store: Store, sessionId: string, hash: string, given: Set<string>): AsyncGenerator<Line> {
  if (given.has(hash)) return;
  given.add(hash);
  const bytes = await blobOf(store, sessionId, hash);
  let start = 0;
  do {
    const part = bytes.subarray(start, start + bytesInPart);
    const base64 = base64Of(part);
    yield { type: "blob", hash, bytes: bytes.length, base64 };
    start += bytesInPart;
  } while (start < bytes.length);
}

async function blobOf(store: Store, sessionId: string, hash: string): Promise<Uint8Array> {
  const bytes = await store.getBlob(sessionId, hash);
  if (bytes !== null) return bytes;
  throw new PawlError(
    "store_corrupt",
    `Session ${sessionId} names the blob ${hash}, which is missing in the store. Restore the store from a backup.`,
  );
}

function changed(sessionId: string): PawlError {
  return new PawlError(
    "session_busy",
    `Session ${sessionId} has changed while it was exported. Stop what drives it, then export again.`,
  );
}
