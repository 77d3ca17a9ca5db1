/**
 * Reads the lines of an export, and checks each line as untrusted input: a line that passes can be written to any store.
 *
 * 1. A line is bounded and parsed in linear time, and its content is not used before it was checked.
 * 2. The log is folded on the way. It must lead to the state in the export.
 * 3. An entry refers only to blobs that the session has, and a blob matches its hash.
 * 4. The checksum at the end reveals whether anything was changed, lost or moved.
 */
import { getErrorMessage } from "../../core/data/error-message.js";
import { isObject } from "../../core/data/is-object.js";
import { isSameJson, parseJson } from "../../core/data/json.js";
import type { Json } from "../../core/data/message.js";
import type { Entry, Event } from "../../core/machine/event.js";
import type { InboxMessage } from "../../core/machine/inbox.js";
import { initialState, type State } from "../../core/machine/state.js";
import { transition } from "../../core/machine/transition.js";
import { blobsOf } from "../../core/transcript/blob-references.js";
import { PawlError } from "../../errors.js";
import { decodeBase64 } from "../../platform/bytes.js";
import {
  type DelayedBody,
  isScheduleId,
  type PostedRun,
  type PutRow,
  type ScheduleRow,
  toDelayedId,
} from "../../ports/schedule-store.js";
import { findSignalKeyFault, type Signal } from "../../ports/signal.js";
import { checkFormat, decodeEntries, decodeMessage, decodeState, type RowPosition } from "../shared/decode.js";
import { encodeEvents, encodeMessage, encodeState, maxEntryDepth } from "../shared/encode.js";
import { checkId, hashBlob } from "../shared/rules.js";
import { checkSignal } from "../shared/signal-rows.js";
import { chainSum, exportVersion, maxIdsPerLine, maxLine } from "./lines.js";

/**
 * The items of an export, in order. All items of a session come between its `session` and its `closed`. Signals and schedules do not belong
 * to a session.
 */
export type ExportItem =
  | { readonly type: "session"; readonly session: SessionHead }
  | { readonly type: "blob"; readonly bytes: Uint8Array }
  /** `state` is the state after the entry. `size` is the length of its line. */
  | { readonly type: "entry"; readonly entry: Entry; readonly state: State; readonly size: number }
  /** The log is complete. The state is the one that the store had; null if the log is empty. */
  | { readonly type: "log_end"; readonly state: State | null }
  | { readonly type: "message"; readonly message: InboxMessage }
  | { readonly type: "taken"; readonly ids: readonly string[] }
  | { readonly type: "closed" }
  | { readonly type: "signal"; readonly signal: Signal }
  /** A schedule of the store, or a delayed message of the session. */
  | { readonly type: "schedule"; readonly row: ImportedSchedule }
  | { readonly type: "end"; readonly sum: string };

export type ImportedSchedule = PutRow & Pick<ScheduleRow, "last">;

export type SessionHead = {
  readonly sessionId: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly entries: number;
};

type PlainObject = { readonly [name: string]: unknown };

/** The session that is being read. */
type SessionReader = {
  readonly head: SessionHead;
  state: State;
  isLogComplete: boolean;
  /** The session's blobs. */
  readonly blobs: Set<string>;
  /** The ids of the session's messages. */
  readonly ids: Set<string>;
  /** A blob of which some parts are still missing. */
  open: OpenBlob | null;
};
type OpenBlob = { readonly hash: string; readonly bytes: number; readonly chunks: Uint8Array[]; length: number };

type ExportReader = {
  line: number;
  sum: string;
  hasHead: boolean;
  hasEnd: boolean;
  session: SessionReader | null;
  readonly sessions: Set<string>;
};

/** @throws PawlError `bad_input`, with the line number; `newer_format`, `older_format` */
export async function* readItems(lines: AsyncIterable<string>): AsyncGenerator<ExportItem> {
  const reader: ExportReader = { line: 0, sum: "", hasHead: false, hasEnd: false, session: null, sessions: new Set() };
  for await (const text of lines) {
    reader.line += 1;
    if (reader.hasEnd) throw lineError(reader, "it comes after the end of the export");
    yield* parseLine(reader, text);
    reader.sum = chainSum(reader.sum, text);
  }
  if (!reader.hasEnd) throw lineError(reader, "the export is incomplete, because its last line is missing");
}

