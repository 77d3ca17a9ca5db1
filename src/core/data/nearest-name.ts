/**
 * Finds the known name that a misspelled name was probably meant to be.
 */

/** Longer names are not compared, because no typo is that long. */
const maxName = 64;

/**
 * The nearest known name; undefined if none is close. Case, `_` and `-` are ignored.
 *
 * @example
 * ```ts
 * import { nearestName } from "pawl/core";
 *
 * nearestName("readFile", ["read_file", "write_file"]); // "read_file"
 * ```
 */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  if (name.length > maxName) return undefined;
  const target = normalizeName(name);
  let nearest: string | undefined;
  let minDistance = Math.max(1, Math.floor(target.length / 3)) + 1;
  for (const candidate of known) {
    if (candidate.length > maxName) continue;
    const distance = editDistance(target, normalizeName(candidate));
    if (distance < minDistance) [nearest, minDistance] = [candidate, distance];
  }
  return nearest;
}

/** All known names that are close. At most one character in four may differ, so that no verb turns into another. */
export function findNearNames(name: string, known: Iterable<string>): readonly string[] {
  if (name.length > maxName) return [];
  const target = normalizeName(name);
  const maxDistance = Math.floor(target.length / 4);
  return [...known].filter(
    (candidate) => candidate.length <= maxName && editDistance(target, normalizeName(candidate)) <= maxDistance,
  );
}

/** The name without the differences that people mix up: case, `_` and `-`. */
export function normalizeName(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, "");
}

/** The number of characters to insert, delete or replace. Swapping two neighbours counts as one change. */
function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1];
      let cost = Math.min((row[j - 1] ?? 0) + 1, (previous[j] ?? 0) + 1, (previous[j - 1] ?? 0) + (isSame ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, (beforePrevious[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    [beforePrevious, previous] = [previous, row];
  }
  return previous[b.length] ?? 0;
}
