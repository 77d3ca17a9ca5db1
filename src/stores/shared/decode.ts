/**
 * Validates everything that comes from a database before any other code sees it: it must be bounded, plain, and have the structure that
 * this version writes. Nothing is revived or evaluated. Damage is `store_corrupt`; rows of a later version are `newer_format`.
 */

import { isObject } from "../../core/data/is-object.js";
import { parseJson } from "../../core/data/json.js";
import type { Entry, Event, EventType } from "../../core/machine/event.js";
import type { InboxBody, InboxMessage } from "../../core/machine/inbox.js";
import { formatVersion, oldestFormat, type SessionInfo, type State, type Status } from "../../core/machine/state.js";
import type { SessionOverview } from "../../core/view/session-overview.js";
import { PawlError } from "../../errors.js";
import type { Holder } from "../../ports/store.js";
import { checksumOf, checksumPrefixOf } from "./checksum.js";
import { maxEntryDepth } from "./encode.js";

/** The maximum size of a JSON string to parse, in bytes. No commit writes larger ones. */
const maxTextBytes = 256 * 1024 * 1024;

type FieldKind = "string" | "number" | "object" | "array" | "string or null" | "number or null" | "object or null";
type FieldTable = { readonly [field: string]: FieldKind };
type PlainObject = { readonly [field: string]: unknown };

const runEventFields: FieldTable = { runId: "string" };
const stepEventFields: FieldTable = { runId: "string", modelCallIndex: "number" };
const callEventFields: FieldTable = { runId: "string", callKey: "string" };
const toolStepEventFields: FieldTable = { ...callEventFields, attempt: "number", step: "string" };

/** The fields that each event must have. Code that reads an event checks the rest. */
const eventFields: { readonly [Type in EventType]: FieldTable } = {
  session_created: { v: "number", agent: "string", model: "string" },
  run_started: { ...runEventFields, limits: "object" },
  run_queued: { ...runEventFields, limits: "object", input: "array" },
  steered: { input: "array", source: "string" },
  prepared: { ...stepEventFields, contextSeq: "number", purpose: "string" },
  compaction_started: {},
  compacted: {},
  model_finished: { ...stepEventFields, attempt: "number", message: "object", finishReason: "object", usage: "object" },
  model_failed: { ...stepEventFields, attempt: "number", failure: "object", next: "object" },
  timer_fired: { ...runEventFields, timer: "string" },
  tool_decided: { ...callEventFields, decision: "object" },
  tool_waiting: { ...callEventFields, on: "string" },
  tool_finished: { ...callEventFields, outcome: "string" },
  answered: { ...callEventFields, answerId: "string", answer: "object" },
  abort_requested: runEventFields,
  restarted: { ...runEventFields, holder: "string" },
  late_result: { callKey: "string", outcome: "string" },
  run_finished: { ...runEventFields, reason: "string" },
  after_run_hooks_called: runEventFields,
  parent_notified: runEventFields,
  migrated: { from: "number", state: "object" },
  child_waiting: { ...callEventFields, childId: "string", askedAt: "number or null", childSeq: "number" },
  parent_told: { ...runEventFields, askedAt: "number or null", toldSeq: "number" },
  tool_step_started: toolStepEventFields,
  tool_step_finished: { ...toolStepEventFields, outcome: "string" },
  tool_asked: { ...toolStepEventFields, message: "string" },
  tool_failed: { ...callEventFields, attempt: "number", fault: "object", retryInMs: "number" },
  handed_off: { ...callEventFields, from: "string", to: "string" },
  history_added: { messages: "array", source: "string" },
  data_changed: { patch: "object" },
  session_changed: {},
  content_redacted: { entries: "array" },
  rules_changed: {},
  compaction_requested: {},
  process_started: { processId: "string", callKey: "string", pid: "number", startedAt: "number" },
  process_finished: { processId: "string", outcome: "string" },
  files_restoring: { restoreId: "string", direction: "string", files: "array" },
  files_restored: { restoreId: "string", restored: "array", conflicts: "array" },
};

const bodyFields: { readonly [Type in InboxBody["type"]]: FieldTable } = {
  input: { mode: "string", runId: "string", input: "array", session: "object" },
  answer: { callKey: "string", answer: "object" },
  result: { callKey: "string", output: "object" },
  abort: {},
  history: { history: "object", session: "object" },
  child: { callKey: "string", childId: "string", askedAt: "number or null", seq: "number" },
  data: { patch: "object" },
  session_change: { title: "string" },
  rules_change: {},
  compaction_request: {},
};