function* parseLine(reader: ExportReader, text: string): Generator<ExportItem> {
  const parsed = parseJson(text, { maxBytes: 3 * maxLine, maxDepth: maxEntryDepth + 2 });
  if (!parsed.ok) throw lineError(reader, `its JSON is ${parsed.error}`);
  const line = requireObject(reader, parsed.value);
  if (!reader.hasHead) return readHead(reader, line);
  switch (line.type ?? "entry") {
    case "session":
      yield* closeSession(reader);
      yield readSession(reader, line);
      return;
    case "blob":
      yield* readBlob(reader, requireSession(reader), line);
      return;
    case "entry":
      yield readEntry(reader, requireSession(reader), line, text.length);
      return;
    case "state":
      yield readState(reader, requireSession(reader), line);
      return;
    case "message":
      yield* endEmptyLog(reader, requireSession(reader));
      yield readMessage(reader, requireSession(reader), line);
      return;
    case "taken":
      yield* endEmptyLog(reader, requireSession(reader));
      yield readTaken(reader, requireSession(reader), line);
      return;
    case "delayed":
      yield* readDelayed(reader, line);
      return;
    case "schedule":
      yield* closeSession(reader);
      yield readSchedule(reader, line);
      return;
    case "signal":
      yield* closeSession(reader);
      yield readSignal(reader, line);
      return;
    case "end":
      yield* closeSession(reader);
      yield readEnd(reader, line);
      return;
    default:
      throw lineError(reader, "its type is unknown");
  }
}

function readHead(reader: ExportReader, { type, version, format }: PlainObject): void {
  if (type !== "pawl_sessions" || typeof version !== "number" || typeof format !== "number")
    throw lineError(reader, "it is not the first line of a complete export of sessions. Export them with --raw");
  if (version > exportVersion)
    throw new PawlError(
      "newer_format",
      `The export has version ${version}, and this version of Pawl reads version ${exportVersion}. Update Pawl.`,
    );
  if (version < exportVersion) throw lineError(reader, `version ${version} of an export does not exist`);
  checkFormat(format, positionAt(reader, "in this export", 0));
  reader.hasHead = true;
}

function readSession(reader: ExportReader, { sessionId, createdAt, updatedAt, entries }: PlainObject): ExportItem {
  if (typeof sessionId !== "string" || !isTime(createdAt) || !isTime(updatedAt) || !isCount(entries))
    throw lineError(reader, "it does not describe a session");
  checkLine(reader, () => checkId("session", sessionId));
  if (reader.sessions.has(sessionId)) throw lineError(reader, `session ${sessionId} appears twice`);
  reader.sessions.add(sessionId);
  const head = { sessionId, createdAt, updatedAt, entries };
  const initial = { isLogComplete: false, blobs: new Set<string>(), ids: new Set<string>(), open: null };
  reader.session = { head, state: initialState, ...initial };
  return { type: "session", session: head };
}

function* closeSession(reader: ExportReader): Generator<ExportItem> {
  const { session } = reader;
  if (session === null) return;
  yield* endEmptyLog(reader, session);
  if (session.open !== null) throw lineError(reader, "a part of a blob is missing before this line");
  reader.session = null;
  yield { type: "closed" };
}

/** A log without entries has no state. */
function* endEmptyLog(reader: ExportReader, session: SessionReader): Generator<ExportItem> {
  if (session.isLogComplete) return;
  if (session.head.entries > 0)
    throw lineError(reader, `the log of session ${session.head.sessionId} is not complete before this line`);
  session.isLogComplete = true;
  yield { type: "log_end", state: null };
}

