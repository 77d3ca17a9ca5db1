/**
 * The home of commands: one for each folder, in the person's cache. Caches of package managers stay, and the commands of one folder
 * cannot leave anything for those of another.
 *
 * Commands can put anything there, including links, so Pawl only creates, measures and removes it, and follows no links in it.
 */
import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

type Environment = { readonly [name: string]: string | undefined };

/** `XDG_CACHE_HOME/pawl`, else `~/.cache/pawl`. */
export function locateCache({ XDG_CACHE_HOME: cache }: Environment): string {
  return join(cache !== undefined && isAbsolute(cache) ? cache : join(homedir(), ".cache"), "pawl");
}

/** The path of the home of a folder's commands. */
export function locateCommandHome(cache: string, root: string): string {
  return join(cache, "homes", createHash("sha256").update(root).digest("hex").slice(0, 24));
}

/** Creates the home of a folder's commands unless it exists. @returns its path; null if it cannot be created */
export function makeCommandHome(cache: string, root: string): string | null {
  try {
    const path = locateCommandHome(cache, root);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return lstatSync(path).isDirectory() ? path : null;
  } catch {
    return null;
  }
}

/** Removes the home of a folder's commands. @returns whether there was one */
export function removeCommandHome(cache: string, root: string): boolean {
  const path = locateCommandHome(cache, root);
  const exists = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  rmSync(path, { recursive: true, force: true });
  return exists;
}

/** The most entries that are counted. Beyond that the size is a lower bound. */
const maxEntries = 200_000;

export type FolderSize = { readonly bytes: number; readonly isWhole: boolean };

/** The bytes of all files below a folder. Links are not followed. */
export function measureFolder(top: string): FolderSize {
  let [bytes, examined] = [0, 0];
  const queue = [top];
  while (queue.length > 0) {
    const folder = queue.pop() ?? "";
    let names: readonly string[];
    try {
      names = readdirSync(folder);
    } catch {
      continue;
    }
    for (const name of names) {
      examined += 1;
      if (examined > maxEntries) return { bytes, isWhole: false };
      const path = join(folder, name);
      const found = lstatSync(path, { throwIfNoEntry: false });
      if (found?.isDirectory() === true) queue.push(path);
      else bytes += found?.size ?? 0;
    }
  }
  return { bytes, isWhole: true };
}
