/**
 * Patterns for paths in rules: `*` and `?` within a name, `**` for any folders. Every other character is literal.
 *
 * Patterns are matched name by name, without regular expressions: the time is at most the length of the pattern times the
 * length of the path.
 */
import { homedir } from "node:os";
import type { CreateRuleError } from "./rule-types.js";

export type PathPattern = {
  /** Relative patterns apply to the folder of the session. */
  readonly isAbsolute: boolean;
  readonly names: readonly string[];
};

export function compilePathPattern(text: string, home: string, createError: CreateRuleError): PathPattern {
  const pattern = text.trim().replace(/^\.\/(?=.)/, "");
  const expanded = pattern.startsWith("~/") ? `${home}${pattern.slice(1)}` : pattern;
  if (/^!|\{[^}]*,[^}]*\}|[?*+@!]\(/.test(expanded))
    throw createError("paths support only *, ? and **. Write a rule for each alternative");
  const names = expanded.replace(/^\//, "").replace(/\/$/, "/**").split("/");
  if (names.some((name) => name === ".." || name === ".") && expanded !== ".")
    throw createError("a path in a rule cannot contain . or ..");
  if (names.some((name) => name.includes("**") && name !== "**"))
    throw createError("*** must be alone between slashes");
  return { isAbsolute: expanded.startsWith("/"), names: expanded === "." ? [] : names };
}

/** The home folder of the person, for `~/`. */
export const userHome = homedir();

/** @param path names joined by `/`, without a leading `/`; empty for the folder itself */
export function matchesPath({ names }: PathPattern, path: string, ignoreCase = false): boolean {
  return findPositions(names, path, ignoreCase).has(names.length);
}

/** Whether the pattern can match a path below this folder. */
export function matchesBelow({ names }: PathPattern, folder: string, ignoreCase = false): boolean {
  return [...findPositions(names, folder, ignoreCase)].some((at) => at < names.length);
}

/** The positions in the pattern that can be reached with a path. */
function findPositions(names: readonly string[], path: string, ignoreCase: boolean): ReadonlySet<number> {
  const foldCase = (text: string) => (ignoreCase ? text.toLowerCase() : text);
  const pathNames = path === "" ? [] : foldCase(path).split("/");
  let positions = skipFolders(new Set([0]), names);
  for (const part of pathNames) {
    const next = new Set<number>();
    for (const at of positions) {
      const name = names[at];
      if (name === "**") next.add(at);
      else if (name !== undefined && matchesName(foldCase(name), part)) next.add(at + 1);
    }
    positions = skipFolders(next, names);
  }
  return positions;
}

/** `**` also matches no folder at all. */
function skipFolders(positions: Set<number>, names: readonly string[]): Set<number> {
  for (const at of positions) if (names[at] === "**") positions.add(at + 1);
  return positions;
}

/** Backtracks only to the last `*`, which is enough for patterns of one name. */
export function matchesName(pattern: string, name: string): boolean {
  let [at, nameIndex, star, from] = [0, 0, -1, 0];
  while (nameIndex < name.length) {
    if (pattern[at] === "*") [star, from, at] = [at, nameIndex, at + 1];
    else if (at < pattern.length && (pattern[at] === "?" || pattern[at] === name[nameIndex]))
      [at, nameIndex] = [at + 1, nameIndex + 1];
    else if (star === -1) return false;
    else [at, nameIndex, from] = [star + 1, from + 1, from + 1];
  }
  while (pattern[at] === "*") at += 1;
  return at === pattern.length;
}
