/**
 * Walks folders in a fixed order: by name, and a folder's entries directly after the folder. Links are listed, never
 * followed.
 *
 * Each folder is opened in the folder above, which is held open, so the walk cannot be led out of the root (folder.ts).
 * The number of entries and the depth are bounded, and a folder of any size is read and sorted in pieces.
 */
import type { Dirent } from "node:fs";
import { opendir } from "node:fs/promises";
import { join } from "node:path";
import { assertInPlace, type Folder, openInner, pathIn, ReplacedError } from "./folder.js";
import { compileGlob } from "./glob.js";
import type { Pace } from "./pace.js";
import { type FilePosition, type MayReach, positionOf } from "./root.js";
import { sortInPieces } from "./sort.js";
import { codeOf } from "./system-errors.js";

/** A walk stops after this many entries. */
export const maxEntriesWalked = 200_000;

/** Folders below this depth are not entered: each level holds a folder open. */
export const maxDepth = 100;

export type Found = FilePosition & {
  readonly kind: "file" | "folder" | "link" | "other";
  /** The folder in which it was found. It is open until the walk goes on. */
  readonly folder: Folder;
  readonly name: string;
};

export type WalkOptions = {
  readonly pace: Pace;
  /** Levels of folders. 1 means only the folder's own entries. Default: all. */
  readonly depth?: number | undefined;
  /** If true, `.git` and `node_modules` are walked too. */
  readonly all?: boolean | undefined;
  /** What may not be read is left out, with all that is below. */
  readonly mayReach: MayReach;
};

/** What a walk left out. It is complete when the walk has ended. */
export type LeftOut = { tooMany: boolean; tooDeep: number };

const skippedFolders: ReadonlySet<string> = new Set([".git", "node_modules"]);

type Level = { readonly folder: Folder; readonly path: string; readonly entries: readonly Dirent[]; next: number };

/**
 * Walks an open folder, which stays open. Folders that cannot be read are skipped.
 *
 * @throws a system error if the first folder cannot be read; the reason of an abort
 */
export async function* walk(
  top: Folder,
  { absolute, relative }: FilePosition,
  options: WalkOptions,
  leftOut: LeftOut,
): AsyncGenerator<Found> {
  const { pace, all = false, mayReach } = options;
  const depth = Math.min(options.depth ?? maxDepth, maxDepth);
  const levels: Level[] = [{ folder: top, path: relative, entries: await entriesOf(top, pace, leftOut), next: 0 }];
  let walked = 0;
  try {
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      await pace();
      const entry = level.entries[level.next];
      level.next += 1;
      if (entry === undefined) {
        levels.pop();
        if (level.folder !== top) await level.folder.handle.close();
        continue;
      }
      walked += 1;
      if (walked > maxEntriesWalked) {
        leftOut.tooMany = true;
        return;
      }
      const { folder, path } = level;
      const inner = path === "." ? entry.name : `${path}/${entry.name}`;
      const found = { ...positionOf(join(absolute, inner), inner), folder, name: entry.name };
      if (!mayReach(found.absolute, "read")) continue;
      yield { ...found, kind: kindOf(entry) };
      if (!entry.isDirectory() || (!all && skippedFolders.has(entry.name))) continue;
      if (levels.length < depth) await enter(levels, found, pace, leftOut);
      else if (options.depth === undefined || options.depth > maxDepth) leftOut.tooDeep += 1;
    }
  } finally {
    for (const { folder } of levels) if (folder !== top) await folder.handle.close();
  }
}

function kindOf(entry: Dirent): Found["kind"] {
  if (entry.isDirectory()) return "folder";
  return entry.isFile() ? "file" : entry.isSymbolicLink() ? "link" : "other";
}

async function enter(
  levels: Level[],
  found: Pick<Found, "folder" | "name" | "relative">,
  pace: Pace,
  leftOut: LeftOut,
) {
  const folder = await openInner(found.folder, found.name).catch(nullIfUnreadable);
  if (folder === null) return;
  try {
    const entries = await entriesOf(folder, pace, leftOut);
    levels.push({ folder, path: found.relative, entries, next: 0 });
  } catch (error) {
    await folder.handle.close();
    nullIfUnreadable(error);
  }
}

/** @throws the error, if it does not mean that a folder cannot be read */
function nullIfUnreadable(error: unknown): null {
  if (error instanceof ReplacedError || unreadable.has(codeOf(error))) return null;
  throw error;
}

const unreadable: ReadonlySet<string> = new Set(["EACCES", "EPERM", "ENOENT", "ENOTDIR"]);

/** The entries of a folder by name, but at most as many as a walk takes. */
async function entriesOf(folder: Folder, pace: Pace, leftOut: LeftOut): Promise<readonly Dirent[]> {
  const entries: Dirent[] = [];
  for await (const entry of await opendir(pathIn(folder, "."), { bufferSize: 512 })) {
    entries.push(entry);
    if (entries.length > maxEntriesWalked) {
      leftOut.tooMany = true;
      break;
    }
    if (entries.length % 512 === 0) await pace();
  }
  await assertInPlace(folder);
  return await sortInPieces(entries, (a, b) => (a.name < b.name ? -1 : 1), pace);
}

/** A pattern may match relative to the folder or to the root, because a model may mean either. */
export function filterByPattern(folder: FilePosition, pattern: string | undefined): (found: FilePosition) => boolean {
  if (pattern === undefined) return () => true;
  const fits = compileGlob(pattern);
  if (folder.relative === ".") return (found) => fits(found.relative);
  return (found) => fits(found.relative) || fits(found.relative.slice(folder.relative.length + 1));
}
