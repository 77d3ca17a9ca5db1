/**
 * Encodes plain data as JSON text for a database. The text is bounded, and values that would not survive are refused.
 */
import { isDangerousKey } from "../../core/data/json.js";
import type { Event } from "../../core/machine/event.js";
import type { InboxMessage } from "../../core/machine/inbox.js";
import type { SessionInfo, State } from "../../core/machine/state.js";
import { buildOverview } from "../../core/view/session-overview.js";
import { PawlError } from "../../errors.js";
import { byteLength } from "../../platform/bytes.js";

/** The maximum size of one entry, state or inbox message as JSON, in UTF-8 bytes: 1 MiB. Larger content belongs in a blob. */
export const maxEntryBytes = 1024 * 1024;

/** The maximum nesting of objects and arrays in an entry, a state or a message. */
export const maxEntryDepth = 256;

/** The events of a commit as one text: a JSON array. */
export function encodeEvents(events: readonly Event[]): string {
  const texts = events.map((event, index) =>
    encodeJson(event, `The event ${event.type} (number ${index + 1} of its commit)`),
  );
  return `[${texts.join(",")}]`;
}

/** The session info, as lists read it. It is part of the state, which bounds its size. */
export function encodeInfo(info: SessionInfo): string {
  return JSON.stringify(info);
}

/** The overview of a session as lists read it, for a column of the session's row. */
export function encodeOverview(state: State): string {
  return JSON.stringify(buildOverview(state));
}

/** The text that searches look in, in lower case. The id and the title are on separate lines. */
export function buildSearchText(sessionId: string, info: Pick<SessionInfo, "title"> | null): string {
  return `${sessionId}\n${info?.title ?? ""}`.toLowerCase();
}

export function encodeState(state: State): string {
  return encodeJson(state, `The state (${state.status})`);
}

export function encodeMessage(message: InboxMessage): string {
  return encodeJson(message, `The message ${message.id}`);
}

// JSON.stringify writes NUL and lone surrogates as escapes, so every string survives the round trip.
function encodeJson(value: object, subject: string): string {
  const problem = findProblem(value, maxEntryDepth);
  if (problem !== null) throw notStorableError(`${subject} ${problem}`);
  const text = JSON.stringify(value);
  // A UTF-16 unit takes at most three bytes, so most texts do not have to be counted.
  if (text.length * 3 > maxEntryBytes && byteLength(text) > maxEntryBytes)
    throw notStorableError(`${subject} takes ${byteLength(text)} bytes; an entry may take at most ${maxEntryBytes}`);
  return text;
}

function notStorableError(subject: string): PawlError {
  return new PawlError(
    "not_storable",
    `${subject}. Nothing was written. Keep large content in a blob, and make other values plain JSON first.`,
  );
}

function findProblem(value: unknown, remainingDepth: number): string | null {
  if (typeof value !== "object") return findScalarProblem(value);
  if (value === null) return null;
  if (remainingDepth === 0) return `is nested deeper than ${maxEntryDepth} levels`;
  if (Array.isArray(value)) {
    for (const item of value) {
      const problem = item === undefined ? "contains undefined in an array" : findProblem(item, remainingDepth - 1);
      if (problem !== null) return problem;
    }
    return null;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return "contains an object that is not plain";
  for (const key of Object.keys(value)) {
    if (isDangerousKey(key)) return `contains the forbidden key "${key}"`;
    const problem = findProblem((value as { readonly [key: string]: unknown })[key], remainingDepth - 1);
    if (problem !== null) return problem;
  }
  return null;
}

/** A member that is undefined counts as absent. */
function findScalarProblem(value: unknown): string | null {
  if (typeof value === "number") return Number.isFinite(value) ? null : "contains a number that is not finite";
  if (typeof value === "string" || typeof value === "boolean" || value === undefined) return null;
  return `contains a value of type ${typeof value}`;
}
