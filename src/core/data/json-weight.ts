/**
 * Measures how much work plain data can cause, and whether a JSON Schema from outside is small enough to be used.
 *
 * All functions take time linear in the data, do not recurse, and stop at their bounds.
 */
import type { Json } from "./message.js";

/**
 * The number of values in plain data. Each key also counts as a value, and so do every 32 characters of a key or a string.
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
  /** The weight of the schema's values: roughly the work per validated value. */
  readonly weight: number;
  /** False if validation may cost more than the schema's weight per value, or if its cost is unknown. */
  readonly isLinear: boolean;
};

/** The limits of a schema. They are far above the schemas that people write, and keep compilation short. */
export const maxSchemaLevels = 64;
const maxSchemaWeight = 50_000;
/** The maximum total length of all paths in a schema, in characters. The JSON Schema library stores each path. */
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

/** A property named like a keyword counts as that keyword. The only cost is some time. */
function isLinearKeyword(key: string, value: Json): boolean {
  if (key === "format") return typeof value !== "string" || linearFormats.has(value);
  return !costlyKeywords.has(key);
}

/** Keywords whose validation may take more than linear time: patterns, references that double, and items compared in pairs. */
const costlyKeywords: ReadonlySet<string> = new Set([
  "pattern",
  "patternProperties",
  "$ref",
  "$recursiveRef",
  "$dynamicRef",
  "uniqueItems",
]);

/** Formats known to be validated in linear time. */
const linearFormats: ReadonlySet<string> = new Set(["date", "time", "date-time", "uuid", "email", "hostname", "ipv4"]);
