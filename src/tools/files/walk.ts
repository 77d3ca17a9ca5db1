/**
 * Walks folders in a fixed order: by name, with a folder's entries directly after the folder. Links are listed, never
 * followed.
 *
 * 1. Each folder is opened in its parent, which is kept open, so the walk cannot be led out of the root (folder.ts).
 * 2. The number of entries and the depth are bounded, and a folder of any size is read and sorted in pieces.
 * 3. Files that Git ignores are omitted as Git does it: an ignored folder is not entered.
 * 4. Folders are opened and read synchronously, for a few milliseconds at a time: a thread pool call for each one takes several
 *    times as long.
 */
import { type Dirent, opendirSync } from "node:fs";
import { sep } from "node:path";
import { formatCount } from "../lib/format-count.js";
import { isTurnOver, type Pace } from "../lib/pace.js";
import { sortInPieces } from "../lib/sort-in-pieces.js";
import { assertNotReplaced, closeFolder, type Folder, FolderReplacedError, openSubfolder, pathIn } from "./folder.js";
import { loadExcludesAbove, loadRepositoryRules, readSmallFile } from "./git-excludes.js";
import { compileGlob } from "./glob.js";
import { addIgnoreRules, type IgnoreRules, isIgnored } from "./ignore-rules.js";
import type { MayReach, ResolvedPath } from "./root.js";
import { codeOf } from "./system-errors.js";

/** A walk stops after this many entries. */
export const maxEntriesWalked = 200_000;

/** Deeper folders are not entered, because a folder is kept open for each level. */
export const maxDepth = 100;

export type WalkEntry = Pick<ResolvedPath, "relative"> & {
  readonly kind: "file" | "folder" | "link" | "other";
  /** The folder that contains the entry. It is open until the walk continues. */
  readonly folder: Folder;
  readonly name: string;
  /** The total number of files in the folder. */
  readonly files: number;
};

export type WalkOptions = {
  readonly pace: Pace;
  /** The number of levels. 1 means only the folder's own entries. Default: all. */
  readonly depth?: number | undefined;
  /** If true, `.git`, `node_modules` and files that Git ignores are also walked. */
  readonly all?: boolean | undefined;
  /** The root of the tools: a real path. */
  readonly root: string;
  /** Entries that may not be read are omitted, with everything below them. */
  readonly mayReach: MayReach;
  /** The pattern that the caller matches each entry with. With a long pattern, fewer entries are yielded at once. */
  readonly pattern?: string | undefined;
};

/**
 * The entries that a walk has omitted; complete when the walk has ended. `ignored`: the files and folders that Git ignores, without
 * those inside ignored folders.
 */
export type WalkOmissions = { tooMany: boolean; tooDeep: number; ignored: number };

export function createOmissions(): WalkOmissions {
  return { tooMany: false, tooDeep: 0, ignored: 0 };
}

const skippedFolders: ReadonlySet<string> = new Set([".git", "node_modules"]);

/** @param foundNothing whether nothing was found, so that a hint about `all: true` is useful */
export function formatIgnoredNote({ ignored }: WalkOmissions, foundNothing: boolean): string {
  if (ignored === 0) return "";
  return `; ${formatCount(ignored, "path")} that Git ignores left out${foundNothing ? ", which all: true includes" : ""}`;
}

type Level = {
  readonly folder: Folder;
  /** Relative to the root of the tools. */
  readonly path: string;
  readonly entries: readonly Dirent[];
  readonly files: number;
  readonly rules: IgnoreRules | null;
  /** The folder's path as the rules see it: empty, or with a trailing slash. */
  readonly prefix: string;
  next: number;
};

/**
 * Walks an open folder, which stays open. It yields several entries of a folder at a time, because a generator step costs more than
 * an entry. Unreadable folders are skipped.
 *
 * @throws a system error if the first folder cannot be read; the signal's reason after an abort
 */
export async function* walk(
  top: Folder,
  { absolute, relative }: ResolvedPath,
  options: WalkOptions,
  omissions: WalkOmissions,
): AsyncGenerator<readonly WalkEntry[]> {
  const { pace, root, all = false } = options;
  const depth = Math.min(options.depth ?? maxDepth, maxDepth);
  const above = all ? null : loadExcludesAbove(absolute, root);
  const context = { ...options, all, omissions, base: root.endsWith(sep) ? root : root + sep };
  const levels: Level[] = [await openLevel(top, relative, above?.rules ?? null, above?.prefix ?? "", context)];
  let remaining = maxEntriesWalked;
  try {
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      if (isTurnOver()) await pace();
      const from = level.next;
      const found = nextEntries(level, context, remaining);
      remaining -= level.next - from;
      if (found.length > 0) yield found;
      const last = found.at(-1);
      if (last !== undefined && shouldEnter(last, all)) {
        if (levels.length < depth) await enterFolder(levels, level, last, context);
        else if (options.depth === undefined || options.depth > maxDepth) omissions.tooDeep += 1;
      } else if (level.next === level.entries.length) {
        levels.pop();
        if (level.folder !== top) closeFolder(level.folder);
      } else if (remaining === 0) {
        omissions.tooMany = true;
        return;
      }
    }
  } finally {
    for (const { folder } of levels) if (folder !== top) closeFolder(folder);
  }
}

