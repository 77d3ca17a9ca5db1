/**
 * Checks a value by a JSON Schema while somebody writes it: the keywords that schemas of tools use. Others are left to the
 * server, which checks everything again.
 */
type Schema = { readonly [keyword: string]: unknown };

/** Levels of nesting that are checked. */
const mostDepth = 32;

/** The first problem, with the place where it is; null if there is none. */
export function problemOf(value: unknown, schema: unknown, place = "", depth = 0): string | null {
  if (schema === false) return `${placed(place)}nothing is allowed here.`;
  if (!isObject(schema) || depth > mostDepth) return null;
  const say = (what: string) => `${placed(place)}${what}`;
  const { type } = schema;
  const types = typeof type === "string" ? [type] : Array.isArray(type) ? type : null;
  if (types !== null && !types.some((one) => isOfType(value, one)))
    return say(`it must be ${types.map(typeWord).join(" or ")}.`);
  if (schema.const !== undefined && !isSame(value, schema.const))
    return say(`it must be ${JSON.stringify(schema.const)}.`);
  if (Array.isArray(schema.enum) && !schema.enum.some((one) => isSame(value, one)))
    return say(`it must be one of ${schema.enum.map((one) => JSON.stringify(one)).join(", ")}.`);
  if (typeof value === "string") return problemOfText(value, schema, say);
  if (typeof value === "number") return problemOfNumber(value, schema, say);
  if (Array.isArray(value)) return problemOfList(value, schema, place, depth, say);
  return isObject(value) ? problemOfObject(value, schema, place, depth, say) : null;
}

type Say = (what: string) => string;

function problemOfText(value: string, { minLength, maxLength, pattern }: Schema, say: Say): string | null {
  const length = [...value].length;
  if (typeof minLength === "number" && length < minLength)
    return say(minLength === 1 ? "it must not be empty." : `it must have at least ${minLength} characters.`);
  if (typeof maxLength === "number" && length > maxLength) return say(`it must have at most ${maxLength} characters.`);
  // A pattern from elsewhere may take for ever on a long text.
  if (typeof pattern !== "string" || length > 1_000 || pattern.length > 200) return null;
  return matches(pattern, value) ? null : say(`it must fit the pattern ${pattern}`);
}

function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    return true;
  }
}

function problemOfNumber(value: number, { minimum, maximum }: Schema, say: Say): string | null {
  if (typeof minimum === "number" && value < minimum) return say(`it must be ${minimum} or more.`);
  if (typeof maximum === "number" && value > maximum) return say(`it must be ${maximum} or less.`);
  return null;
}

function problemOfList(
  value: readonly unknown[],
  { minItems, maxItems, items }: Schema,
  place: string,
  depth: number,
  say: Say,
): string | null {
  if (typeof minItems === "number" && value.length < minItems) return say(`it must have at least ${minItems} items.`);
  if (typeof maxItems === "number" && value.length > maxItems) return say(`it must have at most ${maxItems} items.`);
  for (const [index, one] of value.entries()) {
    const problem = problemOf(one, items, `${place}[${index}]`, depth + 1);
    if (problem !== null) return problem;
  }
  return null;
}

function problemOfObject(
  value: Schema,
  { required, properties, additionalProperties }: Schema,
  place: string,
  depth: number,
  say: Say,
): string | null {
  const known = isObject(properties) ? properties : {};
  for (const name of Array.isArray(required) ? required : [])
    if (!Object.hasOwn(value, String(name))) return say(`the field ${String(name)} is missing.`);
  for (const [name, one] of Object.entries(value)) {
    if (!Object.hasOwn(known, name) && additionalProperties === false) return say(`there is no field ${name}.`);
    const schema = Object.hasOwn(known, name) ? known[name] : additionalProperties;
    const problem = problemOf(one, schema, place === "" ? name : `${place}.${name}`, depth + 1);
    if (problem !== null) return problem;
  }
  return null;
}

function isOfType(value: unknown, type: unknown): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function typeWord(type: unknown): string {
  switch (type) {
    case "string":
      return "a text";
    case "integer":
      return "a whole number";
    case "number":
      return "a number";
    case "boolean":
      return "true or false";
    case "array":
      return "a list";
    case "object":
      return "an object";
    default:
      return String(type);
  }
}

function placed(place: string): string {
  return place === "" ? "" : `${place}: `;
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
