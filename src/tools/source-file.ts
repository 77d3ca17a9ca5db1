/**
 * Texts for a model's context, read from files: bounded, cut by whole lines, and never from outside their folder.
 */
import { isAbsolute, resolve } from "node:path";
import type { SourceTrust } from "../core/machine/sources.js";
import { warn } from "../platform/process.js";
import { counted } from "./counted.js";
import { openFile, usualAccess } from "./folder.js";
import { createRoot, inFolderOf, type MayReach, type Root, resolveInRoot } from "./root.js";

export type ReadText = {
  readonly text: string;
  /** The bytes of the whole file. */
  readonly bytes: number;
  /** The real path. */
  readonly path: string;
};

/** The folder as a root; null if there is no such folder. */
export function rootAt(path: string, mayReach?: MayReach): Root | null {
  try {
    return createRoot(path, [], usualAccess, mayReach);
  } catch {
    return null;
  }
}

/**
 * Reads the beginning of a text file, of which a link may not lead out of the root.
 *
 * @throws Error, in words, if the file is missing, no regular file, not readable, or outside the root
 */
export async function readBeginning(root: Root, path: string, mostBytes: number): Promise<ReadText> {
  const place = await resolveInRoot(root, path);
  return await inFolderOf(root, place, async (folder, name) => {
    const handle = await openFile(folder, name);
    if (handle === null) throw new Error(`${place.shown} is not a regular file.`);
    try {
      const { size } = await handle.stat();
      const buffer = new Uint8Array(Math.min(size, mostBytes));
      let length = 0;
      while (length < buffer.length) {
        const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length);
        if (bytesRead === 0) break;
        length += bytesRead;
      }
      const read = buffer.subarray(0, length);
      if (read.includes(0)) throw new Error(`${place.shown} is a binary file (${size} bytes).`);
      return { text: decoder.decode(read), bytes: Math.max(size, length), path: place.absolute };
    } finally {
      await handle.close();
    }
  });
}

const decoder = new TextDecoder();

/** The text, or its first whole lines and a note. `bytes` is the size of the whole. */
export function cutByLines({ text, bytes }: Pick<ReadText, "text" | "bytes">, mostBytes: number): string {
  const own = Buffer.byteLength(text);
  if (bytes <= mostBytes && own <= mostBytes) return text;
  const beginning = own <= mostBytes ? text : Buffer.from(text).subarray(0, mostBytes).toString();
  const end = beginning.lastIndexOf("\n");
  const shown = end === -1 ? "" : beginning.slice(0, end + 1);
  return `${shown}[Cut here: ${counted(Buffer.byteLength(shown), "byte")} of ${bytes} are shown.]`;
}

const told = new Set<string>();

/** Warns once in this process. */
export function warnOnce(message: string): void {
  if (told.has(message) || told.size >= mostWarnings) return;
  told.add(message);
  warn(message, "PAWL_SOURCES");
}

const mostWarnings = 1_000;

export const trusts: readonly SourceTrust[] = ["author", "user", "project"];

/** An absolute path. */
export function absolutePath(path: string): string {
  return isAbsolute(path) ? path : resolve(path);
}
