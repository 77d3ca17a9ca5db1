/**
 * Large tool outputs: the store keeps them whole, the model sees the beginning and the end (TOOL-9).
 *
 * 1. The whole output is written as a blob of the session before the entry that names it. If the store fails, the
 *    omitted part is lost, but the call still has its result.
 * 2. A text is cut between lines, and within a line only if the line is too long to be shown. It is never cut within a
 *    character.
 * 3. The size of a log entry is bounded, whatever a tool asks for.
 */

import type { FilePart, FullOutput, TextPart, ToolOutput } from "../core/data/message.js";
import { bytesOfText, countLines, lineAt, startOfCharacter, textOfBytes } from "../core/data/text-bytes.js";
import { blobOf, describeFile, isUrl, keptFile } from "../core/transcript/blob-references.js";
import { PawlError } from "../errors.js";
import { byteLength, bytesOfBase64 } from "../platform/bytes.js";
import type { Store } from "../ports/store.js";
import { lostFileNote, omittedOutput } from "./prompts.js";

/** The most bytes of one output that a model is shown, by default. */
export const defaultMaxOutputBytes = 50 * 1024;

/** The most bytes that an output may take as JSON in an entry of the log. */
export const mostStoredBytes = 900 * 1024;

export type CapOptions = {
  readonly sessionId: string;
  readonly store: Pick<Store, "putBlob">;
  readonly maxBytes?: number;
};

/** An output that is shown while its call runs, cut to the default size. Nothing is kept of what is left out. */
export function preliminaryOutput(output: ToolOutput): ToolOutput {
  if (output.type !== "content") {
    const text = output.type === "text" ? output.text : JSON.stringify(output.value);
    const shown = preliminaryText(text);
    return shown === text ? output : { type: "text", text: shown };
  }
  const parts = output.parts.map((part) => (part.type === "file" ? describedUnlessSmall(part) : part));
  const bytes = parts.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : part.data.length), 0);
  if (bytes * 3 <= defaultMaxOutputBytes) return { type: "content", parts };
  const texts = parts.map((part) => (part.type === "text" ? part.text : `[${describeFile(part)}]`));
  return { type: "text", text: preliminaryText(texts.join("\n")) };
}

function describedUnlessSmall(file: FilePart): FilePart | TextPart {
  return isUrl(file) || file.data.length <= 4_096 ? file : { type: "text", text: `[${describeFile(file)}]` };
}

function preliminaryText(text: string): string {
  if (text.length * 3 <= defaultMaxOutputBytes) return text;
  const bytes = bytesOfText(text);
  if (bytes.length <= defaultMaxOutputBytes) return text;
  return cutText(bytes, { maxBytes: defaultMaxOutputBytes - 200, lines: countLines(bytes), isKept: true });
}

/** Returns the output as it is if it is small enough, else its beginning and end, with a reference to the whole. */
export function capOutput(output: ToolOutput, options: CapOptions): ToolOutput | Promise<ToolOutput> {
  const limit = Math.min(options.maxBytes ?? defaultMaxOutputBytes, mostStoredBytes);
  if (output.type === "content") return capContent(output, limit, options);
  const text = output.type === "text" ? output.text : JSON.stringify(output.value);
  return isSmall(text, limit) ? output : capWhole(output, text, limit, options);
}

async function capWhole(output: ToolOutput, text: string, limit: number, options: CapOptions): Promise<ToolOutput> {
  const capped = await capText(text, limit, options);
  return capped === null ? output : { type: "text", ...capped };
}

export function isStorable(output: ToolOutput): boolean {
  return (output.type === "text" && output.text.length * 6 <= mostStoredBytes) || fits(output);
}

/** @throws PawlError `not_storable` if the output is too large for an entry of the log */
export function assertStorable(output: ToolOutput): ToolOutput {
  if (isStorable(output)) return output;
  throw new PawlError(
    "not_storable",
    `The result is larger than the ${mostStoredBytes} bytes that the log can hold. Save it elsewhere, and return its path or its address.`,
  );
}

function fits(value: ToolOutput | string): boolean {
  return byteLength(JSON.stringify(value)) <= mostStoredBytes;
}

type Capped = { readonly text: string; readonly full?: FullOutput };

/** A quick test: a character takes at most six bytes in JSON. */
function isSmall(text: string, limit: number): boolean {
  return text.length * 6 <= limit;
}