function shouldEnter({ kind, name }: WalkEntry, all: boolean): boolean {
  return kind === "folder" && (all || !skippedFolders.has(name));
}

/** The pace is checked once per this many entries: a check costs more than an entry, unless the pattern or the rules are long. */
const maxEntriesAtOnce = 32;

/** Most rules differ from a name in the first letters, so their steps weigh less than those of a pattern. */
function countEntriesAtOnce(pattern: string, rules: IgnoreRules | null): number {
  const compared = pattern.length + (rules?.steps ?? 0) / 32;
  return Math.max(1, Math.min(maxEntriesAtOnce, Math.floor((maxEntriesAtOnce * 32) / compared)));
}

/** The next entries of a folder, up to the first folder that is entered. */
function nextEntries(level: Level, context: WalkContext, remaining: number): readonly WalkEntry[] {
  const { folder, path, files, rules, prefix, entries } = level;
  const { base, mayReach, omissions, all, pattern = "" } = context;
  const nextFound: WalkEntry[] = [];
  const end = Math.min(entries.length, level.next + Math.min(countEntriesAtOnce(pattern, rules), remaining));
  while (level.next < end) {
    const entry = entries[level.next];
    level.next += 1;
    if (entry === undefined) break;
    const { name } = entry;
    const kind = kindOf(entry);
    if (rules !== null && isIgnored(rules, prefix + name, kind === "folder")) {
      omissions.ignored += 1;
      continue;
    }
    const inner = path === "." ? name : `${path}/${name}`;
    const absolute = base + (sep === "/" ? inner : inner.replaceAll("/", sep));
    if (!mayReach(absolute, "read")) continue;
    const found = { relative: inner, kind, folder, name, files };
    nextFound.push(found);
    if (shouldEnter(found, all)) break;
  }
  return nextFound;
}

type WalkContext = WalkOptions & { readonly omissions: WalkOmissions; readonly all: boolean; readonly base: string };

/** Reads the entries of a folder, and the rules that it adds. A nested repository has its own rules. */
async function openLevel(
  folder: Folder,
  path: string,
  above: IgnoreRules | null,
  prefix: string,
  { pace, omissions, all }: WalkContext,
  isInner = false,
): Promise<Level> {
  const entries = await readEntries(folder, pace, omissions);
  const files = entries.reduce((count, entry) => (entry.isFile() ? count + 1 : count), 0);
  const level = { folder, path, entries, files, prefix, next: 0 };
  if (all) return { ...level, rules: null };
  const isRepository = isInner && entries.some(({ name }) => name === ".git");
  const rules = isRepository ? loadRepositoryRules(folder.path, prefix) : above;
  const file = entries.some(({ name }) => name === ".gitignore") ? readSmallFile(pathIn(folder, ".gitignore")) : null;
  return { ...level, rules: file === null ? rules : addIgnoreRules(rules, file, prefix) };
}

function kindOf(entry: Dirent): WalkEntry["kind"] {
  if (entry.isDirectory()) return "folder";
  return entry.isFile() ? "file" : entry.isSymbolicLink() ? "link" : "other";
}

async function enterFolder(
  levels: Level[],
  { rules, prefix }: Level,
  found: Pick<WalkEntry, "folder" | "name" | "relative">,
  context: WalkContext,
) {
  const folder = await openSubfolder(found.folder, found.name, { sync: true }).catch(nullIfUnreadable);
  if (folder === null) return;
  try {
    levels.push(await openLevel(folder, found.relative, rules, `${prefix}${found.name}/`, context, true));
  } catch (error) {
    closeFolder(folder);
    nullIfUnreadable(error);
  }
}

/** @throws the error, unless it means that a folder is unreadable */
function nullIfUnreadable(error: unknown): null {
  if (error instanceof FolderReplacedError || unreadableCodes.has(codeOf(error))) return null;
  throw error;
}

const unreadableCodes: ReadonlySet<string> = new Set(["EACCES", "EPERM", "ENOENT", "ENOTDIR"]);

/** The entries of a folder, sorted by name, limited to the number that a walk visits. */
async function readEntries(folder: Folder, pace: Pace, omissions: WalkOmissions): Promise<readonly Dirent[]> {
  const entries: Dirent[] = [];
  const listing = opendirSync(pathIn(folder, "."), { bufferSize: 512 });
  try {
    for (let entry = listing.readSync(); entry !== null; entry = listing.readSync()) {
      entries.push(entry);
      if (entries.length > maxEntriesWalked) {
        omissions.tooMany = true;
        break;
      }
      if (entries.length % 512 === 0) await pace();
    }
  } finally {
    listing.closeSync();
  }
  await assertNotReplaced(folder);
  return await sortInPieces(entries, (a, b) => (a.name < b.name ? -1 : 1), pace);
}

/** A pattern may match relative to the folder or to the root, because a model may mean either. */
export function createPatternFilter(
  folder: ResolvedPath,
  pattern: string | undefined,
): (found: Pick<ResolvedPath, "relative">) => boolean {
  if (pattern === undefined) return () => true;
  const matches = compileGlob(pattern);
  if (folder.relative === ".") return (found) => matches(found.relative);
  return (found) => matches(found.relative) || matches(found.relative.slice(folder.relative.length + 1));
}