function* readBlob(
  reader: ExportReader,
  session: SessionReader,
  { hash, bytes, base64 }: PlainObject,
): Generator<ExportItem> {
  if (typeof hash !== "string" || !isCount(bytes) || typeof base64 !== "string")
    throw lineError(reader, "it is not a part of a blob");
  session.open ??= { hash, bytes, chunks: [], length: 0 };
  const { open } = session;
  if (open.hash !== hash || open.bytes !== bytes)
    throw lineError(reader, "a part of another blob is missing before this line");
  const chunk = decodeBase64(base64);
  if (chunk.length === 0 && bytes > 0) throw lineError(reader, "it has no bytes");
  open.chunks.push(chunk);
  open.length += chunk.length;
  if (open.length < bytes) return;
  const joinedBytes = joinBlob(open);
  if (open.length > bytes || hashBlob(joinedBytes) !== hash)
    throw lineError(reader, "the blob does not match its hash");
  session.open = null;
  session.blobs.add(hash);
  yield { type: "blob", bytes: joinedBytes };
}

function joinBlob({ chunks, length }: OpenBlob): Uint8Array {
  const joinedBytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    joinedBytes.set(chunk, at);
    at += chunk.length;
  }
  return joinedBytes;
}

function readEntry(reader: ExportReader, session: SessionReader, line: PlainObject, size: number): ExportItem {
  const { head, state: previousState } = session;
  const seq = previousState.seq + 1;
  if (session.isLogComplete || session.open !== null || seq > head.entries || line.seq !== seq)
    throw lineError(reader, `entry ${seq} of session ${head.sessionId} was expected here`);
  const event = requireObject(reader, line.event) as Event;
  const entry = checkLine(reader, () => {
    const [decoded] = decodeEntries(encodeEvents([event]), positionAt(reader, head.sessionId, seq));
    for (const hash of blobsOf(event))
      if (!session.blobs.has(hash))
        throw lineError(reader, `it refers to the blob ${hash}, which does not come before it`);
    session.state = transition(previousState, event);
    return decoded;
  });
  if (entry === undefined || session.state.seq !== seq)
    throw lineError(reader, `its event ${event.type} cannot follow the previous entry`);
  return { type: "entry", entry, state: session.state, size };
}

function readState(reader: ExportReader, session: SessionReader, line: PlainObject): ExportItem {
  const { head, state } = session;
  if (session.isLogComplete || session.open !== null || head.entries === 0 || state.seq !== head.entries)
    throw lineError(reader, `the log of session ${head.sessionId} is not complete before this line`);
  const parsed = requireObject(reader, line.state) as State;
  const stored = checkLine(reader, () =>
    decodeState(encodeState(parsed), positionAt(reader, head.sessionId, state.seq)),
  );
  const folded = JSON.parse(encodeState(state)) as Json;
  if (!isSameJson(stored as unknown as Json, folded))
    throw lineError(reader, `its state differs from the state to which the log of session ${head.sessionId} leads`);
  session.isLogComplete = true;
  return { type: "log_end", state: stored };
}

function readMessage(reader: ExportReader, session: SessionReader, line: PlainObject): ExportItem {
  const parsed = requireObject(reader, line.message) as InboxMessage;
  const message = checkLine(reader, () =>
    decodeMessage(encodeMessage(parsed), positionAt(reader, session.head.sessionId, 0)),
  );
  recordId(reader, session, message.id);
  return { type: "message", message };
}

function readTaken(reader: ExportReader, session: SessionReader, { ids }: PlainObject): ExportItem {
  if (!Array.isArray(ids) || ids.length > maxIdsPerLine) throw lineError(reader, "it is not a list of ids");
  return { type: "taken", ids: ids.map((id: unknown) => recordId(reader, session, id)) };
}

function recordId(reader: ExportReader, { ids }: SessionReader, id: unknown): string {
  if (typeof id !== "string") throw lineError(reader, "an id is not a string");
  checkLine(reader, () => checkId("message", id));
  if (ids.has(id)) throw lineError(reader, `the message ${id} appears twice`);
  ids.add(id);
  return id;
}

function readSignal(reader: ExportReader, line: PlainObject): ExportItem {
  const signal = checkLine(reader, () => {
    const checked = checkSignal(requireObject(reader, line.signal), positionAt(reader, "", 0));
    checkId("message", checked.id);
    const fault = findSignalKeyFault(checked.key);
    if (fault !== undefined) throw lineError(reader, fault);
    return checked;
  });
  return { type: "signal", signal };
}

