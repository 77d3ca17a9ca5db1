/**
 * Checks of everything that comes from a database, before anything else sees it: it must be bounded, plain, and of the shape that this
 * version writes. Nothing is revived or evaluated. Damage is `store_corrupt`; rows of a later version are `newer_format`.
 */

import { parseJson } from "../../core/data/json.js";
import type { Entry, Event, EventType } from "../../core/machine/event.js";
import type { InboxBody, InboxMessage } from "../../core/machine/inbox.js";
import { formatVersion, oldestFormat, type SessionInfo, type State, type Status } from "../../core/machine/state.js";
import { PawlError } from "../../errors.js";
import type { Holder } from "../../ports/store.js";
import { checksumOf, positionOf } from "./checksum.js";
import { maxEntryDepth } from "./storable.js";

/** The longest text of a commit that is parsed: a bound against texts that no commit wrote. */
const maxTextBytes = 256 * 1024 * 1024;

type Kind = "string" | "number" | "object" | "array" | "string or null" | "number or null" | "object or null";
type Fields = { readonly [field: string]: Kind };
type Plain = { readonly [field: string]: unknown };

const ofRun: Fields = { runId: "string" };
const ofStep: Fields = { runId: "string", modelCallIndex: "number" };
const ofCall: Fields = { runId: "string", callKey: "string" };
const ofToolStep: Fields = { ...ofCall, attempt: "number", step: "string" };

