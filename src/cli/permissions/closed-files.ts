/**
 * Finds the existing files of a folder that rules deny to every tool that reads. Commands in the sandbox do not see them.
 */
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { PawlError } from "../../index.js";
import { matchesWritten, matchesWrittenBelow } from "./decide.js";
import { type Rule, writesFiles } from "./rule.js";

/** Each hidden file is an argument of bubblewrap, which takes a few thousand. */
const defaultLimits = { maxEntries: 200_000, maxFiles: 1_000 };
/** Large folders in which nobody denies files by a pattern. */
const skipped: ReadonlySet<string> = new Set(["node_modules", ".git"]);

/** @throws PawlError `bad_configuration` if there are too many: a command could create files until the rest is not searched */
export function findClosedFiles(root: string, rules: readonly Rule[], limits = defaultLimits): readonly string[] {
  const patterns = rules.flatMap(({ verdict, tool, about }) =>
    verdict === "deny" && about.kind === "path" && !writesFiles(tool) ? [about.pattern] : [],
  );
  const isWorthSearching = (folder: string) => patterns.some((pattern) => matchesWrittenBelow(pattern, folder, root));
  const found: string[] = [];
  const queue = isWorthSearching(root) ? [root] : [];
  let examined = 0;
  // A loop over an array also visits what is added meanwhile.
  for (const folder of queue) {
    for (const name of listNames(folder)) {
      examined += 1;
      if (examined > limits.maxEntries)
        throw createError(`${limits.maxEntries} files and folders would have to be searched for`);
      const path = join(folder, name);
      const isFolder = lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
      if (patterns.some((pattern) => matchesWritten(pattern, path, root))) found.push(path);
      else if (isFolder && !skipped.has(name) && isWorthSearching(path)) queue.push(path);
    }
  }
  if (found.length > limits.maxFiles) throw createError(`${limits.maxFiles} files would have to be hidden as`);
  return found;
}

function createError(what: string): PawlError {
  return new PawlError(
    "bad_configuration",
    `More than ${what} files that rules deny. The sandbox cannot hide them all from commands: write the rule for fewer folders, such as apps/*/.env.`,
  );
}

function listNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
