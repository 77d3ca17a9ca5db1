/**
 * Converts a tool's question to a form of plain fields, which are all that editors, MCP and A2A clients can show.
 */
import type { PendingApproval } from "../index.js";

type FormSchema = { readonly [key: string]: unknown };
export type FormContent = { readonly [field: string]: unknown };

/** Creates the schema of the form; null if plain fields cannot express the answer. */
export function createFormSchema({ schema }: PendingApproval): FormSchema | null {
  const properties = isObject(schema) ? schema.properties : { [answerField]: schema ?? { type: "string" } };
  if (properties === null || typeof properties !== "object" || !Object.values(properties).every(isPlainField))
    return null;
  const required = isObject(schema) ? schema.required : [answerField];
  return { type: "object", properties, ...(Array.isArray(required) ? { required } : {}) };
}

/** The answer that the tool gets. */
export function readFormValue(content: FormContent, { schema }: PendingApproval): unknown {
  return isObject(schema) ? content : content[answerField];
}

/** Fills the form with one string; null if the answer has several fields. A number or a boolean is parsed as JSON. */
export function textAnswer(text: string, { schema }: PendingApproval): FormContent | null {
  if (schema?.type === "object") return null;
  if (schema === undefined || schema.type === "string") return { [answerField]: text };
  try {
    return { [answerField]: JSON.parse(text) };
  } catch {
    return { [answerField]: text };
  }
}

const answerField = "answer";

function isObject(schema: FormSchema | undefined): schema is FormSchema {
  return schema?.type === "object";
}

const plainTypes: ReadonlySet<unknown> = new Set(["string", "number", "integer", "boolean"]);

function isPlainField(property: unknown): boolean {
  return property !== null && typeof property === "object" && plainTypes.has((property as FormSchema).type);
}
