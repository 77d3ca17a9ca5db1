/**
 * The names of the files in a folder, for completing `@path`. Git's ignore rules count, and links are not followed.
 */
import { opendir } from "node:fs/promises";
import { join } from "node:path";
import { mostBytes } from "../folder-file.js";
import { readSmallText } from "../small-file.js";
import { type IgnoreRule, ignoreRulesOf, isIgnored } from "./ignore-rules.js";

const mostFiles = 20_000;
const mostEntries = 100_000;
const mostDepth = 40;
/** Characters of an ignore file. */
const mostRules = 100_000;

/** Paths relative to the root, those nearer to it first. */
export async function fileNames(root: string, signal: AbortSignal): Promise<readonly string[]> {
  const files: string[] = [];
  let level: { readonly path: string; readonly rules: readonly IgnoreRule[] }[] = [{ path: "", rules: [] }];
  let entries = 0;
  for (let depth = 0; depth < mostDepth && level.length > 0; depth += 1) {
    const next: typeof level = [];
    for (const { path, rules: above } of level) {
      const rules = [...above, ...rulesIn(join(root, path), path)];
      const names: string[] = [];
      try {
        for await (const entry of await opendir(join(root, path))) {
          signal.throwIfAborted();
          entries += 1;
          if (entries > mostEntries || files.length + names.length >= mostFiles) return [...files, ...names.sort()];
          const inner = `${path}${entry.name}`;
          const isFolder = entry.isDirectory();
          if (entry.name === ".git" || isIgnored(rules, inner, isFolder)) continue;
          if (isFolder) next.push({ path: `${inner}/`, rules });
          else if (entry.isFile()) names.push(inner);
        }
      } catch (error) {
        // A folder that cannot be read has no names for us.
        if (signal.aborted) throw error;
      }
      for (const name of names.sort()) files.push(name);
    }
    level = next.sort((one, other) => (one.path < other.path ? -1 : 1));
  }
  return files;
}

function rulesIn(folder: string, base: string): readonly IgnoreRule[] {
  try {
    const text = readSmallText(join(folder, ".gitignore"), mostBytes, Error) ?? "";
    return ignoreRulesOf(text.slice(0, mostRules), base);
  } catch {
    return [];
  }
}

/** The beginning of a path that stands before the cursor; null if there is none. */
export function pathBeing(text: string, cursor: number): { readonly start: number; readonly words: string } | null {
  const found = /(?:^|\s)@([^\s"]*)$/.exec(text.slice(0, cursor));
  return found === null ? null : { start: cursor - (found[1] ?? "").length, words: found[1] ?? "" };
}

/** The names that have the words, those whose last part begins with them first. */
export function matchingNames(names: readonly string[], words: string, most: number): readonly string[] {
  const sought = words.toLowerCase();
  const [first, others]: [string[], string[]] = [[], []];
  for (const name of names) {
    const lower = name.toLowerCase();
    if (!lower.includes(sought)) continue;
    const isFirst = lower.startsWith(sought) || lower.slice(lower.lastIndexOf("/") + 1).startsWith(sought);
    if (isFirst) first.push(name);
    else if (others.length < most) others.push(name);
    if (first.length >= most) break;
  }
  return [...first, ...others].slice(0, most);
}

/** How a path is written behind the `@`. */
export function writtenPath(path: string): string {
  return /[\s"]/.test(path) ? `"${path}" ` : `${path} `;
}
