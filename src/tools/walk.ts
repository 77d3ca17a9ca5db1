/**
 * Walks folders in a fixed order: by name, and a folder's entries directly after the folder. Links are listed, never
 * followed.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { compileGlob } from "./glob.js";
import { explained, type FilePosition } from "./root.js";

/** A walk stops after this many entries. */
export const maxEntriesWalked = 200_000;

export type Found = FilePosition & { readonly kind: "file" | "folder" | "link" | "other" };

export type WalkOptions = {
  readonly signal: AbortSignal;
  /** Levels of folders. 1 means only the folder's own entries. Default: all. */
  readonly depth?: number;
  /** If true, `.git` and `node_modules` are walked too. */
  readonly all?: boolean;
};

const skippedFolders: ReadonlySet<string> = new Set([".git", "node_modules"]);

/** Throws if the signal is aborted, or if the first folder cannot be read. Other unreadable folders are skipped. */
export async function* walk(folder: FilePosition, options: WalkOptions): AsyncGenerator<Found> {
  const entries = await readdir(folder.absolute, { withFileTypes: true }).catch((error: unknown) => {
    throw explained(error, folder.shown);
  });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    options.signal.throwIfAborted();
    const place: FilePosition = {
      absolute: join(folder.absolute, entry.name),
      shown: folder.shown === "." ? entry.name : `${folder.shown}/${entry.name}`,
    };
    if (!entry.isDirectory()) {
      yield { ...place, kind: entry.isFile() ? "file" : entry.isSymbolicLink() ? "link" : "other" };
      continue;
    }
    yield { ...place, kind: "folder" };
    const isSkipped = options.all !== true && skippedFolders.has(entry.name);
    if (isSkipped || options.depth === 1) continue;
    yield* walkInside(place, options);
  }
}

async function* walkInside(folder: FilePosition, options: WalkOptions): AsyncGenerator<Found> {
  const { depth } = options;
  try {
    yield* walk(folder, depth === undefined ? options : { ...options, depth: depth - 1 });
  } catch (error) {
    if (options.signal.aborted || !isUnreadable(error)) throw error;
  }
}

function isUnreadable(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause && ["EACCES", "EPERM", "ENOENT"].includes(String(cause.code));
}

/** A pattern may match relative to the folder or to the root, because a model may mean either. */
export function filterByPattern(folder: FilePosition, pattern: string | undefined): (found: FilePosition) => boolean {
  if (pattern === undefined) return () => true;
  const fits = compileGlob(pattern);
  if (folder.shown === ".") return (found) => fits(found.shown);
  return (found) => fits(found.shown) || fits(found.shown.slice(folder.shown.length + 1));
}
