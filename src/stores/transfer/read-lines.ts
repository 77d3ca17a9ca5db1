/**
 * Reads the lines of an export, and checks each as if a stranger had written it: what passes can be written to any store.
 *
 * 1. A line is bounded and parsed in linear time, and nothing in it is used before it was checked.
 * 2. The log is folded on the way. It must lead to the state that the export names.
 * 3. An entry names no blob that the session does not have, and a blob matches its hash.
 * 4. The sum at the end tells whether anything was changed, lost or moved on the way.
 */
import { isSameJson, parseJson } from "../../core/data/json.js";
import type { Json } from "../../core/data/message.js";
import type { Entry, Event } from "../../core/machine/event.js";
import type { InboxMessage } from "../../core/machine/inbox.js";
import { initialState, type State } from "../../core/machine/state.js";
import { transition } from "../../core/machine/transition.js";
import { blobsOf } from "../../core/transcript/blob-references.js";
import { PawlError } from "../../errors.js";
import { bytesOfBase64 } from "../../platform/bytes.js";
import { checkId, hashOf } from "../shared/rules.js";
import { encodeEvents, encodeMessage, encodeState, maxEntryDepth } from "../shared/storable.js";
import { checkFormat, decodeEntries, decodeMessage, decodeState, type RowPosition } from "../shared/validate.js";
import { exportVersion, idsInLine, longestLine, nextSum } from "./lines.js";

/** What an export holds, in order. Everything of a session stands between its `session` and its `closed`. */
export type Item =
  | { readonly type: "session"; readonly session: SessionHead }
  | { readonly type: "blob"; readonly bytes: Uint8Array }
  /** `state` is the state after the entry. `size` is the length of its line. */
  | { readonly type: "entry"; readonly entry: Entry; readonly state: State; readonly size: number }
  /** The log is complete. Its state is as the store had it; null if the log is empty. */
  | { readonly type: "log_end"; readonly state: State | null }
  | { readonly type: "message"; readonly message: InboxMessage }
  | { readonly type: "taken"; readonly ids: readonly string[] }
  | { readonly type: "closed" }
  | { readonly type: "end"; readonly sum: string };

export type SessionHead = {
  readonly sessionId: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly entries: number;
};

type Plain = { readonly [name: string]: unknown };

/** The session that is being read. */
type Reading = {
  readonly head: SessionHead;
  state: State;
  isLogComplete: boolean;
  /** The blobs that it has. */
  readonly blobs: Set<string>;
  /** The ids of its messages. */
  readonly ids: Set<string>;
  /** A blob whose parts are not all there. */
  open: OpenBlob | null;
};
type OpenBlob = { readonly hash: string; readonly bytes: number; readonly parts: Uint8Array[]; length: number };

type Reader = {
  line: number;
  sum: string;
  hasHead: boolean;
  hasEnd: boolean;
  session: Reading | null;
  readonly sessions: Set<string>;
};

/** @throws PawlError `bad_input`, with the number of the line; `newer_format`, `older_format` */
export async function* itemsOf(lines: AsyncIterable<string>): AsyncGenerator<Item> {
  const reader: Reader = { line: 0, sum: "", hasHead: false, hasEnd: false, session: null, sessions: new Set() };
  for await (const text of lines) {
    reader.line += 1;
    if (reader.hasEnd) throw bad(reader, "something stands behind the end of the export");
    yield* itemsIn(reader, text);
    reader.sum = nextSum(reader.sum, text);
  }
  if (!reader.hasEnd) throw bad(reader, "the export ends here, before its last line: it is not complete");
}

