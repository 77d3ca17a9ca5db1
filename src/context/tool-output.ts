/**
 * Large tool outputs: the store keeps all of an output, and the model sees its beginning and end (TOOL-9).
 *
 * 1. The full output is written as a blob of the session before the entry that refers to it. If the store fails, the omitted part is lost,
 *    but the call still has its result.
 * 2. Text is cut between lines, and within a line only if the line is too long to be shown. It is never cut within a character.
 * 3. The size of a log entry is limited, whatever a tool asks for.
 */

import type { FilePart, FullOutput, TextPart, ToolOutput } from "../core/data/message.js";
import { countLines, decodeText, encodeText, findCharacterStart, lineNumberAt } from "../core/data/text-bytes.js";
import { blobOf, describeFile, isUrlFile, toBlobFile } from "../core/transcript/blob-references.js";
import { PawlError } from "../errors.js";
import { byteLength, decodeBase64 } from "../platform/bytes.js";
import type { Store } from "../ports/store.js";
import { formatLostFile, formatOmittedOutput } from "./prompts.js";

/** The default maximum size of an output that a model is shown, in bytes. */
export const defaultMaxOutputBytes = 50 * 1024;

/** The maximum size of an output as JSON in a log entry, in bytes. */
export const maxStoredBytes = 900 * 1024;

export type CapOptions = {
  readonly sessionId: string;
  readonly store: Pick<Store, "putBlob">;
  readonly maxBytes?: number;
};

/** Truncates an output that is shown while its call runs to the default size. The omitted part is not stored. */
export function capPreliminaryOutput(output: ToolOutput): ToolOutput {
  if (output.type !== "content") {
    const text = output.type === "text" ? output.text : JSON.stringify(output.value);
    const shortened = capPreliminaryText(text);
    return shortened === text ? output : { type: "text", text: shortened, cut: output.type };
  }
  const parts = output.parts.map((part) => (part.type === "file" ? describeLargeFile(part) : part));
  const bytes = parts.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : part.data.length), 0);
  if (bytes * 3 <= defaultMaxOutputBytes) return { type: "content", parts };
  const texts = parts.map((part) => (part.type === "text" ? part.text : `[${describeFile(part)}]`));
  return { type: "text", text: capPreliminaryText(texts.join("\n")) };
}

function describeLargeFile(file: FilePart): FilePart | TextPart {
  return isUrlFile(file) || file.data.length <= 4_096 ? file : { type: "text", text: `[${describeFile(file)}]` };
}

function capPreliminaryText(text: string): string {
  if (text.length * 3 <= defaultMaxOutputBytes) return text;
  const bytes = encodeText(text);
  if (bytes.length <= defaultMaxOutputBytes) return text;
  return cutMiddle(bytes, { maxBytes: defaultMaxOutputBytes - 200, lines: countLines(bytes), isStored: true });
}

/** Returns the output itself if it is small enough, otherwise its beginning and end with a reference to the full output. */
export function capOutput(output: ToolOutput, options: CapOptions): ToolOutput | Promise<ToolOutput> {
  const limit = Math.min(options.maxBytes ?? defaultMaxOutputBytes, maxStoredBytes);
  if (output.type === "content") return capContent(output, limit, options);
  const text = output.type === "text" ? output.text : JSON.stringify(output.value);
  return isSurelySmall(text, limit) ? output : capTextOutput(output, text, limit, options);
}

async function capTextOutput(
  output: Exclude<ToolOutput, ContentOutput>,
  text: string,
  limit: number,
  options: CapOptions,
): Promise<ToolOutput> {
  const capped = await capText(text, limit, options);
  if (capped === null) return output;
  const { text: shortened, full } = capped;
  if (full === undefined) return { type: "text", text: shortened, cut: output.type };
  return { type: "text", text: shortened, full: { ...full, type: output.type } };
}

export function isStorable(output: ToolOutput): boolean {
  return (output.type === "text" && output.text.length * 6 <= maxStoredBytes) || fitsEntry(output);
}

/** @throws PawlError `not_storable` if the output is too large for a log entry */
export function assertStorable(output: ToolOutput): ToolOutput {
  if (isStorable(output)) return output;
  throw new PawlError(
    "not_storable",
    `The result is larger than the ${maxStoredBytes} bytes that the log can hold. Save it elsewhere, and return its path or its address.`,
  );
}

function fitsEntry(value: ToolOutput | string): boolean {
  return byteLength(JSON.stringify(value)) <= maxStoredBytes;
}

type CappedText = { readonly text: string; readonly full?: FullOutput };

/** A quick check: a character takes at most six bytes in JSON. */
function isSurelySmall(text: string, limit: number): boolean {
  return text.length * 6 <= limit;
}

