/**
 * Replaces patterns by the names of files, as a shell does: `*`, `?` and `[…]`, of which a leading dot is no part.
 *
 * A `[…]` counts as any character, so there may be more names than the shell finds, and never fewer.
 */
import { readdirSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { matchesName } from "./path-pattern.js";

const maxNames = 5_000;

/** @returns absolute paths; null if there are too many to look at */
export function matchingFiles(pattern: string, folder: string): readonly string[] | null {
  let found: readonly string[] = [isAbsolute(pattern) ? "/" : folder];
  let left = maxNames;
  for (const part of pattern.split("/").filter((name) => name !== "")) {
    if (!/[*?[]/.test(part)) {
      found = found.map((path) => join(path, part));
      continue;
    }
    const wanted = part.replace(/\[[^\]]*\]/g, "?");
    const next: string[] = [];
    for (const path of found)
      for (const name of namesIn(path)) {
        left -= 1;
        if (left < 0) return null;
        if (name.startsWith(".") === wanted.startsWith(".") && matchesName(wanted, name)) next.push(join(path, name));
      }
    found = next;
  }
  return found;
}

function namesIn(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
