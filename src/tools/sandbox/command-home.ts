/**
 * The home of commands: one for each folder, below the person's cache. So caches stay, and one folder's commands cannot prepare what
 * those of another folder find.
 *
 * Commands can put anything there, also links. So Pawl never writes or follows anything in it, and only makes and removes it.
 */
import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

type Environment = { readonly [name: string]: string | undefined };

/** `XDG_CACHE_HOME/pawl`, else `~/.cache/pawl`. */
export function cacheFolder({ XDG_CACHE_HOME: cache }: Environment): string {
  return join(cache !== undefined && isAbsolute(cache) ? cache : join(homedir(), ".cache"), "pawl");
}

/** Where the home of a folder's commands is. */
export function commandHomePath(cache: string, root: string): string {
  return join(cache, "homes", createHash("sha256").update(root).digest("hex").slice(0, 24));
}

/** The home of a folder's commands, which is made if it does not exist; null if it cannot be made. */
export function makeCommandHome(cache: string, root: string): string | null {
  try {
    const path = commandHomePath(cache, root);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return lstatSync(path).isDirectory() ? path : null;
  } catch {
    return null;
  }
}

/** Removes the home of a folder's commands. @returns whether there was one */
export function removeCommandHome(cache: string, root: string): boolean {
  const path = commandHomePath(cache, root);
  const exists = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  rmSync(path, { recursive: true, force: true });
  return exists;
}

/** Entries that are counted before the answer is "at least". */
const maxEntries = 200_000;

export type FolderSize = { readonly bytes: number; readonly isWhole: boolean };

/** The bytes of all files below a folder. Links are not followed. */
export function measureFolder(top: string): FolderSize {
  let [bytes, looked] = [0, 0];
  const open = [top];
  while (open.length > 0) {
    const folder = open.pop() ?? "";
    let names: readonly string[];
    try {
      names = readdirSync(folder);
    } catch {
      continue;
    }
    for (const name of names) {
      looked += 1;
      if (looked > maxEntries) return { bytes, isWhole: false };
      const path = join(folder, name);
      const found = lstatSync(path, { throwIfNoEntry: false });
      if (found?.isDirectory() === true) open.push(path);
      else bytes += found?.size ?? 0;
    }
  }
  return { bytes, isWhole: true };
}
