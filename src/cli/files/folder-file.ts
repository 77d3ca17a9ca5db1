/**
 * Reads files of the folder for the screen and for messages. Nothing outside the folder is read, not even through links.
 */
import { createHash } from "node:crypto";
import { constants, lstatSync, readlinkSync, realpathSync, type Stats } from "node:fs";
import { isAbsolute, relative, resolve } from "node:path";
import { readSmallFile } from "./small-file.js";

/** The default maximum size of a file; bytes. A larger one is not read. */
export const maxBytes = 1_000_000;

export type FolderFile =
  | { readonly type: "file"; readonly path: string; readonly bytes: Buffer }
  | { readonly type: "missing" }
  | { readonly type: "refused"; readonly why: string };

/** @param maxSize the maximum size; bytes */
export function readFolderFile(root: string, path: string, maxSize = maxBytes): FolderFile {
  const resolved = resolveInFolder(root, path);
  if (resolved.type !== "inside") return resolved;
  try {
    const result = readSmallFile(resolved.real, maxSize, constants.O_NOFOLLOW ?? 0, (opened, file) =>
      isSameFile(resolved.real, opened, file),
    );
    return result.type === "file" ? { ...result, path: resolved.path } : result;
  } catch (error) {
    return toUnreadable(error);
  }
}

/** The hash of a file's content, as stores compute it; null if there is no file, undefined if it cannot be read. */
export function hashFolderFile(root: string, path: string): string | null | undefined {
  const file = readFolderFile(root, path);
  if (file.type === "missing") return null;
  return file.type === "file" ? createHash("sha256").update(file.bytes).digest("hex") : undefined;
}

/**
 * Whether the open file is the one at this path. The path had no links, but a parent folder may have become one before the file was
 * opened.
 */
function isSameFile(path: string, { dev, ino }: Stats, file: number): boolean {
  if (process.platform === "linux") return readlinkSync(`/proc/self/fd/${file}`) === path;
  const current = lstatSync(path);
  return current.dev === dev && current.ino === ino && realpathSync(path) === path;
}

/** A path in the folder, with all links resolved. */
export type FolderPath =
  /** `path` is relative to the folder. */
  { readonly type: "inside"; readonly path: string; readonly real: string } | Exclude<FolderFile, { type: "file" }>;

export function resolveInFolder(root: string, path: string): FolderPath {
  try {
    const real = realpathSync(resolve(root, path));
    const relativePath = relative(realpathSync(root), real);
    if (relativePath === "" || relativePath === ".." || relativePath.startsWith("../") || isAbsolute(relativePath))
      return { type: "refused", why: "it is not in the folder" };
    return { type: "inside", path: relativePath, real };
  } catch (error) {
    return toUnreadable(error);
  }
}

function toUnreadable(error: unknown): Exclude<FolderFile, { type: "file" }> {
  const { code } = error as NodeJS.ErrnoException;
  const isMissing = code === "ENOENT" || code === "ENOTDIR";
  return isMissing ? { type: "missing" } : { type: "refused", why: `it cannot be read (${code})` };
}

/** The text of a file; null if it is not valid UTF-8 text, or cannot be read. */
export function readFolderText(root: string, path: string): string | null {
  const result = readFolderFile(root, path);
  return result.type === "file" ? decodeText(result.bytes) : null;
}

export function decodeText(bytes: Buffer): string | null {
  try {
    return bytes.includes(0) ? null : new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
