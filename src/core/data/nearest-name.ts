/**
 * The known name that was probably meant by an unknown one.
 */

/** The most characters of a name that is compared. A longer one is no typing mistake. */
const longestName = 64;

/**
 * The nearest of the known names; undefined if none is near. Case, `_` and `-` do not count.
 *
 * @example
 * ```ts
 * import { nearestName } from "pawl/core";
 *
 * nearestName("readFile", ["read_file", "write_file"]); // "read_file"
 * ```
 */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  if (name.length > longestName) return undefined;
  const wanted = foldedName(name);
  let nearest: string | undefined;
  let least = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of known) {
    if (candidate.length > longestName) continue;
    const distance = distanceBetween(wanted, foldedName(candidate));
    if (distance < least) [nearest, least] = [candidate, distance];
  }
  return nearest;
}

/** All known names that are near. A typing mistake is at most one character in four, so that no verb becomes another. */
export function nearNames(name: string, known: Iterable<string>): readonly string[] {
  if (name.length > longestName) return [];
  const wanted = foldedName(name);
  const most = Math.floor(wanted.length / 4);
  return [...known].filter(
    (candidate) => candidate.length <= longestName && distanceBetween(wanted, foldedName(candidate)) <= most,
  );
}

/** The name without what people mix up: case, `_` and `-`. */
export function foldedName(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, "");
}

/** The number of characters to insert, delete or replace. Two neighbours that change places count as one. */
function distanceBetween(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1];
      let cost = Math.min((row[j - 1] ?? 0) + 1, (last[j] ?? 0) + 1, (last[j - 1] ?? 0) + (isSame ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, (before[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    [before, last] = [last, row];
  }
  return last[b.length] ?? 0;
}
