/**
 * Checks a value against a JSON Schema while a person writes it. It supports the keywords that tool schemas use, and leaves the others to
 * the server, which checks everything again.
 */
import { isObject } from "../../core/data/is-object.js";

type Schema = { readonly [keyword: string]: unknown };

/** The maximum nesting that is checked. */
const maxDepth = 32;

/** The first problem, with its path; null if there is none. */
export function findProblem(value: unknown, schema: unknown, path = "", depth = 0): string | null {
  if (schema === false) return `${formatPath(path)}no value is allowed here.`;
  if (!isObject(schema) || depth > maxDepth) return null;
  const describe = (what: string) => `${formatPath(path)}${what}`;
  const { type } = schema;
  const types = typeof type === "string" ? [type] : Array.isArray(type) ? type : null;
  if (types !== null && !types.some((one) => isOfType(value, one)))
    return describe(`it must be ${types.map(describeType).join(" or ")}.`);
  if (schema.const !== undefined && !isEqualJson(value, schema.const))
    return describe(`it must be ${JSON.stringify(schema.const)}.`);
  if (Array.isArray(schema.enum) && !schema.enum.some((one) => isEqualJson(value, one)))
    return describe(`it must be one of ${schema.enum.map((one) => JSON.stringify(one)).join(", ")}.`);
  if (typeof value === "string") return findStringProblem(value, schema, describe);
  if (typeof value === "number") return findNumberProblem(value, schema, describe);
  if (Array.isArray(value)) return findArrayProblem(value, schema, path, depth, describe);
  return isObject(value) ? findObjectProblem(value, schema, path, depth, describe) : null;
}

type Describe = (what: string) => string;

function findStringProblem(
  value: string,
  { minLength, maxLength, pattern }: Schema,
  describe: Describe,
): string | null {
  const length = [...value].length;
  if (typeof minLength === "number" && length < minLength)
    return describe(minLength === 1 ? "it must not be empty." : `it must have at least ${minLength} characters.`);
  if (typeof maxLength === "number" && length > maxLength)
    return describe(`it must have at most ${maxLength} characters.`);
  // An untrusted pattern may take forever on a long string.
  if (typeof pattern !== "string" || length > 1_000 || pattern.length > 200) return null;
  return matches(pattern, value) ? null : describe(`it must match the pattern ${pattern}`);
}

function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    return true;
  }
}

function findNumberProblem(value: number, { minimum, maximum }: Schema, describe: Describe): string | null {
  if (typeof minimum === "number" && value < minimum) return describe(`it must be ${minimum} or more.`);
  if (typeof maximum === "number" && value > maximum) return describe(`it must be ${maximum} or less.`);
  return null;
}

function findArrayProblem(
  value: readonly unknown[],
  { minItems, maxItems, items }: Schema,
  path: string,
  depth: number,
  describe: Describe,
): string | null {
  if (typeof minItems === "number" && value.length < minItems)
    return describe(`it must have at least ${minItems} items.`);
  if (typeof maxItems === "number" && value.length > maxItems)
    return describe(`it must have at most ${maxItems} items.`);
  for (const [index, one] of value.entries()) {
    const problem = findProblem(one, items, `${path}[${index}]`, depth + 1);
    if (problem !== null) return problem;
  }
  return null;
}

function findObjectProblem(
  value: Schema,
  { required, properties, additionalProperties }: Schema,
  path: string,
  depth: number,
  describe: Describe,
): string | null {
  const known = isObject(properties) ? properties : {};
  for (const name of Array.isArray(required) ? required : [])
    if (!Object.hasOwn(value, String(name))) return describe(`the field ${String(name)} is missing.`);
  for (const [name, one] of Object.entries(value)) {
    if (!Object.hasOwn(known, name) && additionalProperties === false) return describe(`there is no field ${name}.`);
    const schema = Object.hasOwn(known, name) ? known[name] : additionalProperties;
    const problem = findProblem(one, schema, path === "" ? name : `${path}.${name}`, depth + 1);
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

function describeType(type: unknown): string {
  switch (type) {
    case "string":
      return "text";
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

function formatPath(path: string): string {
  return path === "" ? "" : `${path}: `;
}

function isEqualJson(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
