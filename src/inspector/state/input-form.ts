/**
 * Edits an input: in a form if its schema allows one, otherwise as JSON. The result is checked before it is sent.
 *
 * 1. A form supports strings, numbers, booleans and choices, objects of them, and lists of these, to a few levels.
 * 2. Unchanged values are preserved: fields that the form does not show are kept, and no field is added.
 */
import { getErrorMessage } from "../../core/data/error-message.js";
import { isObject } from "../../core/data/is-object.js";
import { findProblem } from "./schema-check.js";

type LabelledField = {
  readonly name: string;
  readonly label: string;
  readonly isRequired: boolean;
  readonly about: string | null;
};

/** A field that one control of a page can show. */
export type PlainField = LabelledField & {
  readonly kind: "text" | "long" | "number" | "flag" | "choice";
  readonly choices: readonly string[];
};

export type Field =
  | PlainField
  | (LabelledField & { readonly kind: "group"; readonly fields: readonly Field[] })
  | (LabelledField & { readonly kind: "list"; readonly item: Field });

type JsonObject = { readonly [name: string]: unknown };

/** The maximum nesting of groups and lists. */
const maxLevels = 3;

/** The form fields of an object's schema; null if no form can represent the schema and this input. */
export function toFormFields(schema: unknown, input?: unknown): readonly Field[] | null {
  const fields = isObject(schema) ? toFields(schema, 0) : null;
  return fields !== null && fields.length > 0 && fitsFields(fields, input ?? {}) ? fields : null;
}

function toFields(schema: JsonObject, level: number): readonly Field[] | null {
  if (schema.type !== "object" || !isObject(schema.properties)) return null;
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const fields: Field[] = [];
  for (const [name, property] of Object.entries(schema.properties)) {
    const field = toField(name, property, required.has(name), level);
    if (field === null) return null;
    fields.push(field);
  }
  return fields;
}

function toField(name: string, property: unknown, isRequired: boolean, level: number): Field | null {
  if (!isObject(property) || level > maxLevels) return null;
  const { type, title, description } = property;
  const label = typeof title === "string" ? title : name;
  const base = { name, label, isRequired, about: typeof description === "string" ? description : null };
  if (type === "object") {
    const fields = toFields(property, level + 1);
    return fields === null || fields.length === 0 ? null : { ...base, kind: "group", fields };
  }
  if (type === "array") {
    const item = toField("", { title: label, ...asObject(property.items) }, true, level + 1);
    return item === null ? null : { ...base, kind: "list", item };
  }
  return toPlainField(base, property);
}

function toPlainField(base: LabelledField, { type, maxLength, format, enum: values }: JsonObject): PlainField | null {
  if (Array.isArray(values))
    return values.every((one): one is string => typeof one === "string")
      ? { ...base, kind: "choice", choices: values }
      : null;
  if (type === "string") {
    const isShort = typeof maxLength === "number" && maxLength <= 1_000;
    return { ...base, kind: isShort || format !== undefined ? "text" : "long", choices: [] };
  }
  if (type === "number" || type === "integer") return { ...base, kind: "number", choices: [] };
  if (type === "boolean") return { ...base, kind: "flag", choices: [] };
  return null;
}

/** Whether a field can hold a value: a model may have sent another type than the schema requires. */
function fitsField(field: Field, value: unknown): boolean {
  if (value === undefined) return true;
  switch (field.kind) {
    case "group":
      return fitsFields(field.fields, value);
    case "list":
      return Array.isArray(value) && value.every((one) => fitsField(field.item, one));
    case "number":
      return typeof value === "number";
    case "flag":
      return typeof value === "boolean";
    default:
      return typeof value === "string";
  }
}

function fitsFields(fields: readonly Field[], value: unknown): boolean {
  return isObject(value) && fields.every((field) => fitsField(field, value[field.name]));
}

/** The value of a field: a string or a boolean; for a group, the values of its fields; for a list, its items. */
export type FieldValue = string | boolean | FieldValues | readonly ListItem[];
export type FieldValues = { readonly [name: string]: FieldValue };
/** `before`: the original item; undefined for a new one. */
export type ListItem = { readonly id: number; readonly before: unknown; readonly value: FieldValue };

export function toFieldValues(fields: readonly Field[], input: unknown): FieldValues {
  const original = asObject(input);
  return Object.fromEntries(fields.map((field) => [field.name, toFieldValue(field, original[field.name])]));
}

function toFieldValue(field: Field, original: unknown): FieldValue {
  switch (field.kind) {
    case "group":
      return toFieldValues(field.fields, original);
    case "list":
      return (Array.isArray(original) ? original : []).map((before, id) => ({
        id,
        before,
        value: toFieldValue(field.item, before),
      }));
    case "flag":
      return original === true;
    default:
      return original === undefined ? "" : String(original);
  }
}

/** Appends an empty item to a list. */
export function addItem(item: Field, items: readonly ListItem[]): readonly ListItem[] {
  const id = Math.max(-1, ...items.map((one) => one.id)) + 1;
  return [...items, { id, before: undefined, value: toFieldValue(item, undefined) }];
}

/** The input of the form. An empty optional field is omitted, unless it was there before. */
export function toInput(fields: readonly Field[], values: FieldValues, before: unknown): JsonObject {
  const original = asObject(before);
  const input: { [name: string]: unknown } = { ...original };
  for (const field of fields) {
    const { name } = field;
    const value = toInputValue(field, values[name] ?? "", original[name]);
    if (value === undefined) delete input[name];
    else input[name] = value;
  }
  return input;
}

/** The input value of a field; undefined if it is omitted. */
function toInputValue(field: Field, value: FieldValue, before: unknown): unknown {
  const mustInclude = field.isRequired || before !== undefined;
  switch (field.kind) {
    case "group": {
      const written = toInput(field.fields, value as FieldValues, before);
      return mustInclude || Object.keys(written).length > 0 ? written : undefined;
    }
    case "list": {
      const items = value as readonly ListItem[];
      return mustInclude || items.length > 0
        ? items.map((one) => toInputValue(field.item, one.value, one.before) ?? "")
        : undefined;
    }
    case "flag":
      return mustInclude || value === true ? value === true : undefined;
    case "number":
      if (value === "") return undefined;
      return Number.isFinite(Number(value)) ? Number(value) : value;
    default:
      return mustInclude || value !== "" ? value : undefined;
  }
}

export type CheckResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string };

/** Parses JSON that a person has written, and checks it. */
export function parseAndCheck(text: string, schema: unknown): CheckResult {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { ok: false, problem: `This is not JSON: ${getErrorMessage(error)}` };
  }
  return checkValue(value, schema);
}

/** Checks a value against a JSON Schema. Without a schema, any value is valid. */
export function checkValue(value: unknown, schema: unknown): CheckResult {
  const problem = findProblem(value, schema);
  return problem === null ? { ok: true, value } : { ok: false, problem };
}

function asObject(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}
