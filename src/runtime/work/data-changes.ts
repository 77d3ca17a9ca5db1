/**
 * The changes that running calls make to the session's data, until they are committed with an entry of the call.
 *
 * 1. Changes are applied when the commit is composed, to the data at that point: the last commit wins for each key.
 * 2. Changes belong to one attempt of a call. Those of an attempt without a result are never committed.
 * 3. The data never exceeds its limit: a change that does not fit is refused, and its caller gets an error.
 */
import { deepFreeze } from "../../core/data/freeze.js";
import { isDangerousKey } from "../../core/data/json.js";
import type { Json } from "../../core/data/message.js";
import {
  applyPatch,
  type DataPatch,
  maxDataBytes,
  maxDataKeyCharacters,
  type SessionData,
} from "../../core/data/session-data.js";
import type { EventBody } from "../../core/machine/event.js";
import { PawlError } from "../../errors.js";
import { byteLength } from "../../platform/bytes.js";
import { isThenable } from "../lib/coroutine.js";
import { formatError } from "../lib/error-text.js";
import { normaliseJson } from "../tools/to-json.js";

/** A change of one key. `make` may be called several times. */
export type DataChange =
  | { readonly type: "set"; readonly key: string; readonly value: Json }
  | { readonly type: "unset"; readonly key: string }
  | { readonly type: "update"; readonly key: string; readonly make: (old: Json | undefined) => unknown };

/** The changes of one attempt of a call, in order. */
export type CallChanges = { readonly attempt: number; readonly list: DataChange[] };

/** By call key. Null if no call has changed anything. */
export type PendingDataChanges = { changes: Map<string, CallChanges> | null };

/** The maximum number of uncommitted changes of a call. */
const maxChanges = 1_000;

export function startChanges(memory: PendingDataChanges, callKey: string, attempt: number): CallChanges {
  const callChanges: CallChanges = { attempt, list: [] };
  memory.changes = (memory.changes ?? new Map()).set(callKey, callChanges);
  return callChanges;
}

/** Drops the uncommitted changes of a call. */
export function dropChanges(memory: PendingDataChanges, callKey: string): void {
  memory.changes?.delete(callKey);
  if (memory.changes?.size === 0) memory.changes = null;
}

/** `set` and `unset` replace the pending changes to their key; an `update` is applied on top of them. */
export function addChange({ list }: CallChanges, change: DataChange): void {
  if (change.type !== "update")
    for (let index = list.length - 1; index >= 0; index -= 1)
      if (list[index]?.key === change.key) list.splice(index, 1);
  if (list.length >= maxChanges)
    throw new PawlError(
      "bad_input",
      `A call may make at most ${maxChanges} changes of the session's data before they are committed. Combine several changes in one update.`,
    );
  list.push(change);
}

/** The data with these changes, and the equivalent patch. @throws PawlError, or what an update throws */
export function applyChanges(data: SessionData, list: readonly DataChange[]): { data: SessionData; patch: DataPatch } {
  const pending = new Map<string, Json | undefined>();
  for (const change of list) {
    const { key } = change;
    if (change.type === "set") pending.set(key, change.value);
    else if (change.type === "unset") pending.set(key, undefined);
    else pending.set(key, applyUpdate(key, change.make, pending.has(key) ? pending.get(key) : getValue(data, key)));
  }
  const entries = [...pending];
  const set = entries.flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const]));
  const unset = entries.flatMap(([key, value]) => (value === undefined ? [key] : []));
  const patch = deepFreeze({
    ...(set.length === 0 ? {} : { set: Object.fromEntries(set) }),
    ...(unset.length === 0 ? {} : { unset }),
  });
  const after = applyPatch(data, patch);
  if (!isWithinDataLimit(after)) throw dataTooLargeError();
  return { data: after, patch };
}

export function getValue(data: SessionData, key: string): Json | undefined {
  return Object.hasOwn(data, key) ? data[key] : undefined;
}

