/**
 * Patterns for paths in rules: `*` and `?` within a name, `**` for any folders. Everything else stands for itself.
 *
 * They are matched name by name, and no regular expression is made of them: the time is at most the length of the pattern
 * times the length of the path.
 */
import { homedir } from "node:os";
import type { Refuse } from "./rule-text.js";

export type PathPattern = {
  /** Relative patterns are about the folder of the session. */
  readonly isAbsolute: boolean;
  readonly names: readonly string[];
};

export function compilePathPattern(text: string, home: string, refuse: Refuse): PathPattern {
  const pattern = text.trim().replace(/^\.\/(?=.)/, "");
  const whole = pattern.startsWith("~/") ? `${home}${pattern.slice(1)}` : pattern;
  if (/^!|\{[^}]*,[^}]*\}|[?*+@!]\(/.test(whole))
    throw refuse("only *, ? and ** have a meaning in paths. Write a rule for each alternative");
  const names = whole.replace(/^\//, "").replace(/\/$/, "/**").split("/");
  if (names.some((name) => name === ".." || name === ".") && whole !== ".")
    throw refuse("a path in a rule has no . or .. in it");
  if (names.some((name) => name.includes("**") && name !== "**")) throw refuse("** stands alone between slashes");
  return { isAbsolute: whole.startsWith("/"), names: whole === "." ? [] : names };
}

/** The home folder of the person, for `~/`. */
export const personalFolder = homedir();

/** @param path names with `/` between them, without one at the beginning; empty for the folder itself */
export function matchesPath({ names }: PathPattern, path: string, ignoreCase = false): boolean {
  const folded = (text: string) => (ignoreCase ? text.toLowerCase() : text);
  const parts = path === "" ? [] : folded(path).split("/");
  // Which numbers of names, from the beginning of the pattern, can fit all parts so far.
  let fitting = afterFolders(new Set([0]), names);
  for (const part of parts) {
    const next = new Set<number>();
    for (const at of fitting) {
      const name = names[at];
      if (name === "**") next.add(at);
      else if (name !== undefined && matchesName(folded(name), part)) next.add(at + 1);
    }
    fitting = afterFolders(next, names);
  }
  return fitting.has(names.length);
}

/** `**` fits no folder, too. */
function afterFolders(fitting: Set<number>, names: readonly string[]): Set<number> {
  for (const at of fitting) if (names[at] === "**") fitting.add(at + 1);
  return fitting;
}

/** Goes back to the last `*` only, which is enough for patterns of one line. */
export function matchesName(pattern: string, name: string): boolean {
  let [at, in_, star, from] = [0, 0, -1, 0];
  while (in_ < name.length) {
    if (pattern[at] === "*") [star, from, at] = [at, in_, at + 1];
    else if (at < pattern.length && (pattern[at] === "?" || pattern[at] === name[in_])) [at, in_] = [at + 1, in_ + 1];
    else if (star === -1) return false;
    else [at, in_, from] = [star + 1, from + 1, from + 1];
  }
  while (pattern[at] === "*") at += 1;
  return at === pattern.length;
}
