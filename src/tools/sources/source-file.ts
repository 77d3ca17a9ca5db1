/**
 * Reads texts for a model's context from files: bounded, truncated to whole lines, and never from outside their folder.
 */
import { isAbsolute, resolve } from "node:path";
import type { SourceTrust } from "../../core/machine/sources.js";
import { warn } from "../../platform/process.js";
import { defaultAccess, openFile } from "../files/folder.js";
import { createRoot, type MayReach, type Root, resolveInRoot, withParentFolder } from "../files/root.js";
import { formatCount } from "../lib/format-count.js";

export type SourceFileText = {
  readonly text: string;
  /** The size of the whole file, in bytes. */
  readonly bytes: number;
  /** The real path. */
  readonly path: string;
};

/** Creates a root; null if there is no such folder. */
export function tryCreateRoot(path: string, mayReach?: MayReach): Root | null {
  try {
    return createRoot(path, [], defaultAccess, mayReach);
  } catch {
    return null;
  }
}

/**
 * Reads the beginning of a text file. A link must not lead out of the root.
 *
 * @throws Error if the file is missing, not a regular file, not readable, or outside the root
 */
export async function readFileStart(root: Root, path: string, maxBytes: number): Promise<SourceFileText> {
  const resolved = await resolveInRoot(root, path);
  return await withParentFolder(root, resolved, async (folder, name) => {
    const handle = await openFile(folder, name);
    if (handle === null) throw new Error(`${resolved.displayPath} is not a regular file.`);
    try {
      const { size } = await handle.stat();
      const buffer = new Uint8Array(Math.min(size, maxBytes));
      let length = 0;
      while (length < buffer.length) {
        const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length);
        if (bytesRead === 0) break;
        length += bytesRead;
      }
      const read = buffer.subarray(0, length);
      if (read.includes(0)) throw new Error(`${resolved.displayPath} is a binary file (${size} bytes).`);
      return { text: decoder.decode(read), bytes: Math.max(size, length), path: resolved.absolute };
    } finally {
      await handle.close();
    }
  });
}

const decoder = new TextDecoder();

/** Returns the text, or its first whole lines with a note. `bytes` is the size of the whole file. */
export function truncateByLines({ text, bytes }: Pick<SourceFileText, "text" | "bytes">, maxBytes: number): string {
  const textBytes = Buffer.byteLength(text);
  if (bytes <= maxBytes && textBytes <= maxBytes) return text;
  const beginning = textBytes <= maxBytes ? text : Buffer.from(text).subarray(0, maxBytes).toString();
  const end = beginning.lastIndexOf("\n");
  const shown = end === -1 ? "" : beginning.slice(0, end + 1);
  return `${shown}[Cut here: ${formatCount(Buffer.byteLength(shown), "byte")} of ${bytes} are shown.]`;
}

const warnedMessages = new Set<string>();

/** Warns once per process. */
export function warnOnce(message: string): void {
  if (warnedMessages.has(message) || warnedMessages.size >= maxWarnings) return;
  warnedMessages.add(message);
  warn(message, "PAWL_SOURCES");
}

const maxWarnings = 1_000;

export const trustLevels: readonly SourceTrust[] = ["author", "user", "project"];

/** Makes a path absolute. */
export function toAbsolutePath(path: string): string {
  return isAbsolute(path) ? path : resolve(path);
}
