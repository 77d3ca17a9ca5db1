/**
 * Request shapes: a small subset of JSON Schema that suffices for the routes. The same object validates a request and appears in the
 * OpenAPI document.
 */
import { isObject } from "../core/data/is-object.js";
import { ServerError } from "./server-error.js";

export type Shape = {
  readonly description?: string;
} & (
  | {
      readonly type: "object";
      readonly properties: { readonly [name: string]: Shape };
      readonly required?: readonly string[];
      readonly additionalProperties: false;
    }
  | {
      readonly type: "string";
      readonly enum?: readonly string[];
      readonly minLength?: number;
      readonly maxLength?: number;
    }
  | { readonly type: "integer"; readonly minimum: number; readonly maximum: number }
  | { readonly type: "boolean" }
  /** Any JSON, which the library checks. */
  | { readonly type?: never }
);

export type ObjectShape = Extract<Shape, { readonly type: "object" }>;

export function object(properties: { readonly [name: string]: Shape }, required: readonly string[] = []): ObjectShape {
  return { type: "object", properties, ...(required.length === 0 ? {} : { required }), additionalProperties: false };
}

export const string = (description: string, maxLength = 500): Shape => ({
  type: "string",
  description,
  minLength: 1,
  maxLength,
});

export const boolean = (description: string): Shape => ({ type: "boolean", description });

export const oneOf = (description: string, ...values: readonly string[]): Shape => ({
  type: "string",
  description,
  enum: values,
});

export const integer = (description: string, minimum: number, maximum: number): Shape => ({
  type: "integer",
  description,
  minimum,
  maximum,
});

export const anyJson = (description: string): Shape => ({ description });

/** @param where the value's name in messages: "The body", "The query" @throws ServerError `bad_input` */
export function checkShape(value: unknown, shape: Shape, where: string): void {
  const problem = findProblem(value, shape);
  if (problem !== null) throw new ServerError("bad_input", `${where} ${problem}`);
  if (shape.type === "object" && isObject(value)) checkObject(value, shape, where);
}

function findProblem(value: unknown, shape: Shape): string | null {
  if (shape.type === undefined) return null;
  switch (shape.type) {
    case "object":
      return isObject(value) ? null : "must be an object.";
    case "string":
      return findStringProblem(value, shape);
    case "integer":
      return Number.isSafeInteger(value) && (value as number) >= shape.minimum && (value as number) <= shape.maximum
        ? null
        : `must be an integer from ${shape.minimum} to ${shape.maximum}.`;
    case "boolean":
      return typeof value === "boolean" ? null : "must be true or false.";
  }
}

function findStringProblem(
  value: unknown,
  { enum: values, minLength = 0, maxLength }: Extract<Shape, { readonly type: "string" }>,
): string | null {
  if (typeof value !== "string") return "must be a string.";
  if (values !== undefined && !values.includes(value))
    return `must be one of ${values.map((member) => JSON.stringify(member)).join(", ")}.`;
  if (value.length < minLength) return "must not be empty.";
  // Not every store can store these characters, and no value from the server contains them.
  if (/\0|\p{Surrogate}/u.test(value)) return "must not contain the character U+0000 or half of a surrogate pair.";
  if (maxLength !== undefined && value.length > maxLength)
    return `has ${value.length} characters; the maximum is ${maxLength}.`;
  return null;
}

function checkObject(value: { readonly [name: string]: unknown }, shape: ObjectShape, where: string): void {
  for (const [name, member] of Object.entries(value)) {
    const property = Object.hasOwn(shape.properties, name) ? shape.properties[name] : undefined;
    if (property === undefined)
      throw new ServerError(
        "bad_input",
        `${where} has an unknown field ${JSON.stringify(name.slice(0, 100))}. Known fields: ${Object.keys(shape.properties).join(", ") || "none"}.`,
      );
    checkShape(member, property, `${where}: ${name}`);
  }
  for (const name of shape.required ?? [])
    if (value[name] === undefined) throw new ServerError("bad_input", `${where} is missing the field ${name}.`);
}

/**
 * Parses the parameters of a query, with the types of the shape.
 * @throws ServerError `bad_input`
 */
export function parseQuery(query: URLSearchParams, shape: ObjectShape): { readonly [name: string]: unknown } {
  const values: { [name: string]: unknown } = {};
  for (const [name, value] of query) {
    if (Object.hasOwn(values, name))
      throw new ServerError("bad_input", `The query has the parameter ${JSON.stringify(name.slice(0, 100))} twice.`);
    const property = Object.hasOwn(shape.properties, name) ? shape.properties[name] : undefined;
    values[name] = parseQueryValue(value, property);
  }
  checkShape(values, shape, "The query");
  return values;
}

function parseQueryValue(text: string, shape: Shape | undefined): unknown {
  if (shape?.type === "integer") return /^\d{1,15}$/.test(text) ? Number(text) : text;
  if (shape?.type === "boolean")
    return text === "1" || text === "true" ? true : text === "0" || text === "false" ? false : text;
  return text;
}
