/**
 * Walks folders in a fixed order: by name, and a folder's entries directly after the folder. Links are listed, never
 * followed.
 *
 * 1. Each folder is opened in the folder above, which is held open, so the walk cannot be led out of the root (folder.ts).
 * 2. The number of entries and the depth are bounded, and a folder of any size is read and sorted in pieces.
 * 3. What Git ignores is left out, as Git itself leaves it out: a folder that is ignored is not entered.
 * 4. Entries are read synchronously, for a few milliseconds at a time: asking the thread pool for each one takes several times
 *    as long.
 */
import { type Dirent, opendirSync } from "node:fs";
import { sep } from "node:path";
import { counted } from "./counted.js";
import { assertInPlace, type Folder, openInner, pathIn, ReplacedError } from "./folder.js";
import { excludesAbove, readSmall, rulesOfRepository } from "./git-excludes.js";
import { compileGlob } from "./glob.js";
import { addIgnoreRules, type IgnoreRules, isIgnored } from "./ignore-rules.js";
import { isTurnOver, type Pace } from "./pace.js";
import type { FilePosition, MayReach } from "./root.js";
import { showPath } from "./shown-path.js";
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
  /** How many files the folder has in all. */
  readonly files: number;
};

export type WalkOptions = {
  readonly pace: Pace;
  /** Levels of folders. 1 means only the folder's own entries. Default: all. */
  readonly depth?: number | undefined;
  /** If true, `.git`, `node_modules` and what Git ignores are walked too. */
  readonly all?: boolean | undefined;
  /** The root of the tools: a real path. */
  readonly root: string;
  /** What may not be read is left out, with all that is below. */
  readonly mayReach: MayReach;
  /** What the caller compares each entry with: fewer entries are given at once if it is long. */
  readonly pattern?: string | undefined;
};

/**
 * What a walk left out. It is complete when the walk has ended. `ignored`: the files and folders that Git ignores,
 * without those in such folders.
 */
export type LeftOut = { tooMany: boolean; tooDeep: number; ignored: number };

export function nothingLeftOut(): LeftOut {
  return { tooMany: false, tooDeep: 0, ignored: 0 };
}

const skippedFolders: ReadonlySet<string> = new Set([".git", "node_modules"]);

/** @param isAlone whether nothing else was found, so that it helps to say how to look anyway */
export function ignoredNote({ ignored }: LeftOut, isAlone: boolean): string {
  if (ignored === 0) return "";
  return `; ${counted(ignored, "path")} that Git ignores left out${isAlone ? ", which all: true includes" : ""}`;
}

type Level = {
  readonly folder: Folder;
  /** From the root of the tools. */
  readonly path: string;
  readonly entries: readonly Dirent[];
  readonly files: number;
  readonly rules: IgnoreRules | null;
  /** The path of the folder as the rules have it: empty, or with a slash at its end. */
  readonly prefix: string;
  next: number;
};

/**
 * Walks an open folder, which stays open. It gives some entries of one folder at a time, because a step of a generator costs
 * more than an entry does. Folders that cannot be read are skipped.
 *
 * @throws a system error if the first folder cannot be read; the reason of an abort
 */
export async function* walk(
  top: Folder,
  { absolute, relative }: FilePosition,
  options: WalkOptions,
  leftOut: LeftOut,
): AsyncGenerator<readonly Found[]> {
  const { pace, root, all = false } = options;
  const depth = Math.min(options.depth ?? maxDepth, maxDepth);
  const above = all ? null : excludesAbove(absolute, root);
  const context = { ...options, all, leftOut, base: root.endsWith(sep) ? root : root + sep };
  const levels: Level[] = [await levelOf(top, relative, above?.rules ?? null, above?.prefix ?? "", context)];
  let room = maxEntriesWalked;
  try {
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      if (isTurnOver()) await pace();
      const from = level.next;
      const found = nextEntries(level, context, room);
      room -= level.next - from;
      if (found.length > 0) yield found;
      const last = found.at(-1);
      if (last !== undefined && isEntered(last, all)) {
        if (levels.length < depth) await enter(levels, level, last, context);
        else if (options.depth === undefined || options.depth > maxDepth) leftOut.tooDeep += 1;
      } else if (level.next === level.entries.length) {
        levels.pop();
        if (level.folder !== top) await level.folder.handle.close();
      } else if (room === 0) {
        leftOut.tooMany = true;
        return;
      }
    }
  } finally {
    for (const { folder } of levels) if (folder !== top) await folder.handle.close();
  }
}

