/**
 * Finds the existing files of a folder that rules deny to every tool that reads. Commands in the sandbox do not see them.
 */
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { matchesWritten } from "./decide.js";
import { type Rule, writesFiles } from "./rule.js";

/** The most entries that are examined, and the most files that are hidden. */
const [maxEntries, maxFiles] = [50_000, 1_000];
/** Large folders in which nobody denies files by a pattern. */
const skipped: ReadonlySet<string> = new Set(["node_modules", ".git"]);

export function findClosedFiles(root: string, rules: readonly Rule[]): readonly string[] {
  const patterns = rules.flatMap(({ verdict, tool, about }) =>
    verdict === "deny" && about.kind === "path" && !writesFiles(tool) ? [about.pattern] : [],
  );
  if (patterns.length === 0) return [];
  const found: string[] = [];
  const queue = [root];
  for (let examined = 0; queue.length > 0 && examined < maxEntries && found.length < maxFiles; ) {
    const folder = queue.shift() ?? root;
    for (const name of listNames(folder)) {
      examined += 1;
      const path = join(folder, name);
      const isFolder = lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
      if (patterns.some((pattern) => matchesWritten(pattern, path, root))) found.push(path);
      else if (isFolder && !skipped.has(name)) queue.push(path);
    }
  }
  return found;
}

function listNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
