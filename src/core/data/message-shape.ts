/**
 * Checks that a value is a message: its role, and the fields of its parts.
 *
 * The value is plain JSON that was already checked. A message from outside goes to a provider, so an unknown field is an error: it would
 * otherwise be dropped silently.
 */
import { isJsonObject } from "./is-object.js";
import type { AssistantPart, Json, Message, ToolOutput, ToolResultPart, UserPart } from "./message.js";

type Kind = "text" | "boolean" | "object" | "output" | "any";
type Fields<Part> = { readonly [Field in Exclude<keyof Part, "type">]-?: Kind | `${Kind}?` };
type PartTable<Part extends { readonly type: string }> = {
  readonly [Type in Part["type"]]: Fields<Extract<Part, { readonly type: Type }>>;
};
type PlainObject = { readonly [field: string]: Json };

const textFields = { text: "text", providerMetadata: "object?" } as const;
const fileFields = { mediaType: "text", data: "text", filename: "text?", providerMetadata: "object?" } as const;
const resultFields = {
  toolCallId: "text",
  name: "text",
  output: "output",
  isError: "boolean?",
  providerExecuted: "boolean?",
  approval: "object?",
  providerMetadata: "object?",
} as const;

const userParts: PartTable<UserPart> = { text: textFields, file: fileFields };
const toolParts: PartTable<ToolResultPart> = { tool_result: resultFields };
const assistantParts: PartTable<AssistantPart> = {
  text: textFields,
  file: fileFields,
  reasoning: textFields,
  tool_result: resultFields,
  source: {
    id: "text",
    url: "text?",
    title: "text?",
    filename: "text?",
    mediaType: "text?",
    providerMetadata: "object?",
  },
  tool_call: {
    toolCallId: "text",
    name: "text",
    input: "any",
    invalid: "text?",
    providerExecuted: "boolean?",
    approvalId: "text?",
    providerMetadata: "object?",
  },
};

type FieldTable = { readonly [type: string]: { readonly [field: string]: string } };
const partTables: { readonly [Role in Message["role"]]: FieldTable } = {
  user: userParts,
  assistant: assistantParts,
  tool: toolParts,
};

const outputTable: { readonly [Type in ToolOutput["type"]]: { readonly [field: string]: string } } = {
  text: { text: "text", full: "object?" },
  json: { value: "any" },
  content: { parts: "any", full: "object?" },
};

/** Describes what is wrong with a message; undefined if it is valid. The description begins in lower case and has no full stop. */
export function findMessageFault(value: Json): string | undefined {
  if (!isJsonObject(value)) return "it is not an object";
  const { role, parts, providerMetadata, ...others } = value;
  if (role === "system") return "a system message cannot be in the conversation; use systemPrompt";
  if (typeof role !== "string" || !Object.hasOwn(partTables, role))
    return 'its role must be "user", "assistant" or "tool"';
  const [unknown] = Object.keys(others);
  if (unknown !== undefined || (providerMetadata !== undefined && role !== "assistant"))
    return `it has an unknown field ${JSON.stringify((unknown ?? "providerMetadata").slice(0, 100))}`;
  if (!Array.isArray(parts) || parts.length === 0) return "it has no parts";
  return findFirstFault(parts, (part: Json, index) => {
    const fault = findPartFault(part, partTables[role as Message["role"]]);
    return fault === undefined ? undefined : `parts[${index}] ${fault}`;
  });
}

function findPartFault(part: Json, table: FieldTable): string | undefined {
  if (!isJsonObject(part)) return "is not an object";
  const { type, ...members } = part;
  const fields = typeof type === "string" && Object.hasOwn(table, type) ? table[type] : undefined;
  if (fields === undefined) return `must have one of the types ${Object.keys(table).join(", ")}`;
  return findFieldFault(members, fields);
}

function findFieldFault(members: PlainObject, fields: { readonly [field: string]: string }): string | undefined {
  const unknown = Object.keys(members).find((name) => !Object.hasOwn(fields, name));
  if (unknown !== undefined) return `has an unknown field ${JSON.stringify(unknown.slice(0, 100))}`;
  return findFirstFault(Object.entries(fields), ([name, kind]) => {
    const value = members[name];
    if (value === undefined) return kind.endsWith("?") ? undefined : `has no ${name}`;
    return hasKind(value, kind.replace("?", "")) ? undefined : `has an invalid ${name}`;
  });
}

function hasKind(value: Json, kind: string): boolean {
  switch (kind) {
    case "text":
      return typeof value === "string";
    case "boolean":
      return typeof value === "boolean";
    case "object":
      return isJsonObject(value);
    case "output":
      return isToolOutput(value);
    default:
      return true;
  }
}

function isToolOutput(value: Json): boolean {
  if (!isJsonObject(value)) return false;
  const { type, ...members } = value;
  if (typeof type !== "string" || !Object.hasOwn(outputTable, type)) return false;
  if (findFieldFault(members, outputTable[type as ToolOutput["type"]]) !== undefined) return false;
  if (type !== "content") return true;
  const { parts } = members;
  return Array.isArray(parts) && parts.every((part: Json) => findPartFault(part, userParts) === undefined);
}

function findFirstFault<Item>(
  items: readonly Item[],
  findFault: (item: Item, index: number) => string | undefined,
): string | undefined {
  for (const [index, item] of items.entries()) {
    const fault = findFault(item, index);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
