/**
 * Reads files of the folder for the screen and for messages. Nothing outside the folder is read, also not through links.
 */
import { constants, realpathSync } from "node:fs";
import { isAbsolute, relative, resolve } from "node:path";
import { readSmallFile } from "./small-file.js";

/** Bytes. A larger file is not read. */
export const mostBytes = 1_000_000;

export type FolderFile =
  | { readonly type: "file"; readonly path: string; readonly bytes: Buffer }
  | { readonly type: "missing" }
  | { readonly type: "refused"; readonly why: string };

export function readFolderFile(root: string, path: string): FolderFile {
  try {
    const real = realpathSync(resolve(root, path));
    const shown = relative(realpathSync(root), real);
    if (shown === "" || shown === ".." || shown.startsWith("../") || isAbsolute(shown))
      return { type: "refused", why: "it is not in the folder" };
    const found = readSmallFile(real, mostBytes, constants.O_NOFOLLOW ?? 0);
    return found.type === "file" ? { ...found, path: shown } : found;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isMissing = code === "ENOENT" || code === "ENOTDIR";
    return isMissing ? { type: "missing" } : { type: "refused", why: `it cannot be read (${code})` };
  }
}

/** The text of a file; null if it is none in UTF-8, or cannot be read. */
export function textOfFolderFile(root: string, path: string): string | null {
  const found = readFolderFile(root, path);
  return found.type === "file" ? textOfBytes(found.bytes) : null;
}

export function textOfBytes(bytes: Buffer): string | null {
  try {
    return bytes.includes(0) ? null : new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