/** Null if nothing has to be cut. */
async function capText(text: string, limit: number, options: CapOptions): Promise<CappedText | null> {
  if (isSurelySmall(text, limit)) return null;
  const bytes = encodeText(text);
  if (bytes.length <= limit && fitsEntry(text)) return null;
  const lines = countLines(bytes);
  const blob = await storeBlob(bytes, options);
  const cut = (maxBytes: number) => cutMiddle(bytes, { maxBytes, lines, isStored: blob !== null });
  const fullCut = cut(limit);
  const shortened = fitsEntry(fullCut) ? fullCut : cut(Math.min(limit, defaultMaxOutputBytes));
  return blob === null ? { text: shortened } : { text: shortened, full: { blob, bytes: bytes.length, lines } };
}

async function storeBlob(bytes: Uint8Array, { sessionId, store }: CapOptions): Promise<string | null> {
  try {
    return await store.putBlob(sessionId, bytes);
  } catch {
    // The tool has run, so its result must not be lost: the model sees the part that fits, with a note that the rest is gone.
    return null;
  }
}

type CutOptions = { readonly maxBytes: number; readonly lines: number; readonly isStored: boolean };

function cutMiddle(bytes: Uint8Array, { maxBytes, lines, isStored }: CutOptions): string {
  const half = Math.floor(maxBytes / 2);
  const from = findHeadEnd(bytes, half);
  const to = Math.max(from, findTailStart(bytes, bytes.length - half));
  const linesAfter = countLines(bytes.subarray(to)) - (isLineStart(bytes, to) ? 0 : 1);
  const ranges = `lines ${lineNumberAt(bytes, from)} to ${lines - linesAfter} of ${lines}, bytes ${from} to ${to} of ${bytes.length}`;
  const mark = formatOmittedOutput(ranges, isStored);
  const head = decodeText(bytes.subarray(0, from));
  const tail = decodeText(bytes.subarray(to));
  return `${head}${head === "" || head.endsWith("\n") ? "" : "\n"}${mark}${tail === "" ? "" : `\n${tail}`}`;
}

const newline = 10;

function isLineStart(bytes: Uint8Array, index: number): boolean {
  return index === 0 || index === bytes.length || bytes[index - 1] === newline;
}

/** The end of the last complete line that fits. If complete lines would fill less than half, the cut is within a line. */
function findHeadEnd(bytes: Uint8Array, maxBytes: number): number {
  const end = bytes.lastIndexOf(newline, maxBytes - 1) + 1;
  return end > maxBytes / 2 ? end : findCharacterStart(bytes, maxBytes);
}

/** The start of the first complete line that fits, by the same rule. */
function findTailStart(bytes: Uint8Array, minStart: number): number {
  const start = bytes.indexOf(newline, minStart - 1) + 1;
  if (start !== 0 && start - minStart < (bytes.length - minStart) / 2) return start;
  const character = findCharacterStart(bytes, minStart);
  return character === minStart ? minStart : findNextCharacter(bytes, minStart);
}

function findNextCharacter(bytes: Uint8Array, index: number): number {
  let next = index;
  while (next < bytes.length && findCharacterStart(bytes, next) !== next) next += 1;
  return next;
}

type ContentOutput = Extract<ToolOutput, { readonly type: "content" }>;

/**
 * All text parts are truncated together, as one text. Files cannot be truncated: a file that does not fit becomes a blob of the session.
 */
async function capContent(output: ContentOutput, limit: number, options: CapOptions): Promise<ToolOutput> {
  const texts = output.parts.filter((part) => part.type === "text");
  const capped = await capText(texts.map(({ text }) => text).join("\n"), limit, options);
  const parts: (TextPart | FilePart)[] = [];
  let remaining = limit;
  let isTextAdded = false;
  for (const part of output.parts) {
    if (part.type === "file") {
      const file = part.data.length <= remaining ? part : await storeFile(part, options);
      if (file.type === "file") remaining -= file.data.length;
      parts.push(file);
    } else if (capped === null) parts.push(part);
    else if (!isTextAdded) {
      parts.push({ ...part, text: capped.text });
      isTextAdded = true;
    }
  }
  return { type: "content", parts, ...(capped?.full === undefined ? {} : { full: capped.full }) };
}

async function storeFile(file: FilePart, options: CapOptions): Promise<FilePart | TextPart> {
  if (blobOf(file) !== undefined || isUrlFile(file)) return file;
  const bytes = decodeBase64(file.data);
  const blob = await storeBlob(bytes, options);
  if (blob !== null) return toBlobFile(file, blob, bytes.length);
  return { type: "text", text: formatLostFile(describeFile(file)) };
}