const runFields: FieldTable = {
  runId: "string",
  startedAt: "number",
  startSeq: "number",
  limits: "object",
  modelCallIndex: "number",
  attempt: "number",
  counters: "object",
  usage: "object",
  restarts: "number",
  waitedMs: "number",
  fallback: "number",
  failing: "object or null",
  compactionsInRow: "number",
  stopping: "object or null",
};

const callsFields: FieldTable = { ...runFields, calls: "array", cut: "string or null", doneSeq: "number or null" };

/** The fields that a state of each status must have, in addition to `stateFields`. */
const statusFields: { readonly [Name in Status]: FieldTable } = {
  idle: {},
  preparing: { ...runFields, for: "string" },
  model_running: { ...runFields, purpose: "string", contextSeq: "number", backoff: "object or null" },
  tool_running: callsFields,
  awaiting_human: { ...callsFields, since: "number" },
  completed: { ...runFields, reason: "string" },
  failed: { ...runFields, reason: "string" },
  aborted: { ...runFields, reason: "string" },
};

const stateFields: FieldTable = { seq: "number", queue: "array", interrupted: "array", context: "object" };
const infoFields: FieldTable = { agent: "string", model: "string" };
const callFields: FieldTable = { callKey: "string", name: "string", inputSeq: "number", status: "string" };

/** The location of a row in a store, for error messages. */
export type RowPosition = {
  readonly file: string;
  readonly sessionId: string;
  readonly seq: number;
  /** Creates the error, if the data does not come from a store. */
  readonly createError?: (detail: string) => PawlError;
};

export function isStatus(text: string): text is Status {
  return Object.hasOwn(statusFields, text);
}

/** Checks the format of a row. This must happen before anything else in the row is read. */
export function checkFormat(v: number, position: RowPosition): void {
  if (v > formatVersion)
    throw new PawlError(
      "newer_format",
      `Session ${position.sessionId} was written in format ${v} by a later version of Pawl; this one reads up to ${formatVersion}. Update Pawl to continue it.`,
    );
  if (v < oldestFormat)
    throw new PawlError(
      "older_format",
      `Session ${position.sessionId} was written in format ${v}, before the first release of Pawl; this version reads format ${oldestFormat} and later. Finish it with the version that wrote it, or delete it.`,
    );
}

/** Returns the text. Throws if it was changed since it was written. */
export function verifyChecksum(text: string, checksum: number | null, position: RowPosition): string {
  if (checksumOf(text) !== checksum) throw checksumError(position);
  return text;
}

/** The same for a column of a commit, whose checksum also covers the session and the last entry. */
export function verifyCommitChecksum(text: string, checksum: number | null, position: RowPosition): string {
  if (checksumOf(text, checksumPrefixOf(position.sessionId, position.seq)) !== checksum) throw checksumError(position);
  return text;
}

function checksumError(position: RowPosition): PawlError {
  return corruptError(position, "its content does not match its checksum");
}

/** The entries of a row that ends with `position.seq`. */
export function decodeEntries(text: string, position: RowPosition): readonly Entry[] {
  const events = parseText(text, position);
  if (!Array.isArray(events) || events.length === 0 || events.length > position.seq)
    throw corruptError(position, "its events are not a list that ends at this entry");
  const first = position.seq - events.length + 1;
  return events.map((event: unknown, index) => ({ seq: first + index, event: checkEvent(event, position) }));
}

/** The state after entry `position.seq`. */
export function decodeState(text: string, position: RowPosition): State {
  const state = parseText(text, position);
  if (!isObject(state)) throw corruptError(position, "its state is not an object");
  const { v, seq, status, session, calls } = state;
  if (typeof v !== "number") throw corruptError(position, "its state does not name a format");
  checkFormat(v, position);
  if (typeof status !== "string" || !isStatus(status)) throw corruptError(position, "its state has no known status");
  checkFields(state, stateFields, position, "its state");
  checkFields(state, statusFields[status], position, `its state (${status})`);
  if (seq !== position.seq) throw corruptError(position, `its state belongs to entry ${String(seq)}`);
  if (session !== null) checkFields(session, infoFields, position, "its session");
  if (Array.isArray(calls)) for (const call of calls) checkFields(call, callFields, position, "a call in its state");
  return state as unknown as State;
}

/** The session info, as lists read it. */
export function decodeInfo(text: string, position: RowPosition): SessionInfo {
  const info = parseText(text, position);
  checkFields(info, infoFields, position, "its info");
  return info as unknown as SessionInfo;
}

