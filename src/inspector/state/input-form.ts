/**
 * Editing an input: as a form if its schema can be one, else as JSON. What was written is checked before it is sent.
 *
 * 1. A form has texts, numbers, flags and choices, objects of them, and lists of these, to a few levels.
 * 2. What nobody changes stays as it was: fields that the form does not show are kept, and no field is added.
 */
import { problemOf } from "./schema-check.js";

type Labelled = {
  readonly name: string;
  readonly label: string;
  readonly isRequired: boolean;
  readonly about: string | null;
};

/** A field that one control of a page can show. */
export type PlainField = Labelled & {
  readonly kind: "text" | "long" | "number" | "flag" | "choice";
  readonly choices: readonly string[];
};

export type Field =
  | PlainField
  | (Labelled & { readonly kind: "group"; readonly fields: readonly Field[] })
  | (Labelled & { readonly kind: "list"; readonly item: Field });

type JsonObject = { readonly [name: string]: unknown };

/** How deep groups and lists may stand in each other. */
const mostLevels = 3;

/** The fields of a schema of an object; null if no form can stand for it, at least not with this input. */
export function fieldsOf(schema: unknown, input?: unknown): readonly Field[] | null {
  const fields = isObject(schema) ? fieldsIn(schema, 0) : null;
  return fields !== null && fields.length > 0 && fitsAll(fields, input ?? {}) ? fields : null;
}

function fieldsIn(schema: JsonObject, level: number): readonly Field[] | null {
  if (schema.type !== "object" || !isObject(schema.properties)) return null;
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const fields: Field[] = [];
  for (const [name, property] of Object.entries(schema.properties)) {
    const field = fieldOf(name, property, required.has(name), level);
    if (field === null) return null;
    fields.push(field);
  }
  return fields;
}

function fieldOf(name: string, property: unknown, isRequired: boolean, level: number): Field | null {
  if (!isObject(property) || level > mostLevels) return null;
  const { type, title, description } = property;
  const label = typeof title === "string" ? title : name;
  const labelled = { name, label, isRequired, about: typeof description === "string" ? description : null };
  if (type === "object") {
    const fields = fieldsIn(property, level + 1);
    return fields === null || fields.length === 0 ? null : { ...labelled, kind: "group", fields };
  }
  if (type === "array") {
    const item = fieldOf("", { title: label, ...asObject(property.items) }, true, level + 1);
    return item === null ? null : { ...labelled, kind: "list", item };
  }
  return plainField(labelled, property);
}

function plainField(labelled: Labelled, { type, maxLength, format, enum: values }: JsonObject): PlainField | null {
  if (Array.isArray(values))
    return values.every((one): one is string => typeof one === "string")
      ? { ...labelled, kind: "choice", choices: values }
      : null;
  if (type === "string") {
    const isShort = typeof maxLength === "number" && maxLength <= 1_000;
    return { ...labelled, kind: isShort || format !== undefined ? "text" : "long", choices: [] };
  }
  if (type === "number" || type === "integer") return { ...labelled, kind: "number", choices: [] };
  if (type === "boolean") return { ...labelled, kind: "flag", choices: [] };
  return null;
}

/** Whether a value can stand in a field: a model may have given another type than the schema asks for. */
function fits(field: Field, value: unknown): boolean {
  if (value === undefined) return true;
  switch (field.kind) {
    case "group":
      return fitsAll(field.fields, value);
    case "list":
      return Array.isArray(value) && value.every((one) => fits(field.item, one));
    case "number":
      return typeof value === "number";
    case "flag":
      return typeof value === "boolean";
    default:
      return typeof value === "string";
  }
}

function fitsAll(fields: readonly Field[], value: unknown): boolean {
  return isObject(value) && fields.every((field) => fits(field, value[field.name]));
}

/** What stands in a field: a text or a flag; in a group, the values of its fields; in a list, its items. */
export type Value = string | boolean | Values | readonly Item[];
export type Values = { readonly [name: string]: Value };
/** `before`: what the item was; undefined for a new one. */
export type Item = { readonly id: number; readonly before: unknown; readonly value: Value };

export function valuesOf(fields: readonly Field[], input: unknown): Values {
  const given = asObject(input);
  return Object.fromEntries(fields.map((field) => [field.name, shownValue(field, given[field.name])]));
}

function shownValue(field: Field, given: unknown): Value {
  switch (field.kind) {
    case "group":
      return valuesOf(field.fields, given);
    case "list":
      return (Array.isArray(given) ? given : []).map((before, id) => ({
        id,
        before,
        value: shownValue(field.item, before),
      }));
    case "flag":
      return given === true;
    default:
      return given === undefined ? "" : String(given);
  }
}

/** The items of a list with an empty one behind them. */
export function withNewItem(item: Field, items: readonly Item[]): readonly Item[] {
  const id = Math.max(-1, ...items.map((one) => one.id)) + 1;
  return [...items, { id, before: undefined, value: shownValue(item, undefined) }];
}

/** The input that the fields stand for. A field that is empty and may be absent is left out, unless it was there before. */
export function inputOf(fields: readonly Field[], values: Values, before: unknown): JsonObject {
  const given = asObject(before);
  const input: { [name: string]: unknown } = { ...given };
  for (const field of fields) {
    const { name } = field;
    const value = writtenIn(field, values[name] ?? "", given[name]);
    if (value === undefined) delete input[name];
    else input[name] = value;
  }
  return input;
}

/** What a field stands for; undefined if it is left out. */
function writtenIn(field: Field, value: Value, before: unknown): unknown {
  const isKept = field.isRequired || before !== undefined;
  switch (field.kind) {
    case "group": {
      const written = inputOf(field.fields, value as Values, before);
      return isKept || Object.keys(written).length > 0 ? written : undefined;
    }
    case "list": {
      const items = value as readonly Item[];
      return isKept || items.length > 0
        ? items.map((one) => writtenIn(field.item, one.value, one.before) ?? "")
        : undefined;
    }
    case "flag":
      return isKept || value === true ? value === true : undefined;
    case "number":
      if (value === "") return undefined;
      return Number.isFinite(Number(value)) ? Number(value) : value;
    default:
      return isKept || value !== "" ? value : undefined;
  }
}

export type Checked = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problem: string };

/** Reads JSON that somebody has written, and checks it. */
export function checkedJson(text: string, schema: unknown): Checked {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { ok: false, problem: `This is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
  return checked(value, schema);
}

/** Checks a value by a JSON Schema. Without one, anything goes. */
export function checked(value: unknown, schema: unknown): Checked {
  const problem = problemOf(value, schema);
  return problem === null ? { ok: true, value } : { ok: false, problem };
}

function asObject(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
