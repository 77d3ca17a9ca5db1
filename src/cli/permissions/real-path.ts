/**
 * Real paths, for files and folders that may not exist yet.
 */
import { realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";

/** No system call takes a longer path. */
export const maxPathCharacters = 4_096;

/** Follows links as far as the path exists. */
export function resolveExistingPart(path: string): string {
  if (path.length > 2 * maxPathCharacters) return path;
  try {
    return realpathSync.native(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(resolveExistingPart(parent), basename(path));
  }
}

/**
 * The absolute path that a system call opens for a path. For `link/..` that is the parent of the folder to which the link leads,
 * and not the folder that holds the link, as `resolve` has it.
 */
export function followPath(folder: string, path: string): string {
  if (!path.includes("..") || path.length > maxPathCharacters) return resolve(folder, path);
  let resolvedPath = isAbsolute(path) ? "/" : folder;
  for (const name of path.split("/"))
    resolvedPath = name === ".." ? dirname(resolveExistingPart(resolvedPath)) : join(resolvedPath, name);
  return resolvedPath;
}
