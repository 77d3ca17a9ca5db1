/**
 * Large outputs: kept whole in the store, cut for the model (TOOL-9).
 *
 * 1. What is left out is kept as a blob of the session, before the entry that names it; a store that fails costs what is left
 *    out, never the call.
 * 2. A text is cut by whole lines, within a line only where it is longer than what is shown, and never within a character.
 * 3. What an entry of the log holds has a bound, whatever a tool asks for.
 */

import type { FilePart, FullOutput, TextPart, ToolOutput } from "../core/data/message.js";
import { bytesOfText, countLines, lineAt, startOfCharacter, textOfBytes } from "../core/data/text-bytes.js";
import { blobOf, describeFile, isUrl, keptFile } from "../core/transcript/blob-references.js";
import { PawlError } from "../errors.js";
import type { Store } from "../ports/store.js";

/** Bytes of a result that a model is shown. */
export const defaultMaxOutputBytes = 50 * 1024;

/** Bytes of an output's JSON that an entry of the log has room for, whatever a tool asks for. */
export const mostStoredBytes = 900 * 1024;

export type CapOptions = {
  readonly sessionId: string;
  readonly store: Pick<Store, "putBlob">;
  readonly maxBytes?: number;
};

/** The output as it is where it is small enough; otherwise its head and its tail, with the name of the whole beside them. */
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

/** @throws PawlError `not_storable` for what is too large to be kept in the log */
export function assertStorable(output: ToolOutput): ToolOutput {
  if ((output.type === "text" && output.text.length * 6 <= mostStoredBytes) || fits(output)) return output;
  throw new PawlError(
    "not_storable",
    `The result is larger than the ${mostStoredBytes} bytes that can be kept. Give the address of a file, or save it and return its path.`,
  );
}

/** Control characters take six bytes each in JSON. */
function fits(value: ToolOutput | string): boolean {
  return Buffer.byteLength(JSON.stringify(value)) <= mostStoredBytes;
}

type Capped = { readonly text: string; readonly full?: FullOutput };

/** It fits, however long its characters are. */
function isSmall(text: string, limit: number): boolean {
  return text.length * 6 <= limit;
}

/** Null where nothing has to be cut. */
async function capText(text: string, limit: number, options: CapOptions): Promise<Capped | null> {
  if (isSmall(text, limit)) return null;
  const bytes = bytesOfText(text);
  if (bytes.length <= limit && fits(text)) return null;
  const lines = countLines(bytes);
  const blob = await keep(bytes, options);
  const cut = (most: number) => cutText(bytes, { most, lines, isKept: blob !== null });
  const widest = cut(limit);
  const shown = fits(widest) ? widest : cut(Math.min(limit, defaultMaxOutputBytes));
  return blob === null ? { text: shown } : { text: shown, full: { blob, bytes: bytes.length, lines } };
}

async function keep(bytes: Uint8Array, { sessionId, store }: CapOptions): Promise<string | null> {
  try {
    return await store.putBlob(sessionId, bytes);
  } catch {
    // The call has happened: what it gave is shown as far as it can be, and what is lost is said there.
    return null;
  }
}

type Cut = { readonly most: number; readonly lines: number; readonly isKept: boolean };

function cutText(bytes: Uint8Array, { most, lines, isKept }: Cut): string {
  const half = Math.floor(most / 2);
  const from = endOfHead(bytes, half);
  const to = Math.max(from, startOfTail(bytes, bytes.length - half));
  const rest = countLines(bytes.subarray(to)) - (isStartOfLine(bytes, to) ? 0 : 1);
  const places = `lines ${lineAt(bytes, from)} to ${lines - rest} of ${lines}, bytes ${from} to ${to} of ${bytes.length}`;
  const mark = `[… left out here: ${places}${isKept ? "" : ", which could not be kept"} …]`;
  const head = textOfBytes(bytes.subarray(0, from));
  const tail = textOfBytes(bytes.subarray(to));
  return `${head}${head === "" || head.endsWith("\n") ? "" : "\n"}${mark}${tail === "" ? "" : `\n${tail}`}`;
}

const newline = 10;

function isStartOfLine(bytes: Uint8Array, index: number): boolean {
  return index === 0 || index === bytes.length || bytes[index - 1] === newline;
}

/** After the last line that fits; within it where the lines before it are less than half of what fits. */
function endOfHead(bytes: Uint8Array, most: number): number {
  const end = bytes.lastIndexOf(newline, most - 1) + 1;
  return end > most / 2 ? end : startOfCharacter(bytes, most);
}

/** At the start of the first line that fits, likewise. */
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

/** Texts are cut as one; files cannot be, and are kept beside the log where they are more than it should hold. */
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
  const bytes = Buffer.from(file.data, "base64");
  const blob = await keep(bytes, options);
  if (blob !== null) return keptFile(file, blob, bytes.length);
  return { type: "text", text: `[${describeFile(file)}; it could not be kept]` };
}