function* itemsIn(reader: Reader, text: string): Generator<Item> {
  const parsed = parseJson(text, { maxBytes: 3 * longestLine, maxDepth: maxEntryDepth + 2 });
  if (!parsed.ok) throw bad(reader, `its JSON is ${parsed.error}`);
  const line = objectIn(reader, parsed.value);
  if (!reader.hasHead) return readHead(reader, line);
  switch (line.type ?? "entry") {
    case "session":
      yield* endOf(reader);
      yield readSession(reader, line);
      return;
    case "blob":
      yield* readBlob(reader, sessionOf(reader), line);
      return;
    case "entry":
      yield readEntry(reader, sessionOf(reader), line, text.length);
      return;
    case "state":
      yield readState(reader, sessionOf(reader), line);
      return;
    case "message":
      yield* emptyLog(reader, sessionOf(reader));
      yield readMessage(reader, sessionOf(reader), line);
      return;
    case "taken":
      yield* emptyLog(reader, sessionOf(reader));
      yield readTaken(reader, sessionOf(reader), line);
      return;
    case "end":
      yield* endOf(reader);
      yield readEnd(reader, line);
      return;
    default:
      throw bad(reader, "its type is unknown");
  }
}

function readHead(reader: Reader, { type, version, format }: Plain): void {
  if (type !== "pawl_sessions" || typeof version !== "number" || typeof format !== "number")
    throw bad(reader, "it does not begin a complete export of sessions. Export them with --raw");
  if (version > exportVersion)
    throw new PawlError(
      "newer_format",
      `The export has version ${version}, and this version of Pawl reads version ${exportVersion}. Update Pawl.`,
    );
  if (version < exportVersion) throw bad(reader, `there is no export of version ${version}`);
  checkFormat(format, placeOf(reader, "in this export", 0));
  reader.hasHead = true;
}

function readSession(reader: Reader, { sessionId, createdAt, updatedAt, entries }: Plain): Item {
  if (typeof sessionId !== "string" || !isTime(createdAt) || !isTime(updatedAt) || !isCount(entries))
    throw bad(reader, "it does not describe a session");
  checked(reader, () => checkId("session", sessionId));
  if (reader.sessions.has(sessionId)) throw bad(reader, `session ${sessionId} is there twice`);
  reader.sessions.add(sessionId);
  const head = { sessionId, createdAt, updatedAt, entries };
  const begun = { isLogComplete: false, blobs: new Set<string>(), ids: new Set<string>(), open: null };
  reader.session = { head, state: initialState, ...begun };
  return { type: "session", session: head };
}

function* endOf(reader: Reader): Generator<Item> {
  const { session } = reader;
  if (session === null) return;
  yield* emptyLog(reader, session);
  if (session.open !== null) throw bad(reader, "a part of a blob is missing before it");
  reader.session = null;
  yield { type: "closed" };
}

/** A log without entries has no state. */
function* emptyLog(reader: Reader, session: Reading): Generator<Item> {
  if (session.isLogComplete) return;
  if (session.head.entries > 0)
    throw bad(reader, `the log of session ${session.head.sessionId} is not complete before it`);
  session.isLogComplete = true;
  yield { type: "log_end", state: null };
}

function* readBlob(reader: Reader, session: Reading, { hash, bytes, base64 }: Plain): Generator<Item> {
  if (typeof hash !== "string" || !isCount(bytes) || typeof base64 !== "string")
    throw bad(reader, "it is no part of a blob");
  session.open ??= { hash, bytes, parts: [], length: 0 };
  const { open } = session;
  if (open.hash !== hash || open.bytes !== bytes) throw bad(reader, "a part of another blob is missing before it");
  const part = bytesOfBase64(base64);
  if (part.length === 0 && bytes > 0) throw bad(reader, "it has no bytes");
  open.parts.push(part);
  open.length += part.length;
  if (open.length < bytes) return;
  const whole = joined(open);
  if (open.length > bytes || hashOf(whole) !== hash) throw bad(reader, "the blob does not match its hash");
  session.open = null;
  session.blobs.add(hash);
  yield { type: "blob", bytes: whole };
}