function applyUpdate(key: string, make: (old: Json | undefined) => unknown, old: Json | undefined): Json | undefined {
  const value = make(old);
  if (isThenable(value)) {
    Promise.resolve(value).catch(() => {});
    throw new PawlError(
      "bad_input",
      `The update of "${key}" returned a promise. It must return the new value synchronously.`,
    );
  }
  return toDataValue(value);
}

/** The value as plain JSON; undefined to remove the key. @throws PawlError `not_storable` */
export function toDataValue(value: unknown): Json | undefined {
  return value === undefined ? undefined : deepFreeze(normaliseJson(value));
}

/** @throws PawlError `bad_input` */
export function checkDataKey(key: unknown): asserts key is string {
  if (typeof key === "string" && key !== "" && key.length <= maxDataKeyCharacters && !isDangerousKey(key)) return;
  const shown = typeof key === "string" ? JSON.stringify(key.slice(0, 120)) : `of type ${typeof key}`;
  throw new PawlError(
    "bad_input",
    `A key of the session's data must be a string of 1 to ${maxDataKeyCharacters} characters, and not "__proto__", "constructor" or "prototype". Got ${shown}.`,
  );
}

function isWithinDataLimit(data: SessionData): boolean {
  return byteLength(JSON.stringify(data)) <= maxDataBytes;
}

/** Whether an outside change keeps the data within its limit. */
export function fitsDataLimit(data: SessionData, patch: DataPatch): boolean {
  return isWithinDataLimit(applyPatch(data, patch));
}

export function dataTooLargeError(): PawlError {
  return new PawlError(
    "bad_input",
    `The session's data would take more than ${maxDataBytes} bytes as JSON. Store less, or store it elsewhere and keep only a reference here.`,
  );
}

/** The changes to commit with an entry of a call. */
export type TakeChangesResult =
  | { readonly ok: true; readonly data?: DataPatch }
  /** The changes cannot be applied, for this reason, and were dropped. */
  | { readonly ok: false; readonly message: string };

/** Removes and returns the changes that an attempt has made so far. It may make more, unless it has ended. */
export function takeChanges(
  { memory, transcript }: { readonly memory: PendingDataChanges; readonly transcript: { readonly data: SessionData } },
  { callKey, attempt }: { readonly callKey: string; readonly attempt?: number | undefined },
  isOver: boolean,
): TakeChangesResult {
  const callChanges = memory.changes?.get(callKey);
  if (callChanges === undefined || callChanges.attempt !== attempt) return noChanges;
  if (isOver) dropChanges(memory, callKey);
  const list = callChanges.list.splice(0);
  if (list.length === 0) return noChanges;
  try {
    return { ok: true, data: applyChanges(transcript.data, list).patch };
  } catch (error) {
    return { ok: false, message: formatError(error, 1_000) };
  }
}

export function pickData(taken: TakeChangesResult): { readonly data?: DataPatch } {
  return taken.ok && taken.data !== undefined ? { data: taken.data } : {};
}

const noChanges: TakeChangesResult = { ok: true };

/** Drops the changes that an attempt has made so far, because they are already in the log. It may make more. */
export function clearChanges({ changes }: PendingDataChanges, callKey: string): void {
  changes?.get(callKey)?.list.splice(0);
}

type ToolFinishedBody = Extract<EventBody, { readonly type: "tool_finished" }>;

/** Adds a call's changes to its result. If they cannot be applied, the result becomes an error for the model. */
export function attachChanges<Event extends ToolFinishedBody>(
  event: Event,
  work: Parameters<typeof takeChanges>[0],
): Event | (Omit<Event, "done"> & Pick<ToolFinishedBody, "type" | "runId" | "callKey" | "outcome" | "output">) {
  const taken = takeChanges(work, event, true);
  if (!taken.ok) {
    const { done: _, ...rest } = event;
    const text = `The tool ran, but its change of the session's data could not be stored: ${taken.message}`;
    return { ...rest, outcome: "error", output: { type: "text", text } };
  }
  return taken.data === undefined ? event : { ...event, data: taken.data };
}