/** The fields that each event must have. Readers of an event check the rest. */
const eventFields: { readonly [Type in EventType]: Fields } = {
  session_created: { v: "number", agent: "string", model: "string" },
  run_started: { ...ofRun, limits: "object" },
  run_queued: { ...ofRun, limits: "object", input: "array" },
  steered: { input: "array", source: "string" },
  prepared: { ...ofStep, contextSeq: "number", purpose: "string" },
  compaction_started: {},
  compacted: {},
  model_finished: { ...ofStep, attempt: "number", message: "object", finishReason: "object", usage: "object" },
  model_failed: { ...ofStep, attempt: "number", failure: "object", next: "object" },
  timer_fired: { ...ofRun, timer: "string" },
  tool_decided: { ...ofCall, decision: "object" },
  tool_waiting: { ...ofCall, on: "string" },
  tool_finished: { ...ofCall, outcome: "string" },
  answered: { ...ofCall, answerId: "string", answer: "object" },
  abort_requested: ofRun,
  restarted: { ...ofRun, holder: "string" },
  late_result: { callKey: "string", outcome: "string" },
  run_finished: { ...ofRun, reason: "string" },
  after_run_hooks_called: ofRun,
  parent_notified: ofRun,
  migrated: { from: "number", state: "object" },
  child_waiting: { ...ofCall, childId: "string", askedAt: "number or null", childSeq: "number" },
  parent_told: { ...ofRun, askedAt: "number or null", toldSeq: "number" },
  tool_step_started: ofToolStep,
  tool_step_finished: { ...ofToolStep, outcome: "string" },
  tool_asked: { ...ofToolStep, message: "string" },
  tool_failed: { ...ofCall, attempt: "number", fault: "object", retryInMs: "number" },
  handed_off: { ...ofCall, from: "string", to: "string" },
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

const bodyFields: { readonly [Type in InboxBody["type"]]: Fields } = {
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

const runFields: Fields = {
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

const callsFields: Fields = { ...runFields, calls: "array", cut: "string or null", doneSeq: "number or null" };

/** What a state must have beside the fields of its session. */
const statusFields: { readonly [Name in Status]: Fields } = {
  idle: {},
  preparing: { ...runFields, for: "string" },
  model_running: { ...runFields, purpose: "string", contextSeq: "number", backoff: "object or null" },
  tool_running: callsFields,
  awaiting_human: { ...callsFields, since: "number" },
  completed: { ...runFields, reason: "string" },
  failed: { ...runFields, reason: "string" },
  aborted: { ...runFields, reason: "string" },
};

const stateFields: Fields = { seq: "number", queue: "array", interrupted: "array", context: "object" };
const infoFields: Fields = { agent: "string", model: "string" };
const callFields: Fields = { callKey: "string", name: "string", inputSeq: "number", status: "string" };

/** The place of a text, for messages. */
export type RowPosition = {
  readonly file: string;
  readonly sessionId: string;
  readonly seq: number;
  /** Makes the error, if the text is in no store. */
  readonly problem?: (what: string) => PawlError;
};

export function isStatus(text: string): text is Status {
  return Object.hasOwn(statusFields, text);
}

/** The format of a row, which must be known before anything else in it is read. */
export function checkFormat(v: number, place: RowPosition): void {
  if (v > formatVersion)
    throw new PawlError(
      "newer_format",
      `Session ${place.sessionId} was written in format ${v} by a later version of Pawl; this one reads up to ${formatVersion}. Update Pawl to carry it on.`,
    );
  if (v < oldestFormat)
    throw new PawlError(
      "older_format",
      `Session ${place.sessionId} was written in format ${v}, before the first release of Pawl; this version reads format ${oldestFormat} and later. Finish it with the version that wrote it, or delete it.`,
    );
}

/** Throws unless the text came back as it was written. */
export function checkSum(text: string, checksum: number | null, place: RowPosition): string {
  if (checksumOf(text) !== checksum) throw mismatch(place);
  return text;
}

/** The same for a text of a commit, whose checksum counts its session and its last entry too. */
export function checkCommitSum(text: string, checksum: number | null, place: RowPosition): string {
  if (checksumOf(text, positionOf(place.sessionId, place.seq)) !== checksum) throw mismatch(place);
  return text;
}

function mismatch(place: RowPosition): PawlError {
  return corrupt(place, "its content does not match its checksum");
}

/** The entries of a row that ends with `place.seq`. */
export function decodeEntries(text: string, place: RowPosition): readonly Entry[] {
  const events = parse(text, place);
  if (!Array.isArray(events) || events.length === 0 || events.length > place.seq)
    throw corrupt(place, "its events are no list that ends there");
  const first = place.seq - events.length + 1;
  return events.map((event: unknown, index) => ({ seq: first + index, event: asEvent(event, place) }));
}

/** The state after entry `place.seq`. */
export function decodeState(text: string, place: RowPosition): State {
  const state = parse(text, place);
  if (!isPlain(state)) throw corrupt(place, "its state is no object");
  const { v, seq, status, session, calls } = state;
  if (typeof v !== "number") throw corrupt(place, "its state names no format");
  checkFormat(v, place);
  if (typeof status !== "string" || !isStatus(status)) throw corrupt(place, "its state has no known status");
  checkFields(state, stateFields, place, "its state");
  checkFields(state, statusFields[status], place, `its state (${status})`);
  if (seq !== place.seq) throw corrupt(place, `its state is that of entry ${String(seq)}`);
  if (session !== null) checkFields(session, infoFields, place, "its session");
  if (Array.isArray(calls)) for (const call of calls) checkFields(call, callFields, place, "a call in its state");
  return state as unknown as State;
}

/** What a session is bound to, as lists read it. */
export function decodeInfo(text: string, place: RowPosition): SessionInfo {
  const info = parse(text, place);
  checkFields(info, infoFields, place, "what it is bound to");
  return info as unknown as SessionInfo;
}

export function decodeMessage(text: string, place: RowPosition): InboxMessage {
  const message = parse(text, place);
  checkFields(message, { id: "string", at: "number", body: "object" }, place, "a message in its inbox");
  const { body } = message;
  if (!isPlain(body)) throw corrupt(place, "a message in its inbox has no body");
  const { type } = body;
  const fields = typeof type === "string" ? known(bodyFields, type) : undefined;
  if (fields === undefined) throw corrupt(place, "a message in its inbox is of no known type");
  checkFields(body, fields, place, "a message in its inbox");
  return message as unknown as InboxMessage;
}

export function decodeHolder(text: string, place: RowPosition): Holder {
  const holder = parse(text, place);
  checkFields(holder, { id: "string", host: "string", pid: "number", startedAt: "number" }, place, "its holder");
  for (const field of ["address", "bootId"])
    if (holder[field] !== undefined && typeof holder[field] !== "string")
      throw corrupt(place, `its holder has no proper field ${field}`);
  return holder as unknown as Holder;
}

function asEvent(event: unknown, place: RowPosition): Event {
  if (!isPlain(event)) throw corrupt(place, "one of its events is no object");
  const { type, message } = event;
  const fields = typeof type === "string" ? known(eventFields, type) : undefined;
  if (fields === undefined) {
    if (typeof type !== "string") throw corrupt(place, "it has an event without a type");
    throw new PawlError(
      "newer_format",
      `Session ${place.sessionId} has an event ${JSON.stringify(type.slice(0, 100))} at entry ${place.seq}, which this version of Pawl does not know. Update Pawl to read it.`,
    );
  }
  checkFields(event, { at: "number" }, place, `its event ${String(type)}`);
  checkFields(event, fields, place, `its event ${String(type)}`);
  if (event.hooks !== undefined && !Array.isArray(event.hooks))
    throw corrupt(place, `its event ${String(type)} has no proper field hooks`);
  if (type === "model_finished") checkFields(message, { parts: "array" }, place, "the model's message");
  if ((type === "prepared" || type === "handed_off") && event.messages !== undefined)
    checkReferences(event.messages, place);
  return event as unknown as Event;
}

/** Folding follows these references, so a damaged one must not get that far. */
function checkReferences(refs: unknown, place: RowPosition): void {
  if (!Array.isArray(refs)) throw corrupt(place, "its list of messages is no list");
  for (const ref of refs) {
    if (Array.isArray(ref) && ref.length === 3 && ref.every((count) => Number.isSafeInteger(count) && count >= 0))
      continue;
    if (isPlain(ref) && typeof ref.blob === "string") continue;
    if (
      isPlain(ref) &&
      isPlain(ref.message) &&
      typeof ref.message.role === "string" &&
      Array.isArray(ref.message.parts) &&
      (ref.seq === undefined || (Number.isSafeInteger(ref.seq) && (ref.seq as number) >= 0))
    )
      continue;
    throw corrupt(place, "its list of messages has no proper reference");
  }
}

function parse(text: string, place: RowPosition): unknown {
  // One level more than an entry may have, for the list around the entries of a row.
  const result = parseJson(text, { maxBytes: maxTextBytes, maxDepth: maxEntryDepth + 1 });
  if (!result.ok) throw corrupt(place, `its JSON is ${result.error}`);
  return result.value;
}

function checkFields(value: unknown, fields: Fields, place: RowPosition, what: string): asserts value is Plain {
  if (!isPlain(value)) throw corrupt(place, `${what} is no object`);
  for (const [field, kind] of Object.entries(fields))
    if (!kind.split(" or ").includes(kindOf(value[field])))
      throw corrupt(place, `${what} has no proper field ${field}`);
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return value === null ? "null" : typeof value;
}

function isPlain(value: unknown): value is Plain {
  return kindOf(value) === "object";
}

function known(table: { readonly [type: string]: Fields }, type: string): Fields | undefined {
  return Object.hasOwn(table, type) ? table[type] : undefined;
}

/** Damage that was found in the row that ends with `place.seq` (0: in the session's own row or inbox). */
export function corrupt(place: RowPosition, what: string): PawlError {
  if (place.problem !== undefined) return place.problem(what);
  const where = place.seq === 0 ? "" : ` at entry ${place.seq}`;
  return new PawlError(
    "store_corrupt",
    `The store ${place.file} is damaged: in session ${place.sessionId}${where}, ${what}. Nothing was changed. Take the file from a backup, or delete this session.`,
  );
}
