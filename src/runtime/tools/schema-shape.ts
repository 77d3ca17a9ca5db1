/**
 * Checks whether a JSON Schema is well-formed: `{ type: "object", properties: 3 }` is not, and would silently reject or accept everything.
 */
import { isJsonObject } from "../../core/data/is-object.js";
import type { Json } from "../../core/data/message.js";

const mapKeywords: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
]);
const listKeywords: ReadonlySet<string> = new Set(["anyOf", "oneOf", "allOf", "prefixItems"]);
const schemaKeywords: ReadonlySet<string> = new Set([
  "additionalProperties",
  "not",
  "if",
  "then",
  "else",
  "contains",
  "propertyNames",
]);

/** A description of the first fault; null if there is none. The size of the schema has already been checked. */
export function findSchemaFault(schema: Json): string | null {
  const pending: { readonly at: string; readonly schema: Json }[] = [{ at: "it", schema }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { at, schema: current } = next;
    if (typeof current === "boolean") continue;
    if (!isJsonObject(current)) return `${at} is not a schema`;
    for (const [name, value] of Object.entries(current)) {
      const inner = `${at === "it" ? "" : `${at}.`}${name}`;
      if (mapKeywords.has(name)) {
        if (!isJsonObject(value)) return `${inner} is not an object`;
        for (const [key, one] of Object.entries(value)) pending.push({ at: `${inner}.${key}`, schema: one });
      } else if (listKeywords.has(name)) {
        if (!Array.isArray(value)) return `${inner} is not a list`;
        for (const [index, one] of value.entries()) pending.push({ at: `${inner}.${index}`, schema: one });
      } else if (schemaKeywords.has(name)) pending.push({ at: inner, schema: value });
      else if (name === "items" && !Array.isArray(value)) pending.push({ at: inner, schema: value });
      else if (name === "required" && !isStringArray(value)) return `${inner} is not a list of names`;
      else if (name === "type" && typeof value !== "string" && !isStringArray(value)) return `${inner} is not a type`;
      else if (name === "enum" && !Array.isArray(value)) return `${inner} is not a list`;
    }
  }
  return null;
}

function isStringArray(value: Json): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}
