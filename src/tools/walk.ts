/**
 * Folders, walked in one order: by name, a folder's files where the folder stands. Links are seen and never followed.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { compileGlob } from "./glob.js";
import { explained, type FilePosition } from "./root.js";

/** Above it a walk is stopped: nobody reads so much. */
export const maxEntriesWalked = 200_000;

export type Found = FilePosition & { readonly kind: "file" | "folder" | "link" | "other" };

export type WalkOptions = {
  readonly signal: AbortSignal;
  /** How many levels of folders; 1 is the folder's own entries. Default: all. */
  readonly depth?: number;
  /** Goes into `.git` and `node_modules` too. */
  readonly all?: boolean;
};

const skippedFolders: ReadonlySet<string> = new Set([".git", "node_modules"]);

/** Stops when the signal is aborted. Folders that may not be read are passed over, except the first. */
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

/** Whether a path fits a pattern, from the folder that was asked for or from the root: a model may mean either. */
export function filterByPattern(folder: FilePosition, pattern: string | undefined): (found: FilePosition) => boolean {
  if (pattern === undefined) return () => true;
  const fits = compileGlob(pattern);
  if (folder.shown === ".") return (found) => fits(found.shown);
  return (found) => fits(found.shown) || fits(found.shown.slice(folder.shown.length + 1));
}
