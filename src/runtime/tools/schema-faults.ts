/**
 * Describes why a value does not match a JSON Schema: what was expected, and what was found. The model uses the description to correct its
 * call.
 *
 * The description is bounded: a long string is quoted in part, and an array or an object is described by its size.
 */
import type { Json } from "../../core/data/message.js";

/** A fault in the form of the JSON Schema library. */
export type SchemaFault = {
  /** Pointers: `#/files/0/path`. */
  readonly instanceLocation: string;
  readonly keywordLocation: string;
  readonly keyword: string;
  readonly error: string;
};

const maxQuote = 100;
const maxList = 500;

export function describeFault(fault: SchemaFault, schema: Json, value: Json): string {
  const { keyword, error } = fault;
  if (keyword === "false") return "is not a property that the schema has";
  if (keyword === "oneOf")
    return error.includes("(") ? `must fit only one of the alternatives${describeMatches(error)}` : error;
  const wanted = resolvePointer(schema, fault.keywordLocation);
  const actual = resolvePointer(value, fault.instanceLocation);
  if (wanted === undefined || actual === undefined) return error;
  const words = describeWanted(keyword, wanted);
  return words === undefined ? error : `must ${words}; got ${describeGot(keyword, actual)}`;
}

function describeWanted(keyword: string, wanted: Json): string | undefined {
  const given = quoteValue(wanted);
  switch (keyword) {
    case "type":
      return `be of type ${joinAlternatives(Array.isArray(wanted) ? wanted.map(String) : [String(wanted)])}`;
    case "enum":
      return `be one of ${joinAlternatives(Array.isArray(wanted) ? wanted.map(quoteValue) : [given])}`;
    case "const":
      return `be ${given}`;
    case "pattern":
      return `match the pattern ${given}`;
    case "format":
      return `have the format ${given}`;
    case "minLength":
      return `have at least ${given} characters`;
    case "maxLength":
      return `have at most ${given} characters`;
    case "minItems":
      return `have at least ${given} items`;
    case "maxItems":
      return `have at most ${given} items`;
    case "minProperties":
      return `have at least ${given} properties`;
    case "maxProperties":
      return `have at most ${given} properties`;
    case "minimum":
      return `be at least ${given}`;
    case "maximum":
      return `be at most ${given}`;
    case "exclusiveMinimum":
      return `be more than ${given}`;
    case "exclusiveMaximum":
      return `be less than ${given}`;
    case "multipleOf":
      return `be a multiple of ${given}`;
    case "uniqueItems":
      return "have no equal items";
    case "not":
      return "not fit what the schema excludes";
    default:
      return undefined;
  }
}

function describeGot(keyword: string, actual: Json): string {
  if (keyword.endsWith("Length") && typeof actual === "string") return `${actual.length}`;
  if (keyword === "type" && actual !== null && typeof actual !== "object")
    return `the ${typeof actual} ${quoteValue(actual)}`;
  return quoteValue(actual);
}

function quoteValue(value: Json): string {
  if (typeof value === "string")
    return value.length > maxQuote ? `${JSON.stringify(value.slice(0, maxQuote))}…` : JSON.stringify(value);
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (value !== null && typeof value === "object") return "an object";
  return String(value);
}

/** Lists as many alternatives as fit into the limit. */
function joinAlternatives(items: readonly string[]): string {
  let text = "";
  for (const [index, item] of items.entries()) {
    if (text.length + item.length > maxList) return `${text} and ${items.length - index} more`;
    text = text === "" ? item : `${text}${index === items.length - 1 ? " or" : ","} ${item}`;
  }
  return text;
}

function describeMatches(error: string): string {
  const count = /\((\d+) matches\)/.exec(error)?.[1];
  return count === undefined ? "" : `; it fits ${count}`;
}

/** The value that a JSON pointer refers to, also through `$ref`s within the schema; undefined if there is none. */
function resolvePointer(root: Json, pointer: string, references = maxReferences): Json | undefined {
  let value: Json | undefined = root;
  for (const key of parsePointer(pointer)) {
    if (value === null || typeof value !== "object" || !Object.hasOwn(value, key)) return undefined;
    value = (value as { readonly [key: string]: Json })[key];
    if (key === "$ref" && typeof value === "string")
      value = references > 0 && value.startsWith("#") ? resolvePointer(root, value, references - 1) : undefined;
    if (value === undefined) return undefined;
  }
  return value;
}

const maxReferences = 20;

export function parsePointer(pointer: string): readonly string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((segment) => decodeURIComponent(segment).replaceAll("~1", "/").replaceAll("~0", "~"));
}
