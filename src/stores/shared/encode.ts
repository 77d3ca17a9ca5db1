/**
 * Encodes plain data as JSON text for a database. The text is bounded, and a value that would not survive is refused.
 */
import { isDangerousKey } from "../../core/data/json.js";
import type { Event } from "../../core/machine/event.js";
import type { InboxMessage } from "../../core/machine/inbox.js";
import type { SessionInfo, State } from "../../core/machine/state.js";
import { buildOverview } from "../../core/view/session-overview.js";
import { PawlError } from "../../errors.js";
import { byteLength } from "../../platform/bytes.js";

/** UTF-8 bytes of the JSON of one entry, state or inbox message: 1 MiB. Larger content belongs in a blob. */
export const maxEntryBytes = 1024 * 1024;

/** How deep objects and arrays may be nested in an entry, a state or a message. */
export const maxEntryDepth = 256;

/** One text for the events of a commit: a JSON array. */
export function encodeEvents(events: readonly Event[]): string {
  const texts = events.map((event, index) =>
    encodeJson(event, `The event ${event.type} (number ${index + 1} of its commit)`),
  );
  return `[${texts.join(",")}]`;
}

/** The info that a session is bound to, as lists read it. It is part of the state, and bounded with it. */
export function encodeInfo(info: SessionInfo): string {
  return JSON.stringify(info);
}

/** The overview of a session as lists read it, in a column of the session's row. */
export function encodeOverview(state: State): string {
  return JSON.stringify(buildOverview(state));
}

/** What a search looks for a text in, in lower case. The id and the title are on lines of their own. */
export function buildSearchText(sessionId: string, info: Pick<SessionInfo, "title"> | null): string {
  return `${sessionId}\n${info?.title ?? ""}`.toLowerCase();
}

export function encodeState(state: State): string {
  return encodeJson(state, `The state (${state.status})`);
}

export function encodeMessage(message: InboxMessage): string {
  return encodeJson(message, `The message ${message.id}`);
}

// JSON.stringify writes NUL and lone surrogates as escapes, so that every string comes back as it was.
function encodeJson(value: object, subject: string): string {
  const problem = findProblem(value, maxEntryDepth);
  if (problem !== null) throw notStorableError(`${subject} ${problem}`);
  const text = JSON.stringify(value);
  // A UTF-16 unit takes at most three bytes: most texts need not be counted.
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
      const problem = item === undefined ? "has undefined in a list" : findProblem(item, remainingDepth - 1);
      if (problem !== null) return problem;
    }
    return null;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return "has an object that is not plain";
  for (const key of Object.keys(value)) {
    if (isDangerousKey(key)) return `has the key "${key}", which is refused`;
    const problem = findProblem((value as { readonly [key: string]: unknown })[key], remainingDepth - 1);
    if (problem !== null) return problem;
  }
  return null;
}

/** A member that is undefined counts as absent. */
function findScalarProblem(value: unknown): string | null {
  if (typeof value === "number") return Number.isFinite(value) ? null : "has a number that is not finite";
  if (typeof value === "string" || typeof value === "boolean" || value === undefined) return null;
  return `has a value of type ${typeof value}`;
}