export function decodeMessage(text: string, position: RowPosition): InboxMessage {
  const message = parseText(text, position);
  checkFields(message, { id: "string", at: "number", body: "object" }, position, "a message in its inbox");
  const { body } = message;
  if (!isObject(body)) throw corruptError(position, "a message in its inbox has no body");
  const { type } = body;
  const fields = typeof type === "string" ? findFields(bodyFields, type) : undefined;
  if (fields === undefined) throw corruptError(position, "a message in its inbox has an unknown type");
  checkFields(body, fields, position, "a message in its inbox");
  return message as unknown as InboxMessage;
}

export function decodeOverview(text: string, position: RowPosition): SessionOverview {
  const overview = parseText(text, position);
  checkFields(overview, { lastRun: "object or null", questions: "number" }, position, "its overview");
  const { lastRun } = overview;
  if (lastRun !== null)
    checkFields(lastRun, { runId: "string", steps: "number", usage: "object" }, position, "the run of its overview");
  return overview as unknown as SessionOverview;
}

export function decodeHolder(text: string, position: RowPosition): Holder {
  const holder = parseText(text, position);
  checkFields(holder, { id: "string", host: "string", pid: "number", startedAt: "number" }, position, "its holder");
  for (const field of ["address", "bootId"])
    if (holder[field] !== undefined && typeof holder[field] !== "string")
      throw corruptError(position, `its holder has an invalid field ${field}`);
  return holder as unknown as Holder;
}

function checkEvent(event: unknown, position: RowPosition): Event {
  if (!isObject(event)) throw corruptError(position, "one of its events is not an object");
  const { type, message } = event;
  const fields = typeof type === "string" ? findFields(eventFields, type) : undefined;
  if (fields === undefined) {
    if (typeof type !== "string") throw corruptError(position, "it has an event without a type");
    throw new PawlError(
      "newer_format",
      `Session ${position.sessionId} has an event ${JSON.stringify(type.slice(0, 100))} at entry ${position.seq}, which this version of Pawl does not know. Update Pawl to read it.`,
    );
  }
  checkFields(event, { at: "number" }, position, `its event ${String(type)}`);
  checkFields(event, fields, position, `its event ${String(type)}`);
  if (event.hooks !== undefined && !Array.isArray(event.hooks))
    throw corruptError(position, `its event ${String(type)} has an invalid field hooks`);
  if (type === "model_finished") checkFields(message, { parts: "array" }, position, "the model's message");
  if ((type === "prepared" || type === "handed_off") && event.messages !== undefined)
    checkReferences(event.messages, position);
  return event as unknown as Event;
}

/** Checks message references. Folding follows them, so damaged ones must be rejected here. */
function checkReferences(refs: unknown, position: RowPosition): void {
  if (!Array.isArray(refs)) throw corruptError(position, "its list of messages is not a list");
  for (const ref of refs) {
    if (Array.isArray(ref) && ref.length === 3 && ref.every((count) => Number.isSafeInteger(count) && count >= 0))
      continue;
    if (isObject(ref) && typeof ref.blob === "string") continue;
    if (
      isObject(ref) &&
      isObject(ref.message) &&
      typeof ref.message.role === "string" &&
      Array.isArray(ref.message.parts) &&
      (ref.seq === undefined || (Number.isSafeInteger(ref.seq) && (ref.seq as number) >= 0))
    )
      continue;
    throw corruptError(position, "its list of messages has an invalid reference");
  }
}

function parseText(text: string, position: RowPosition): unknown {
  // One level more than an entry may have, for the list that contains the entries of a row.
  const result = parseJson(text, { maxBytes: maxTextBytes, maxDepth: maxEntryDepth + 1 });
  if (!result.ok) throw corruptError(position, `its JSON is ${result.error}`);
  return result.value;
}

function checkFields(
  value: unknown,
  fields: FieldTable,
  position: RowPosition,
  detail: string,
): asserts value is PlainObject {
  if (!isObject(value)) throw corruptError(position, `${detail} is not an object`);
  for (const [field, kind] of Object.entries(fields))
    if (!kind.split(" or ").includes(classifyValue(value[field])))
      throw corruptError(position, `${detail} has a missing or invalid field ${field}`);
}

function classifyValue(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return value === null ? "null" : typeof value;
}

function findFields(table: { readonly [type: string]: FieldTable }, type: string): FieldTable | undefined {
  return Object.hasOwn(table, type) ? table[type] : undefined;
}

/** The error for damage in the row that ends with `position.seq` (0 means the session's own row or inbox). */
export function corruptError(position: RowPosition, detail: string): PawlError {
  if (position.createError !== undefined) return position.createError(detail);
  const where = position.seq === 0 ? "" : ` at entry ${position.seq}`;
  return new PawlError(
    "store_corrupt",
    `The store ${position.file} is damaged: in session ${position.sessionId}${where}, ${detail}. Nothing was changed. Restore the file from a backup, or delete this session.`,
  );
}
