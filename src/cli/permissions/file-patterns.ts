/**
 * Expands patterns to file names, as a shell does: `*`, `?` and `[…]`, which do not match a leading dot.
 *
 * The result may have more names than the shell finds, and never fewer: a `[…]` matches any character. In a name with
 * characters other than plain ASCII, a `?` depends on the locale, so there it matches any number of characters.
 */
import { readdirSync } from "node:fs";
import { isAbsolute } from "node:path";
import { matchesName } from "./path-pattern.js";

const maxNames = 5_000;

/** Whether the only brackets of a pattern are lists and ranges of letters and digits: `[ab]`, `[0-9_]`. */
export function isPlainPattern(pattern: string): boolean {
  return !/[[\]]/.test(pattern.replace(/\[[A-Za-z0-9_-]+\]/g, ""));
}

/** @returns absolute paths, which may contain `..`; null if there are too many to check, or one that cannot be decoded */
export function findMatchingFiles(pattern: string, folder: string): readonly string[] | null {
  let matches: readonly string[] = [isAbsolute(pattern) ? "" : folder];
  let remaining = maxNames;
  for (const part of pattern.split("/").filter((name) => name !== "")) {
    if (!/[*?[]/.test(part)) {
      matches = matches.map((path) => `${path}/${part}`);
      continue;
    }
    const wanted = part.replace(/\[[^\]]*\]/g, "?");
    const wider = wanted.replaceAll("?", "*");
    const next: string[] = [];
    for (const path of matches)
      for (const name of listNames(path)) {
        remaining -= 1;
        // A name that is not UTF-8 cannot be looked up.
        if (remaining < 0 || name.includes("\ufffd")) return null;
        if (name.startsWith(".") !== wanted.startsWith(".")) continue;
        if (matchesName(/^[ -~]*$/.test(name) ? wanted : wider, name)) next.push(`${path}/${name}`);
      }
    matches = next;
  }
  return matches;
}

/** Some shells also match `.` and `..`: `.*`. */
function listNames(path: string): readonly string[] {
  try {
    return [".", "..", ...readdirSync(path === "" ? "/" : path)];
  } catch {
    return [];
  }
}