/** Null if nothing has to be cut. */
async function capText(text: string, limit: number, options: CapOptions): Promise<Capped | null> {
  if (isSmall(text, limit)) return null;
  const bytes = bytesOfText(text);
  if (bytes.length <= limit && fits(text)) return null;
  const lines = countLines(bytes);
  const blob = await keep(bytes, options);
  const cut = (maxBytes: number) => cutText(bytes, { maxBytes, lines, isKept: blob !== null });
  const widest = cut(limit);
  const shown = fits(widest) ? widest : cut(Math.min(limit, defaultMaxOutputBytes));
  return blob === null ? { text: shown } : { text: shown, full: { blob, bytes: bytes.length, lines } };
}

async function keep(bytes: Uint8Array, { sessionId, store }: CapOptions): Promise<string | null> {
  try {
    return await store.putBlob(sessionId, bytes);
  } catch {
    // The tool has run, so its result must not be lost: the model sees what fits, with a note that the rest is gone.
    return null;
  }
}

type Cut = { readonly maxBytes: number; readonly lines: number; readonly isKept: boolean };

function cutText(bytes: Uint8Array, { maxBytes, lines, isKept }: Cut): string {
  const half = Math.floor(maxBytes / 2);
  const from = endOfHead(bytes, half);
  const to = Math.max(from, startOfTail(bytes, bytes.length - half));
  const rest = countLines(bytes.subarray(to)) - (isStartOfLine(bytes, to) ? 0 : 1);
  const places = `lines ${lineAt(bytes, from)} to ${lines - rest} of ${lines}, bytes ${from} to ${to} of ${bytes.length}`;
  const mark = omittedOutput(places, isKept);
  const head = textOfBytes(bytes.subarray(0, from));
  const tail = textOfBytes(bytes.subarray(to));
  return `${head}${head === "" || head.endsWith("\n") ? "" : "\n"}${mark}${tail === "" ? "" : `\n${tail}`}`;
}

const newline = 10;

function isStartOfLine(bytes: Uint8Array, index: number): boolean {
  return index === 0 || index === bytes.length || bytes[index - 1] === newline;
}

/** The end of the last whole line that fits. If whole lines would fill less than half, the cut is within a line. */
function endOfHead(bytes: Uint8Array, maxBytes: number): number {
  const end = bytes.lastIndexOf(newline, maxBytes - 1) + 1;
  return end > maxBytes / 2 ? end : startOfCharacter(bytes, maxBytes);
}

/** The start of the first whole line that fits, by the same rule. */
function startOfTail(bytes: Uint8Array, least: number): number {
  const start = bytes.indexOf(newline, least - 1) + 1;
  if (start !== 0 && start - least < (bytes.length - least) / 2) return start;
  const character = startOfCharacter(bytes, least);
  return character === least ? least : nextCharacter(bytes, least);
}

function nextCharacter(bytes: Uint8Array, index: number): number {
  let next = index;
  while (next < bytes.length && startOfCharacter(bytes, next) !== next) next += 1;
  return next;
}

type Content = Extract<ToolOutput, { readonly type: "content" }>;

/**
 * All texts are cut together, as one text. Files cannot be cut: a file that does not fit becomes a blob of the session.
 */
async function capContent(output: Content, limit: number, options: CapOptions): Promise<ToolOutput> {
  const texts = output.parts.filter((part) => part.type === "text");
  const capped = await capText(texts.map(({ text }) => text).join("\n"), limit, options);
  const parts: (TextPart | FilePart)[] = [];
  let room = limit;
  let isShown = false;
  for (const part of output.parts) {
    if (part.type === "file") {
      const file = part.data.length <= room ? part : await keepFile(part, options);
      if (file.type === "file") room -= file.data.length;
      parts.push(file);
    } else if (capped === null) parts.push(part);
    else if (!isShown) {
      parts.push({ ...part, text: capped.text });
      isShown = true;
    }
  }
  return { type: "content", parts, ...(capped?.full === undefined ? {} : { full: capped.full }) };
}

async function keepFile(file: FilePart, options: CapOptions): Promise<FilePart | TextPart> {
  if (blobOf(file) !== undefined || isUrl(file)) return file;
  const bytes = bytesOfBase64(file.data);
  const blob = await keep(bytes, options);
  if (blob !== null) return keptFile(file, blob, bytes.length);
  return { type: "text", text: lostFileNote(describeFile(file)) };
}
