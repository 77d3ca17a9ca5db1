/**
 * A question of a tool as a form of plain fields, which is all that editors and MCP clients show.
 */
import type { PendingApproval } from "../index.js";

type Schema = { readonly [key: string]: unknown };
export type FormContent = { readonly [field: string]: unknown };

/** The schema of the form; null if the answer cannot be given in plain fields. */
export function formSchemaOf({ schema }: PendingApproval): Schema | null {
  const properties = isObject(schema) ? schema.properties : { [onlyField]: schema ?? { type: "string" } };
  if (properties === null || typeof properties !== "object" || !Object.values(properties).every(isPlain)) return null;
  const required = isObject(schema) ? schema.required : [onlyField];
  return { type: "object", properties, ...(Array.isArray(required) ? { required } : {}) };
}

/** The answer to the tool. */
export function valueOfForm(content: FormContent, { schema }: PendingApproval): unknown {
  return isObject(schema) ? content : content[onlyField];
}

const onlyField = "answer";

function isObject(schema: Schema | undefined): schema is Schema {
  return schema?.type === "object";
}

const plainTypes: ReadonlySet<unknown> = new Set(["string", "number", "integer", "boolean"]);

function isPlain(property: unknown): boolean {
  return property !== null && typeof property === "object" && plainTypes.has((property as Schema).type);
}
