/**
 * The lines of an export: their contents, and how they are written, split and checksummed.
 *
 * 1. A line is JSON. Control characters, format characters and line separators are written as `\u` escapes, so that a line is safe on a
 *    terminal.
 * 2. The order: `head`; for each session `session`, its entries, each after the blobs that it refers to, `state`, messages with the blobs
 *    that they refer to, `taken` and delayed messages. After all sessions come the signals and schedules of the store, then the delayed
 *    messages of sessions that have not begun, and finally `end`.
 * 3. The checksum of a line is the SHA-256 of the previous checksum and the line. `end` contains the checksum of all lines before it.
 */
import type { Entry } from "../../core/machine/event.js";
import type { InboxMessage } from "../../core/machine/inbox.js";
import type { State } from "../../core/machine/state.js";
import { PawlError } from "../../errors.js";
import { sha256 } from "../../platform/hash.js";
import type { ScheduleRow } from "../../ports/schedule-store.js";
import type { Signal } from "../../ports/signal.js";
import { maxEntryBytes } from "../shared/encode.js";

/** The version of the layout. The contents of the lines have the log format. */
export const exportVersion = 1;

export type HeadLine = { readonly type: "pawl_sessions"; readonly version: number; readonly format: number };
export type SessionLine = {
  readonly type: "session";
  readonly sessionId: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The number of entries that follow. */
  readonly entries: number;
};
/** A part of a blob. The parts of a blob are consecutive, and have `bytes` bytes in total. */
export type BlobLine = {
  readonly type: "blob";
  readonly hash: string;
  readonly bytes: number;
  readonly base64: string;
};
/** The state after the last entry. */
export type StateLine = { readonly type: "state"; readonly state: State };
/** A message in the inbox. */
export type MessageLine = { readonly type: "message"; readonly message: InboxMessage };
/** Ids of consumed messages. They can never be used again. */
export type TakenLine = { readonly type: "taken"; readonly ids: readonly string[] };
/** A signal that the store keeps for waits that begin later. */
export type SignalLine = { readonly type: "signal"; readonly signal: Signal };
/** A message that will be posted to the session. */
export type DelayedLine = { readonly type: "delayed"; readonly row: ScheduleRow };
/** A schedule of the store. */
export type ScheduleLine = { readonly type: "schedule"; readonly row: ScheduleRow };
export type EndLine = { readonly type: "end"; readonly sessions: number; readonly sum: string };

/** An entry has no `type` field: it is written as in the log. */
export type Line =
  | HeadLine
  | SessionLine
  | BlobLine
  | Entry
  | StateLine
  | MessageLine
  | TakenLine
  | DelayedLine
  | SignalLine
  | ScheduleLine
  | EndLine;

/** The maximum size of a blob part in one line, in bytes. */
export const maxBlobPartBytes = 384 * 1024;
/** The maximum number of message ids in one line. */
export const maxIdsPerLine = 500;
/** The maximum length of a line, in UTF-16 units. An escape is at most three times as long as the bytes that it replaces. */
export const maxLine = 3 * maxEntryBytes + 4096;

/** A line, without its line break. */
export function formatLine(line: Line): string {
  return JSON.stringify(line).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, escapeCharacters);
}

function escapeCharacters(characters: string): string {
  let text = "";
  for (let at = 0; at < characters.length; at += 1)
    text += `\\u${characters.charCodeAt(at).toString(16).padStart(4, "0")}`;
  return text;
}

export function chainSum(sum: string, text: string): string {
  return sha256(sum + text);
}

/** Splits chunks of text or UTF-8 bytes into lines. @throws PawlError `bad_input` if a line is too long or not valid UTF-8 */
export async function* splitLines(pieces: AsyncIterable<string | Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let buffered: string[] = [];
  let length = 0;
  const addPart = (part: string) => {
    buffered.push(part);
    length += part.length;
    if (length > maxLine)
      throw new PawlError("bad_input", `A line of the export is longer than ${maxLine} characters. Nothing was read.`);
  };
  const takeLine = () => {
    const line = buffered.join("");
    buffered = [];
    length = 0;
    return line;
  };
  for await (const piece of pieces) {
    const text = typeof piece === "string" ? piece : decodeChunk(decoder, piece);
    let start = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
      addPart(text.slice(start, end));
      yield takeLine();
      start = end + 1;
    }
    if (start < text.length) addPart(text.slice(start));
  }
  if (length > 0) yield takeLine();
}

function decodeChunk(decoder: InstanceType<typeof TextDecoder>, bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: true });
  } catch (cause) {
    throw new PawlError("bad_input", "The export is not valid UTF-8. Pass the file unmodified.", { cause });
  }
}
