/**
 * The home of commands: one for each folder, in the person's cache. Caches of package managers persist, and the commands of one
 * folder cannot leave anything for those of another.
 *
 * Commands can put anything into a home, including links, so Pawl only creates, measures and removes homes, and follows no links in
 * them.
 */
import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join } from "node:path";

type Environment = { readonly [name: string]: string | undefined };

/** `XDG_CACHE_HOME/pawl`, else `~/.cache/pawl`. */
export function locateCache({ XDG_CACHE_HOME: cache }: Environment): string {
  return join(cache !== undefined && isAbsolute(cache) ? cache : join(homedir(), ".cache"), "pawl");
}

/** The path of the home of a folder's commands, or of the folder's home with this name. */
export function locateCommandHome(cache: string, root: string, name?: string): string {
  return join(cache, "homes", name === undefined ? shortHash(root) : `${shortHash(root)}.${shortHash(name)}`);
}

const shortHash = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 24);

/** The homes of a folder: the home of its commands, and the named homes. Commands cannot add any. */
function listCommandHomes(cache: string, root: string): readonly string[] {
  const own = locateCommandHome(cache, root);
  try {
    const names = readdirSync(dirname(own)).filter((name) => name.split(".")[0] === basename(own));
    return names.map((name) => join(dirname(own), name));
  } catch {
    return [];
  }
}

/** Creates a home of commands if it does not exist. @returns its path; null if it cannot be created */
export function makeCommandHome(path: string): string | null {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return lstatSync(path).isDirectory() ? path : null;
  } catch {
    return null;
  }
}

/** Removes the homes of a folder. @returns whether there were any */
export function removeCommandHomes(cache: string, root: string): boolean {
  const homes = listCommandHomes(cache, root);
  for (const path of homes) rmSync(path, { recursive: true, force: true });
  return homes.length > 0;
}

/** The maximum number of entries that are counted. Beyond this number, the size is a lower bound. */
const maxEntries = 200_000;

export type FolderSize = { readonly bytes: number; readonly isWhole: boolean };

/** The total size of all files in the homes of a folder, in bytes. Links are not followed. */
export function measureCommandHomes(cache: string, root: string): FolderSize {
  let [bytes, examined] = [0, 0];
  const queue = [...listCommandHomes(cache, root)];
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
