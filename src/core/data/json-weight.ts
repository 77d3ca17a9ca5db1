/**
 * How much work plain data can make, and whether a JSON Schema of a stranger is small enough to be used.
 *
 * Everything here takes time linear in the data, needs no recursion, and stops at its bounds.
 */
import type { Json } from "./message.js";

/**
 * The number of values in plain data, keys and long texts included: a key counts as a value, and so do 32 characters.
 * @param most counting stops above this weight
 */
export function weightOf(value: Json, most = Number.POSITIVE_INFINITY): number {
  const open: Json[] = [value];
  let weight = 0;
  for (let next = open.pop(); next !== undefined && weight <= most; next = open.pop()) {
    weight += 1;
    if (typeof next === "string") weight += next.length / charactersOfOne;
    else if (Array.isArray(next)) for (const item of next) open.push(item);
    else if (next !== null && typeof next === "object")
      for (const key in next) {
        weight += 1 + key.length / charactersOfOne;
        open.push((next as { readonly [key: string]: Json })[key] as Json);
      }
  }
  return weight;
}

const charactersOfOne = 32;

export type SchemaMeasure = {
  /** The weight of the schema's values: about the work of a check for each value that is checked. */
  readonly weight: number;
  /** False if a check may cost more than the schema's weight for each value, or if nobody knows. */
  readonly isLinear: boolean;
};

/** The bounds of a schema. They are far above the schemas of people, and keep its compilation short. */
export const mostSchemaLevels = 64;
const mostSchemaWeight = 50_000;
/** Characters of the paths to all places together: the library that checks JSON Schemas keeps each path. */
const mostPathCharacters = 8_000_000;

/**
 * Measures a JSON Schema.
 * @returns the measure, or why the schema cannot be used
 */
export function measureSchema(schema: Json): SchemaMeasure | { readonly fault: string } {
  const open: Place[] = [{ value: schema, level: 1, path: 0 }];
  let [weight, paths, isLinear] = [0, 0, true];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, level, path } = next;
    weight += 1 + (typeof value === "string" ? value.length / charactersOfOne : 0);
    paths += path;
    if (weight > mostSchemaWeight || paths > mostPathCharacters) return { fault: "it is too large" };
    if (value === null || typeof value !== "object") continue;
    if (level > mostSchemaLevels) return { fault: `it is nested deeper than ${mostSchemaLevels} levels` };
    for (const [key, member] of Object.entries(value as { readonly [key: string]: Json })) {
      isLinear &&= isLinearKeyword(key, member);
      open.push({ value: member, level: level + 1, path: path + key.length + 1 });
    }
  }
  return { weight, isLinear };
}

type Place = { readonly value: Json; readonly level: number; readonly path: number };

/** A property that is named like a keyword counts as the keyword: that only costs some time. */
function isLinearKeyword(key: string, value: Json): boolean {
  if (key === "format") return typeof value !== "string" || linearFormats.has(value);
  return !costlyKeywords.has(key);
}

/** Keywords whose check may take more than linear time: patterns, references that double, items compared in pairs. */
const costlyKeywords: ReadonlySet<string> = new Set([
  "pattern",
  "patternProperties",
  "$ref",
  "$recursiveRef",
  "$dynamicRef",
  "uniqueItems",
]);

/** Formats that are known to be checked in linear time. */
const linearFormats: ReadonlySet<string> = new Set(["date", "time", "date-time", "uuid", "email", "hostname", "ipv4"]);
