/**
 * The first difference between a recorded value and a current value.
 */
import { isObject } from "./is-object.js";
import { formatPath } from "./json.js";
import type { Json } from "./message.js";

/** The first position at which two values differ. */
export type Difference = {
  /** The path in the value, such as `messages[2].parts[0].text`. Empty if the values differ as a whole. */
  readonly path: string;
  /** Absent if nothing was recorded at this path. */
  readonly recorded?: Json;
  /** Absent if there is nothing at this path now. */
  readonly present?: Json;
};

/**
 * The first difference between two plain-data values, in the key order of the recorded value. Undefined if the values are equal.
 *
 * @example
 * ```ts
 * import { differenceText, firstDifference } from "pawl/core";
 *
 * const difference = firstDifference({ cents: 500 }, { cents: 700 });
 * if (difference !== undefined) console.log(differenceText(difference)); // cents: recorded 500, now 700
 * ```
 */
export function firstDifference(recorded: unknown, present: unknown): Difference | undefined {
  return findDifference(recorded, present, []);
}

function findDifference(recorded: unknown, present: unknown, path: readonly PropertyKey[]): Difference | undefined {
  if (recorded === present) return undefined;
  if (Array.isArray(recorded) && Array.isArray(present)) {
    const length = Math.max(recorded.length, present.length);
    for (let index = 0; index < length; index += 1) {
      const found = findDifference(recorded[index], present[index], [...path, index]);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (isObject(recorded) && isObject(present)) {
    for (const key of new Set([...Object.keys(recorded), ...Object.keys(present)])) {
      const found = findDifference(recorded[key], present[key], [...path, key]);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  return {
    path: formatPath(path),
    ...(recorded === undefined ? {} : { recorded: recorded as Json }),
    ...(present === undefined ? {} : { present: present as Json }),
  };
}

/** Formats a difference on one line. Long strings are cut to the part around the difference. */
export function differenceText({ path, recorded, present }: Difference): string {
  const [was, is] = excerpts(recorded, present);
  return `${path === "" ? "" : `${path}: `}recorded ${was}, now ${is}`;
}

/** Both values as JSON. Long strings are cut to the part around the first difference. */
export function excerpts(recorded: Json | undefined, present: Json | undefined): readonly [string, string] {
  const was = formatValue(recorded);
  const is = formatValue(present);
  let samePrefixLength = 0;
  while (samePrefixLength < was.length && was[samePrefixLength] === is[samePrefixLength]) samePrefixLength += 1;
  const start = Math.max(0, samePrefixLength - contextBefore);
  return [excerpt(was, start), excerpt(is, start)];
}

const contextBefore = 40;
const contextAfter = 120;

function formatValue(value: Json | undefined): string {
  return value === undefined ? "nothing" : JSON.stringify(value);
}

function excerpt(text: string, start: number): string {
  const end = start + contextBefore + contextAfter;
  return `${start === 0 ? "" : "…"}${text.slice(start, end)}${text.length > end ? "…" : ""}`;
}
