/**
 * The file names of a folder, for completing `@path`: the files that the file tools see.
 */
import { findFiles } from "../../../tools/index.js";

/** Paths relative to the root, the shallowest first. */
export async function listFileNames(root: string, signal: AbortSignal): Promise<readonly string[]> {
  const paths = await findFiles({ root, signal });
  const byDepth = paths.map((path) => ({ path, depth: path.split("/").length }));
  return byDepth.sort((one, other) => one.depth - other.depth).map(({ path }) => path);
}

/** Finds the part of an `@path` before the cursor; null if there is none. */
export function findTypedPath(text: string, cursor: number): { readonly start: number; readonly words: string } | null {
  const found = /(?:^|\s)@([^\s"]*)$/.exec(text.slice(0, cursor));
  return found === null ? null : { start: cursor - (found[1] ?? "").length, words: found[1] ?? "" };
}

/** The names that contain the words. Names whose path or last segment begins with them come first. */
export function matchNames(names: readonly string[], words: string, max: number): readonly string[] {
  const lowerQuery = words.toLowerCase();
  const [first, others]: [string[], string[]] = [[], []];
  for (const name of names) {
    const lower = name.toLowerCase();
    if (!lower.includes(lowerQuery)) continue;
    const isFirst = lower.startsWith(lowerQuery) || lower.slice(lower.lastIndexOf("/") + 1).startsWith(lowerQuery);
    if (isFirst) first.push(name);
    else if (others.length < max) others.push(name);
    if (first.length >= max) break;
  }
  return [...first, ...others].slice(0, max);
}

/** Formats a path after the `@`: quoted if necessary, and followed by a space. */
export function formatMention(path: string): string {
  return /[\s"]/.test(path) ? `"${path}" ` : `${path} `;
}