function joined({ parts, length }: OpenBlob): Uint8Array {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function readEntry(reader: Reader, session: Reading, line: Plain, size: number): Item {
  const { head, state: before } = session;
  const seq = before.seq + 1;
  if (session.isLogComplete || session.open !== null || seq > head.entries || line.seq !== seq)
    throw bad(reader, `it is not the entry that should stand here, ${seq} of session ${head.sessionId}`);
  const event = objectIn(reader, line.event) as Event;
  const entry = checked(reader, () => {
    const [decoded] = decodeEntries(encodeEvents([event]), placeOf(reader, head.sessionId, seq));
    for (const hash of blobsOf(event))
      if (!session.blobs.has(hash)) throw bad(reader, `it names the blob ${hash}, which does not stand before it`);
    session.state = transition(before, event);
    return decoded;
  });
  if (entry === undefined || session.state.seq !== seq)
    throw bad(reader, `its event ${event.type} cannot follow the entry before it`);
  return { type: "entry", entry, state: session.state, size };
}

function readState(reader: Reader, session: Reading, line: Plain): Item {
  const { head, state } = session;
  if (session.isLogComplete || session.open !== null || head.entries === 0 || state.seq !== head.entries)
    throw bad(reader, `the log of session ${head.sessionId} is not complete before it`);
  const given = objectIn(reader, line.state) as State;
  const stored = checked(reader, () => decodeState(encodeState(given), placeOf(reader, head.sessionId, state.seq)));
  const folded = JSON.parse(encodeState(state)) as Json;
  if (!isSameJson(stored as unknown as Json, folded))
    throw bad(reader, `its state is not the one to which the log of session ${head.sessionId} leads`);
  session.isLogComplete = true;
  return { type: "log_end", state: stored };
}

function readMessage(reader: Reader, session: Reading, line: Plain): Item {
  const given = objectIn(reader, line.message) as InboxMessage;
  const message = checked(reader, () =>
    decodeMessage(encodeMessage(given), placeOf(reader, session.head.sessionId, 0)),
  );
  takeId(reader, session, message.id);
  return { type: "message", message };
}

function readTaken(reader: Reader, session: Reading, { ids }: Plain): Item {
  if (!Array.isArray(ids) || ids.length > idsInLine) throw bad(reader, "it is no list of ids");
  return { type: "taken", ids: ids.map((id: unknown) => takeId(reader, session, id)) };
}

function takeId(reader: Reader, { ids }: Reading, id: unknown): string {
  if (typeof id !== "string") throw bad(reader, "an id is no text");
  checked(reader, () => checkId("message", id));
  if (ids.has(id)) throw bad(reader, `the message ${id} is there twice`);
  ids.add(id);
  return id;
}

function readEnd(reader: Reader, { sessions, sum }: Plain): Item {
  if (sessions !== reader.sessions.size || sum !== reader.sum)
    throw bad(reader, "the export was changed since it was written, or a line is missing: its sum is another");
  reader.hasEnd = true;
  return { type: "end", sum: reader.sum };
}

function sessionOf(reader: Reader): Reading {
  if (reader.session === null) throw bad(reader, "it belongs to no session");
  return reader.session;
}

function objectIn(reader: Reader, value: unknown): Plain {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Plain;
  throw bad(reader, "it has no object where one should be");
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** What a store would call damage is a mistake in the line here. */
function placeOf(reader: Reader, sessionId: string, seq: number): RowPosition {
  return { file: "", sessionId, seq, problem: (what) => bad(reader, what) };
}

/** Any error of a check is one of this line. */
function checked<Result>(reader: Reader, check: () => Result): Result {
  try {
    return check();
  } catch (error) {
    if (error instanceof PawlError && lineErrors.has(error.code)) throw error;
    throw bad(reader, error instanceof Error ? error.message : String(error));
  }
}

const lineErrors: ReadonlySet<string> = new Set(["bad_input", "newer_format", "older_format"]);

function bad({ line }: Pick<Reader, "line">, what: string): PawlError {
  return new PawlError("bad_input", `Line ${line} of the export cannot be imported: ${what}. Nothing was imported.`);
}
