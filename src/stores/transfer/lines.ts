/**
 * The lines of an export: their contents, and how they are written, split and summed.
 *
 * 1. A line is JSON. Control characters, format characters and line separators are `\u` escapes, so that it is safe on a terminal.
 * 2. The order: `head`; for each session `session`, then entries, each after the blobs that it names, then `state`, messages with
 *    the blobs that they name, `taken` and delayed messages. The signals and schedules of the store follow all sessions, then the
 *    delayed messages of sessions that have not begun; `end` comes last.
 * 3. The sum of a line is the SHA-256 of the sum before it and the line. `end` has the sum of all lines before it.
 */
import type { Entry } from "../../core/machine/event.js";
import type { InboxMessage } from "../../core/machine/inbox.js";
import type { State } from "../../core/machine/state.js";
import { PawlError } from "../../errors.js";
import { sha256 } from "../../platform/hash.js";
import type { ScheduleRow } from "../../ports/schedule-store.js";
import type { Signal } from "../../ports/signal.js";
import { maxEntryBytes } from "../shared/encode.js";

/** The version of the layout. The contents of the lines have the format of the log. */
export const exportVersion = 1;

export type HeadLine = { readonly type: "pawl_sessions"; readonly version: number; readonly format: number };
export type SessionLine = {
  readonly type: "session";
  readonly sessionId: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** How many entries follow. */
  readonly entries: number;
};
/** A part of a blob. The parts of a blob follow each other, until they have `bytes` bytes together. */
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
/** Ids of messages that were consumed. They can never be used again. */
export type TakenLine = { readonly type: "taken"; readonly ids: readonly string[] };
/** A signal that the store keeps for waits that begin later. */
export type SignalLine = { readonly type: "signal"; readonly signal: Signal };
/** A message that will be posted to the session. */
export type DelayedLine = { readonly type: "delayed"; readonly row: ScheduleRow };
/** A schedule of the store. */
export type ScheduleLine = { readonly type: "schedule"; readonly row: ScheduleRow };
export type EndLine = { readonly type: "end"; readonly sessions: number; readonly sum: string };

/** An entry has no `type` of its own: it is written as in the log. */
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

/** The maximum number of bytes of a blob in one line. */
export const maxBlobPartBytes = 384 * 1024;
/** The maximum number of message ids in one line. */
export const maxIdsPerLine = 500;
/** The maximum length of a line, in UTF-16 units. An escape is at most three times as long as the bytes that it stands for. */
export const maxLine = 3 * maxEntryBytes + 4096;

/** A line, without the break at its end. */
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

/** Splits pieces of text, or of its UTF-8, into lines. @throws PawlError `bad_input` if a line is too long or not in UTF-8 */
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
    throw new PawlError("bad_input", "The export is not in UTF-8. Give the file as it was written.", { cause });
  }
}
