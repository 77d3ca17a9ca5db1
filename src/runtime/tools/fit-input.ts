/**
 * Corrects arguments that nearly match a tool's JSON Schema, as small models often write them. Properties that the schema does not have are
 * removed. Strings with numbers and booleans are converted.
 *
 * 1. Only values that the schema certainly rejects are changed. Where the schema has alternatives, nothing is changed.
 * 2. A property whose name is close to the name of a missing property is taken for that property. It is renamed if only case and separators
 *    differ; otherwise it stays, and the model reads the error.
 * 3. If a required property is missing, its object does not change: the model then reads everything that is wrong.
 */
import { isJsonObject, type JsonObject } from "../../core/data/is-object.js";
import { formatPath } from "../../core/data/json.js";
import type { Json } from "../../core/data/message.js";
import { findNearNames, normalizeName } from "../../core/data/nearest-name.js";
import type { JsonSchema } from "../../ports/model.js";

export type FittedInput = {
  readonly input: Json;
  /** A description of each change: `offset is read as 1`. */
  readonly changes: readonly string[];
};

const maxChanges = 20;
/** The maximum length of a name in the description of a change, in characters. */
const maxName = 100;

/** @returns null if nothing needs to be changed */
export function fitInput(schema: JsonSchema, input: Json): FittedInput | null {
  const changes: string[] = [];
  const fitted = fitValue(schema as Json, input, [], changes);
  if (changes.length === 0) return null;
  const more = changes.length - maxChanges;
  return { input: fitted, changes: more > 0 ? [...changes.slice(0, maxChanges), `and ${more} more`] : changes };
}

function fitValue(schema: Json | undefined, value: Json, path: readonly PropertyKey[], changes: string[]): Json {
  if (!isJsonObject(schema) || hasAlternatives(schema)) return value;
  if (typeof value === "string") return fitString(schema, value, path, changes);
  if (Array.isArray(value))
    return isJsonObject(schema.items)
      ? value.map((item, index) => fitValue(schema.items, item, [...path, index], changes))
      : value;
  return isJsonObject(value) ? fitObject(schema, value, path, changes) : value;
}

function fitObject(schema: JsonObject, value: JsonObject, path: readonly PropertyKey[], changes: string[]): Json {
  const { properties, required } = schema;
  if (!isJsonObject(properties)) return value;
  const names = Object.keys(properties);
  const missing = names.filter((name) => !Object.hasOwn(value, name));
  const entries: (readonly [string, Json])[] = [];
  const objectChanges: string[] = [];
  for (const [key, item] of Object.entries(value)) {
    if (Object.hasOwn(properties, key)) {
      entries.push([key, fitValue(properties[key], item, [...path, key], objectChanges)]);
      continue;
    }
    const shown = formatPath([...path, key.slice(0, maxName)]);
    const match = isClosed(schema) ? findMeantProperty(key, missing) : null;
    if (match === null) entries.push([key, item]);
    else if (match === "nothing") objectChanges.push(`${shown} is left out`);
    else {
      entries.push([match.name, fitValue(properties[match.name], item, [...path, match.name], objectChanges)]);
      missing.splice(missing.indexOf(match.name), 1);
      objectChanges.push(`${shown} is read as ${match.name}`);
    }
  }
  const fitted: JsonObject = Object.fromEntries(entries);
  const isMissing = (name: Json) => typeof name === "string" && !Object.hasOwn(fitted, name);
  if (Array.isArray(required) && required.some(isMissing)) return value;
  changes.push(...objectChanges);
  return fitted;
}

/** Finds the missing property that an unknown property stands for; `nothing` if it is close to none; null if that is uncertain. */
function findMeantProperty(key: string, missing: readonly string[]): { readonly name: string } | "nothing" | null {
  const [same, ...others] = missing.filter((name) => normalizeName(name) === normalizeName(key));
  if (same !== undefined && others.length === 0) return { name: same };
  return same === undefined && findNearNames(key, missing).length === 0 ? "nothing" : null;
}

/** Whether the schema rejects every property that it does not name. */
function isClosed(schema: JsonObject): boolean {
  return schema.additionalProperties === false && schema.patternProperties === undefined;
}

function fitString(schema: JsonObject, text: string, path: readonly PropertyKey[], changes: string[]): Json {
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  if (schema.type === undefined || types.includes("string")) return text;
  const value = parseAs(types, text.trim());
  if (value === undefined) return text;
  changes.push(`${formatPath(path)} is read as ${String(value)}`);
  return value;
}

function parseAs(types: readonly unknown[], text: string): number | boolean | undefined {
  const isNumber = /^-?\d{1,20}(?:\.\d{1,20})?$/.test(text);
  if (isNumber && types.includes("number")) return Number(text);
  if (isNumber && types.includes("integer") && Number.isSafeInteger(Number(text))) return Number(text);
  if (types.includes("boolean") && /^(?:true|false)$/i.test(text)) return text.toLowerCase() === "true";
  return undefined;
}

const alternatives = ["$ref", "allOf", "anyOf", "oneOf", "not", "if", "enum", "const"] as const;

function hasAlternatives(schema: JsonObject): boolean {
  return alternatives.some((keyword) => schema[keyword] !== undefined);
}
