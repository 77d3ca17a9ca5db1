/**
 * Reads whole text files, up to a size limit, in pieces that leave the event loop free.
 */
import { isUtf8 } from "node:buffer";
import type { Stats } from "node:fs";
import { decodeInPieces } from "../lib/long-bytes.js";
import { type Pace, pieceSize } from "../lib/pace.js";
import { type Folder, openFile } from "./folder.js";
import { type ResolvedPath, type Root, withParentFolder } from "./root.js";

/** The maximum size of a file that is read or written, in bytes. */
export const maxFileBytes = 16 * 1024 * 1024;

export type TextFile = {
  readonly text: string;
  /** True if some bytes are not UTF-8 and became U+FFFD. Writing the text back would lose them. */
  readonly isDamaged: boolean;
  readonly bytes: Buffer;
  readonly stats: Stats;
};

export type FileContent =
  | TextFile
  | { readonly refused: "large"; readonly bytes: number }
  | { readonly refused: "binary"; readonly bytes: number; readonly media?: MediaFile };

/** A file that is sent to models unchanged. */
export type MediaFile = { readonly mediaType: string; readonly bytes: Buffer };

/** @throws Error if the file is missing, not a regular file, unreadable, or outside the root */
export async function readTextFile(root: Root, resolved: ResolvedPath, pace: Pace): Promise<FileContent> {
  return await withParentFolder(root, resolved, (folder, name) => readTextIn(folder, name, resolved.displayPath, pace));
}

/** @throws Error if the name is not a regular file; a system error */
export async function readTextIn(folder: Folder, name: string, displayPath: string, pace: Pace): Promise<FileContent> {
  const handle = await openFile(folder, name);
  if (handle === null) throw createNotRegularError(displayPath);
  try {
    const stats = await handle.stat();
    if (stats.size > maxFileBytes) return { refused: "large", bytes: stats.size };
    const bytes = await handle.readFile();
    const binary = detectBinary(bytes);
    if (binary !== null) return binary;
    return { text: await decodeFileText(bytes, pace), isDamaged: !isUtf8(bytes), bytes, stats };
  } finally {
    await handle.close();
  }
}

/** Returns null for text. */
export function detectBinary(bytes: Buffer): Extract<FileContent, { refused: "binary" }> | null {
  const mediaType = detectMediaType(bytes);
  if (mediaType !== undefined) return { refused: "binary", bytes: bytes.length, media: { mediaType, bytes } };
  return bytes.subarray(0, 8192).includes(0) ? { refused: "binary", bytes: bytes.length } : null;
}

/** Decodes UTF-8. Other bytes become U+FFFD. */
export async function decodeFileText(bytes: Buffer, pace: Pace): Promise<string> {
  return await decodeInPieces(bytes, (piece) => decoder.decode(piece), pace);
}

/** Detects the media type of an image or a PDF from its first bytes. */
function detectMediaType(bytes: Buffer): string | undefined {
  const start = bytes.subarray(0, 12).toString("latin1");
  return signatures.find(({ pattern }) => pattern.test(start))?.mediaType;
}

const signatures: readonly { readonly pattern: RegExp; readonly mediaType: string }[] = [
  { pattern: /^\x89PNG\r\n\x1a\n/, mediaType: "image/png" },
  { pattern: /^\xff\xd8\xff/, mediaType: "image/jpeg" },
  { pattern: /^GIF8[79]a/, mediaType: "image/gif" },
  { pattern: /^RIFF[\s\S]{4}WEBP/, mediaType: "image/webp" },
  { pattern: /^%PDF-/, mediaType: "application/pdf" },
];

/** @throws Error if the content is binary or too large */
export function requireText(content: FileContent, displayPath: string): TextFile {
  if (!("refused" in content)) return content;
  throw new Error(
    content.refused === "binary"
      ? `${displayPath} is a binary file (${content.bytes} bytes) and cannot be read as text.`
      : `${displayPath} has ${content.bytes} bytes; files over ${maxFileBytes} bytes are not read.`,
  );
}

export function createNotRegularError(displayPath: string): Error {
  return new Error(`${displayPath} is not a regular file (a folder, a link, a pipe, a socket or a device).`);
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Counts lines. A line ending at the end of the text does not start another line. */
export async function countLines(text: string, pace: Pace): Promise<number> {
  let lines = 0;
  for (let from = 0; from < text.length; from += pieceSize) {
    const to = Math.min(text.length, from + pieceSize);
    for (let at = from; at < to; at += 1) if (text.charCodeAt(at) === newline) lines += 1;
    await pace();
  }
  return text === "" || text.endsWith("\n") ? lines : lines + 1;
}

/** The offset at which a line begins, with lines counted from 1. The length of the text if there is no such line. */
export async function findLineStart(text: string, line: number, pace: Pace): Promise<number> {
  if (line <= 1) return 0;
  let lines = 1;
  for (let from = 0; from < text.length; from += pieceSize) {
    const to = Math.min(text.length, from + pieceSize);
    for (let at = from; at < to; at += 1) {
      if (text.charCodeAt(at) !== newline) continue;
      lines += 1;
      if (lines === line) return at + 1;
    }
    await pace();
  }
  return text.length;
}

const newline = 10;
