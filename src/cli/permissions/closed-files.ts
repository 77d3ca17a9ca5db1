/**
 * The existing files of a folder that rules close to whatever reads. Commands in the sandbox do not see them.
 */
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { matchesWritten } from "./decide.js";
import { type Rule, writesFiles } from "./rule.js";

/** Entries that are looked at, and files that are hidden. */
const [maxEntries, maxFiles] = [50_000, 1_000];
/** Folders of packages and of Git: large, and without files that a person closes by a pattern. */
const skipped: ReadonlySet<string> = new Set(["node_modules", ".git"]);

export function findClosedFiles(root: string, rules: readonly Rule[]): readonly string[] {
  const patterns = rules.flatMap(({ verdict, tool, about }) =>
    verdict === "deny" && about.kind === "path" && !writesFiles(tool) ? [about.pattern] : [],
  );
  if (patterns.length === 0) return [];
  const found: string[] = [];
  const open = [root];
  for (let looked = 0; open.length > 0 && looked < maxEntries && found.length < maxFiles; ) {
    const folder = open.shift() ?? root;
    for (const name of namesIn(folder)) {
      looked += 1;
      const path = join(folder, name);
      const isFolder = lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
      if (patterns.some((pattern) => matchesWritten(pattern, path, root))) found.push(path);
      else if (isFolder && !skipped.has(name)) open.push(path);
    }
  }
  return found;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
