/**
 * Whether a value is a message: its role, and the fields of its parts.
 *
 * The value is plain JSON that was checked before. A message from outside goes to a provider, so an unknown field is a
 * fault: it would be dropped without a word.
 */
import type { AssistantPart, Json, Message, ToolOutput, ToolResultPart, UserPart } from "./message.js";

type Kind = "text" | "boolean" | "object" | "output" | "any";
type Fields<Part> = { readonly [Field in Exclude<keyof Part, "type">]-?: Kind | `${Kind}?` };
type PartTable<Part extends { readonly type: string }> = {
  readonly [Type in Part["type"]]: Fields<Extract<Part, { readonly type: Type }>>;
};
type Plain = { readonly [field: string]: Json };

const text = { text: "text", providerMetadata: "object?" } as const;
const file = { mediaType: "text", data: "text", filename: "text?", providerMetadata: "object?" } as const;
const result = {
  toolCallId: "text",
  name: "text",
  output: "output",
  isError: "boolean?",
  providerExecuted: "boolean?",
  approval: "object?",
  providerMetadata: "object?",
} as const;

const userParts: PartTable<UserPart> = { text, file };
const toolParts: PartTable<ToolResultPart> = { tool_result: result };
const assistantParts: PartTable<AssistantPart> = {
  text,
  file,
  reasoning: text,
  tool_result: result,
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

type Table = { readonly [type: string]: { readonly [field: string]: string } };
const partsOf: { readonly [Role in Message["role"]]: Table } = {
  user: userParts,
  assistant: assistantParts,
  tool: toolParts,
};

const outputs: { readonly [Type in ToolOutput["type"]]: { readonly [field: string]: string } } = {
  text: { text: "text", full: "object?" },
  json: { value: "any" },
  content: { parts: "any", full: "object?" },
};

/** What is wrong with a message; undefined if it is one. The text begins in lower case and has no full stop. */
export function faultOfMessage(value: Json): string | undefined {
  if (!isPlain(value)) return "it is no object";
  const { role, parts, providerMetadata, ...others } = value;
  if (role === "system") return "a system message cannot be in the conversation; use systemPrompt";
  if (typeof role !== "string" || !Object.hasOwn(partsOf, role))
    return 'its role must be "user", "assistant" or "tool"';
  const [unknown] = Object.keys(others);
  if (unknown !== undefined || (providerMetadata !== undefined && role !== "assistant"))
    return `it has an unknown field ${JSON.stringify((unknown ?? "providerMetadata").slice(0, 100))}`;
  if (!Array.isArray(parts) || parts.length === 0) return "it has no parts";
  return firstFault(parts, (part: Json, index) => {
    const fault = faultOfPart(part, partsOf[role as Message["role"]]);
    return fault === undefined ? undefined : `parts[${index}] ${fault}`;
  });
}

function faultOfPart(part: Json, table: Table): string | undefined {
  if (!isPlain(part)) return "is no object";
  const { type, ...members } = part;
  const fields = typeof type === "string" && Object.hasOwn(table, type) ? table[type] : undefined;
  if (fields === undefined) return `must have one of the types ${Object.keys(table).join(", ")}`;
  return faultOfFields(members, fields);
}

function faultOfFields(members: Plain, fields: { readonly [field: string]: string }): string | undefined {
  const unknown = Object.keys(members).find((name) => !Object.hasOwn(fields, name));
  if (unknown !== undefined) return `has an unknown field ${JSON.stringify(unknown.slice(0, 100))}`;
  return firstFault(Object.entries(fields), ([name, kind]) => {
    const value = members[name];
    if (value === undefined) return kind.endsWith("?") ? undefined : `has no ${name}`;
    return isOfKind(value, kind.replace("?", "")) ? undefined : `has no proper ${name}`;
  });
}

function isOfKind(value: Json, kind: string): boolean {
  switch (kind) {
    case "text":
      return typeof value === "string";
    case "boolean":
      return typeof value === "boolean";
    case "object":
      return isPlain(value);
    case "output":
      return isOutput(value);
    default:
      return true;
  }
}

function isOutput(value: Json): boolean {
  if (!isPlain(value)) return false;
  const { type, ...members } = value;
  if (typeof type !== "string" || !Object.hasOwn(outputs, type)) return false;
  if (faultOfFields(members, outputs[type as ToolOutput["type"]]) !== undefined) return false;
  if (type !== "content") return true;
  const { parts } = members;
  return Array.isArray(parts) && parts.every((part: Json) => faultOfPart(part, userParts) === undefined);
}

function firstFault<Item>(
  items: readonly Item[],
  faultOf: (item: Item, index: number) => string | undefined,
): string | undefined {
  for (const [index, item] of items.entries()) {
    const fault = faultOf(item, index);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function isPlain(value: Json | undefined): value is Plain {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
