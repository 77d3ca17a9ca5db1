/**
 * Reads files of the folder for the screen and for messages. Nothing outside the folder is read, also not through links.
 */
import { constants, lstatSync, readlinkSync, realpathSync, type Stats } from "node:fs";
import { isAbsolute, relative, resolve } from "node:path";
import { readSmallFile } from "./small-file.js";

/** Bytes. A larger file is not read. */
export const mostBytes = 1_000_000;

export type FolderFile =
  | { readonly type: "file"; readonly path: string; readonly bytes: Buffer }
  | { readonly type: "missing" }
  | { readonly type: "refused"; readonly why: string };

/** @param most bytes of the file */
export function readFolderFile(root: string, path: string, most = mostBytes): FolderFile {
  const place = inFolder(root, path);
  if (place.type !== "inside") return place;
  try {
    const found = readSmallFile(place.real, most, constants.O_NOFOLLOW ?? 0, (opened, file) =>
      isAt(place.real, opened, file),
    );
    return found.type === "file" ? { ...found, path: place.path } : found;
  } catch (error) {
    return unreadable(error);
  }
}

/** Whether the open file is the one at the path, which had no links: a folder on the way may have become one before it was opened. */
function isAt(path: string, { dev, ino }: Stats, file: number): boolean {
  if (process.platform === "linux") return readlinkSync(`/proc/self/fd/${file}`) === path;
  const there = lstatSync(path);
  return there.dev === dev && there.ino === ino && realpathSync(path) === path;
}

/** Where something of the folder is, behind all links. */
export type PlaceInFolder =
  /** `path` is relative to the folder. */
  { readonly type: "inside"; readonly path: string; readonly real: string } | Exclude<FolderFile, { type: "file" }>;

export function inFolder(root: string, path: string): PlaceInFolder {
  try {
    const real = realpathSync(resolve(root, path));
    const shown = relative(realpathSync(root), real);
    if (shown === "" || shown === ".." || shown.startsWith("../") || isAbsolute(shown))
      return { type: "refused", why: "it is not in the folder" };
    return { type: "inside", path: shown, real };
  } catch (error) {
    return unreadable(error);
  }
}

function unreadable(error: unknown): Exclude<FolderFile, { type: "file" }> {
  const { code } = error as NodeJS.ErrnoException;
  const isMissing = code === "ENOENT" || code === "ENOTDIR";
  return isMissing ? { type: "missing" } : { type: "refused", why: `it cannot be read (${code})` };
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
