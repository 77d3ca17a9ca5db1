/**
 * Resolves real paths, including those of files and folders that do not exist yet.
 */
import { realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";

/** The longest path that system calls accept. */
export const maxPathCharacters = 4_096;

/** Resolves links in the part of the path that exists. */
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
 * The absolute path that a system call opens. For `link/..`, that is the parent of the link's target, not the folder that
 * contains the link, which `resolve` would return.
 */
export function followPath(folder: string, path: string): string {
  if (!path.includes("..") || path.length > maxPathCharacters) return resolve(folder, path);
  let resolvedPath = isAbsolute(path) ? "/" : folder;
  for (const name of path.split("/"))
    resolvedPath = name === ".." ? dirname(resolveExistingPart(resolvedPath)) : join(resolvedPath, name);
  return resolvedPath;
}
