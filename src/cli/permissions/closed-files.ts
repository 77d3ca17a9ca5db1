/**
 * Finds the existing files of a folder that rules deny to every tool that reads. Commands in the sandbox do not see them.
 */
import { type Dirent, lstatSync } from "node:fs";
import { opendir } from "node:fs/promises";
import { join } from "node:path";
import { PawlError } from "../../index.js";
import { matchesWritten, matchesWrittenBelow } from "./decide.js";
import { type Rule, writesFiles } from "./rule.js";

/** Each hidden file is an argument of bubblewrap, which takes a few thousand. */
const defaultLimits = { maxEntries: 200_000, maxFiles: 1_000 };
/** Large folders in which patterns do not deny files. */
const skipped: ReadonlySet<string> = new Set(["node_modules", ".git"]);

/**
 * @throws PawlError `bad_configuration` if there are too many: a command could create files until the rest is not searched; the reason
 *   of the signal if it is aborted
 */
export async function findClosedFiles(
  root: string,
  rules: readonly Rule[],
  signal?: AbortSignal,
  limits = defaultLimits,
): Promise<readonly string[]> {
  const patterns = rules.flatMap(({ verdict, tool, about }) =>
    verdict === "deny" && about.kind === "path" && !writesFiles(tool) ? [about.pattern] : [],
  );
  const isWorthSearching = (folder: string) => patterns.some((pattern) => matchesWrittenBelow(pattern, folder, root));
  const found: string[] = [];
  const queue = isWorthSearching(root) ? [root] : [];
  let examined = 0;
  // A loop over an array also visits what is added meanwhile.
  for (const folder of queue) {
    for await (const entry of readEntries(folder)) {
      const { name } = entry;
      signal?.throwIfAborted();
      examined += 1;
      if (examined > limits.maxEntries)
        throw createError(`${limits.maxEntries} files and folders would have to be searched for denied files`);
      const path = join(folder, name);
      if (patterns.some((pattern) => matchesWritten(pattern, path, root))) found.push(path);
      else if (isFolder(entry, path) && !skipped.has(name) && isWorthSearching(path)) queue.push(path);
    }
  }
  if (found.length > limits.maxFiles) throw createError(`${limits.maxFiles} files are denied by rules`);
  return found;
}

function createError(what: string): PawlError {
  return new PawlError(
    "bad_configuration",
    `More than ${what}. The sandbox cannot hide them all from commands: write the rule for fewer folders, such as apps/*/.env.`,
  );
}

/** Reads a part of the folder at a time, so that other work can continue. An unreadable folder has no entries. */
async function* readEntries(folder: string): AsyncGenerator<Dirent> {
  try {
    yield* await opendir(folder);
  } catch (error) {
    if (!(error instanceof Error && "syscall" in error)) throw error;
  }
}

/** Some file systems do not say what an entry is. */
function isFolder(entry: Dirent, path: string): boolean {
  const isKnown = entry.isDirectory() || entry.isFile() || entry.isSymbolicLink();
  return isKnown ? entry.isDirectory() : lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
