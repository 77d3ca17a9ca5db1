/**
 * Says in words why a value does not fit a JSON Schema: what was wanted, and what was there. A model corrects its call
 * by these words.
 *
 * The words are bounded: a long text is quoted in part, and a list or an object by its size.
 */
import type { Json } from "../../core/data/message.js";

/** A fault as the library that checks JSON Schemas reports it. */
export type SchemaFault = {
  /** Pointers: `#/files/0/path`. */
  readonly instanceLocation: string;
  readonly keywordLocation: string;
  readonly keyword: string;
  readonly error: string;
};

const longestQuote = 100;
const longestList = 500;

export function faultInWords(fault: SchemaFault, schema: Json, value: Json): string {
  const { keyword, error } = fault;
  if (keyword === "false") return "is not a property that the schema has";
  if (keyword === "oneOf")
    return error.includes("(") ? `must fit only one of the alternatives${matches(error)}` : error;
  const wanted = at(schema, fault.keywordLocation);
  const got = at(value, fault.instanceLocation);
  if (wanted === undefined || got === undefined) return error;
  const words = wantedWords(keyword, wanted);
  return words === undefined ? error : `must ${words}; got ${gotWords(keyword, got)}`;
}

function wantedWords(keyword: string, wanted: Json): string | undefined {
  const given = quoted(wanted);
  switch (keyword) {
    case "type":
      return `be of type ${listed(Array.isArray(wanted) ? wanted.map(String) : [String(wanted)])}`;
    case "enum":
      return `be one of ${listed(Array.isArray(wanted) ? wanted.map(quoted) : [given])}`;
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

function gotWords(keyword: string, got: Json): string {
  if (keyword.endsWith("Length") && typeof got === "string") return `${got.length}`;
  if (keyword === "type" && got !== null && typeof got !== "object") return `the ${typeof got} ${quoted(got)}`;
  return quoted(got);
}

function quoted(value: Json): string {
  if (typeof value === "string")
    return value.length > longestQuote ? `${JSON.stringify(value.slice(0, longestQuote))}…` : JSON.stringify(value);
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (value !== null && typeof value === "object") return "an object";
  return String(value);
}

/** As many as fit. */
function listed(items: readonly string[]): string {
  let text = "";
  for (const [index, item] of items.entries()) {
    if (text.length + item.length > longestList) return `${text} and ${items.length - index} more`;
    text = text === "" ? item : `${text}${index === items.length - 1 ? " or" : ","} ${item}`;
  }
  return text;
}

function matches(error: string): string {
  const count = /\((\d+) matches\)/.exec(error)?.[1];
  return count === undefined ? "" : `; it fits ${count}`;
}

/** What a pointer leads to, also through references within the schema; undefined if it leads nowhere. */
function at(root: Json, pointer: string, references = mostReferences): Json | undefined {
  let value: Json | undefined = root;
  for (const key of keysOfPointer(pointer)) {
    if (value === null || typeof value !== "object" || !Object.hasOwn(value, key)) return undefined;
    value = (value as { readonly [key: string]: Json })[key];
    if (key === "$ref" && typeof value === "string")
      value = references > 0 && value.startsWith("#") ? at(root, value, references - 1) : undefined;
    if (value === undefined) return undefined;
  }
  return value;
}

const mostReferences = 20;

export function keysOfPointer(pointer: string): readonly string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((segment) => decodeURIComponent(segment).replaceAll("~1", "/").replaceAll("~0", "~"));
}