/** Reads a schedule. Only the engine can tell whether it is valid: a worker reports a schedule that it cannot fire. */
function readSchedule(reader: ExportReader, line: PlainObject): ExportItem {
  const { id, slot, dueAt, body, last } = requireObject(reader, line.row);
  if (!isScheduleId(id) || !isSlot(slot) || !isSlot(dueAt)) throw lineError(reader, "it is not a schedule");
  const row = { id, rev: 1, slot, dueAt, body: requireObject(reader, body) as Json };
  return { type: "schedule", row: last === undefined ? row : { ...row, last: readPostedRun(reader, last) } };
}

function readPostedRun(reader: ExportReader, last: unknown): PostedRun {
  const { slot, sessionId, runId } = requireObject(reader, last);
  if (!isTime(slot) || typeof sessionId !== "string" || typeof runId !== "string")
    throw lineError(reader, "its last run is not one");
  checkLine(reader, () => {
    checkId("session", sessionId);
    checkId("message", runId);
  });
  return { slot, sessionId, runId };
}

/** Reads a delayed message of the preceding session, or of a session that has not begun. */
function* readDelayed(reader: ExportReader, line: PlainObject): Generator<ExportItem> {
  const { id, slot, dueAt, body, sessionId } = requireObject(reader, line.row);
  const { message } = requireObject(reader, body) as { readonly message?: DelayedBody["message"] };
  if (typeof sessionId !== "string" || message?.type !== "input" || !isSlot(slot) || !isSlot(dueAt))
    throw lineError(reader, "it is not a delayed message");
  checkLine(reader, () => checkId("session", sessionId));
  if (id !== toDelayedId(sessionId, message.runId))
    throw lineError(reader, "it is a delayed message of another session");
  if (reader.session?.head.sessionId === sessionId) yield* endEmptyLog(reader, reader.session);
  else if (reader.sessions.has(sessionId)) throw lineError(reader, "its session ends before this line");
  else yield* closeSession(reader);
  checkLine(reader, () =>
    decodeMessage(
      encodeMessage({ id: `run/${message.runId}`, at: slot ?? 0, body: message }),
      positionAt(reader, sessionId, 0),
    ),
  );
  const row = { id, rev: 1, slot, dueAt, body: { message } as unknown as Json, sessionId };
  yield { type: "schedule", row };
}

function isSlot(value: unknown): value is number | null {
  return value === null || isTime(value);
}

function readEnd(reader: ExportReader, { sessions, sum }: PlainObject): ExportItem {
  if (sessions !== reader.sessions.size || sum !== reader.sum)
    throw lineError(reader, "its checksum does not match: the export was changed, or a line is missing");
  reader.hasEnd = true;
  return { type: "end", sum: reader.sum };
}

function requireSession(reader: ExportReader): SessionReader {
  if (reader.session === null) throw lineError(reader, "it does not belong to a session");
  return reader.session;
}

function requireObject(reader: ExportReader, value: unknown): PlainObject {
  if (isObject(value)) return value;
  throw lineError(reader, "an object is missing in it");
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** A position at which damage is reported as a mistake in the line, not in a store. */
function positionAt(reader: ExportReader, sessionId: string, seq: number): RowPosition {
  return { file: "", sessionId, seq, createError: (problem) => lineError(reader, problem) };
}

/** Turns any error of a check into an error about this line. */
function checkLine<Result>(reader: ExportReader, check: () => Result): Result {
  try {
    return check();
  } catch (error) {
    if (error instanceof PawlError && lineErrorCodes.has(error.code)) throw error;
    throw lineError(reader, getErrorMessage(error));
  }
}

const lineErrorCodes: ReadonlySet<string> = new Set(["bad_input", "newer_format", "older_format"]);

function lineError({ line }: Pick<ExportReader, "line">, problem: string): PawlError {
  return new PawlError("bad_input", `Line ${line} of the export cannot be imported: ${problem}. Nothing was imported.`);
}