function isEntered({ kind, name }: Found, all: boolean): boolean {
  return kind === "folder" && (all || !skippedFolders.has(name));
}

/** Looking at the clock costs more than an entry does: but not more than comparing it with a long pattern or many rules. */
const maxEntriesAtOnce = 32;

/** Most rules differ from a name in its first letters, so their steps count less than those of a pattern. */
function entriesAtOnce(pattern: string, rules: IgnoreRules | null): number {
  const compared = pattern.length + (rules?.steps ?? 0) / 32;
  return Math.max(1, Math.min(maxEntriesAtOnce, Math.floor((maxEntriesAtOnce * 32) / compared)));
}

/** The next entries of a folder, up to one that is entered. */
function nextEntries(level: Level, context: WalkContext, room: number): readonly Found[] {
  const { folder, path, files, rules, prefix, entries } = level;
  const { base, mayReach, leftOut, all, pattern = "" } = context;
  const taken: Found[] = [];
  const end = Math.min(entries.length, level.next + Math.min(entriesAtOnce(pattern, rules), room));
  while (level.next < end) {
    const entry = entries[level.next];
    level.next += 1;
    if (entry === undefined) break;
    const { name } = entry;
    const kind = kindOf(entry);
    if (rules !== null && isIgnored(rules, prefix + name, kind === "folder")) {
      leftOut.ignored += 1;
      continue;
    }
    const inner = path === "." ? name : `${path}/${name}`;
    const absolute = base + (sep === "/" ? inner : inner.replaceAll("/", sep));
    if (!mayReach(absolute, "read")) continue;
    const found = { absolute, relative: inner, shown: showPath(inner), kind, folder, name, files };
    taken.push(found);
    if (isEntered(found, all)) break;
  }
  return taken;
}

type WalkContext = WalkOptions & { readonly leftOut: LeftOut; readonly all: boolean; readonly base: string };

/** Reads the entries of a folder, and the rules that it adds. A repository within another one has rules of its own. */
async function levelOf(
  folder: Folder,
  path: string,
  above: IgnoreRules | null,
  prefix: string,
  { pace, leftOut, all }: WalkContext,
  isInner = false,
): Promise<Level> {
  const entries = await entriesOf(folder, pace, leftOut);
  const files = entries.reduce((count, entry) => (entry.isFile() ? count + 1 : count), 0);
  const level = { folder, path, entries, files, prefix, next: 0 };
  if (all) return { ...level, rules: null };
  const isRepository = isInner && entries.some(({ name }) => name === ".git");
  const rules = isRepository ? rulesOfRepository(folder.path, prefix) : above;
  const file = entries.some(({ name }) => name === ".gitignore") ? readSmall(pathIn(folder, ".gitignore")) : null;
  return { ...level, rules: file === null ? rules : addIgnoreRules(rules, file, prefix) };
}

function kindOf(entry: Dirent): Found["kind"] {
  if (entry.isDirectory()) return "folder";
  return entry.isFile() ? "file" : entry.isSymbolicLink() ? "link" : "other";
}

async function enter(
  levels: Level[],
  { rules, prefix }: Level,
  found: Pick<Found, "folder" | "name" | "relative">,
  context: WalkContext,
) {
  const folder = await openInner(found.folder, found.name).catch(nullIfUnreadable);
  if (folder === null) return;
  try {
    levels.push(await levelOf(folder, found.relative, rules, `${prefix}${found.name}/`, context, true));
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
  const listing = opendirSync(pathIn(folder, "."), { bufferSize: 512 });
  try {
    for (let entry = listing.readSync(); entry !== null; entry = listing.readSync()) {
      entries.push(entry);
      if (entries.length > maxEntriesWalked) {
        leftOut.tooMany = true;
        break;
      }
      if (entries.length % 512 === 0) await pace();
    }
  } finally {
    listing.closeSync();
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
