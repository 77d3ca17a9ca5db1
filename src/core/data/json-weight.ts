/**
 * How much work plain data can cause, and whether a JSON Schema from outside is small enough to be used.
 *
 * Everything here takes time linear in the data, needs no recursion, and stops at its bounds.
 */
import type { Json } from "./message.js";

/**
 * The number of values in plain data. A key counts as a value, and so do every 32 characters of a key or a string.
 * @param maxWeight counting stops above this weight
 */
export function weighJson(value: Json, maxWeight = Number.POSITIVE_INFINITY): number {
  const pending: Json[] = [value];
  let weight = 0;
  for (let next = pending.pop(); next !== undefined && weight <= maxWeight; next = pending.pop()) {
    weight += 1;
    if (typeof next === "string") weight += next.length / charactersPerUnit;
    else if (Array.isArray(next)) for (const item of next) pending.push(item);
    else if (next !== null && typeof next === "object")
      for (const key in next) {
        weight += 1 + key.length / charactersPerUnit;
        pending.push((next as { readonly [key: string]: Json })[key] as Json);
      }
  }
  return weight;
}

const charactersPerUnit = 32;

export type SchemaMeasure = {
  /** The weight of the schema's values: roughly the work that a check does for each value. */
  readonly weight: number;
  /** False if a check may cost more than the schema's weight for each value, or if its cost is unknown. */
  readonly isLinear: boolean;
};

/** The bounds of a schema. They are far above the schemas that people write, and keep compilation short. */
export const maxSchemaLevels = 64;
const maxSchemaWeight = 50_000;
/** The maximum length of all paths in a schema together, in characters: the JSON Schema library stores each path. */
const maxPathCharacters = 8_000_000;

/**
 * Measures a JSON Schema.
 * @returns the measure, or why the schema cannot be used
 */
export function measureSchema(schema: Json): SchemaMeasure | { readonly fault: string } {
  const pending: SchemaNode[] = [{ value: schema, level: 1, path: 0 }];
  let [weight, paths, isLinear] = [0, 0, true];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value, level, path } = next;
    weight += 1 + (typeof value === "string" ? value.length / charactersPerUnit : 0);
    paths += path;
    if (weight > maxSchemaWeight || paths > maxPathCharacters) return { fault: "it is too large" };
    if (value === null || typeof value !== "object") continue;
    if (level > maxSchemaLevels) return { fault: `it is nested deeper than ${maxSchemaLevels} levels` };
    for (const [key, member] of Object.entries(value as { readonly [key: string]: Json })) {
      isLinear &&= isLinearKeyword(key, member);
      pending.push({ value: member, level: level + 1, path: path + key.length + 1 });
    }
  }
  return { weight, isLinear };
}

type SchemaNode = { readonly value: Json; readonly level: number; readonly path: number };

/** A property that is named like a keyword counts as the keyword. This only costs some time. */
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
