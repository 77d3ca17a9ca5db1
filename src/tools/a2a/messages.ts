/**
 * Converts messages, questions and artifacts of a remote agent. What the agent sends is untrusted.
 */
import type { Message, Part, Task } from "@a2a-js/sdk";
import type { FilePart, Json, TextPart, ToolOutput } from "../../core/data/message.js";
import { sha256 } from "../../platform/hash.js";
import { type InputRequest, parseInputRequest } from "../mcp/questions.js";
import type { A2aSdk } from "./import-sdk.js";

/** The question that a task shows. */
export type ShownQuestion = {
  /** Names the question among those of the task. */
  readonly key: string;
  readonly request: InputRequest;
  /** Whether the answer has fields that the agent has named. Otherwise it is text. */
  readonly hasFields: boolean;
  /** The agent's own name for the question. The answer repeats it, so that it cannot answer another question. */
  readonly question: string | undefined;
};

const noText = "The agent needs an answer, and does not say which one.";
const textSchema = {
  type: "object",
  properties: { answer: { type: "string" } },
  required: ["answer"],
  additionalProperties: false,
} as const;

/** @param peer the agent as messages name it */
export function readQuestion(peer: string, { status }: Task): ShownQuestion {
  const shown = status?.message;
  const parts = shown?.parts ?? [];
  const data = parts.flatMap(({ content }) => (content?.$case === "data" ? [content.value] : []));
  const [requestedSchema] = data;
  const text = joinTexts(parts) || noText;
  const asForm = { method: "elicitation/create", params: { message: text, requestedSchema } };
  const hasFields = data.length === 1 && "question" in parseInputRequest(peer, asForm);
  const message = hasFields ? text : [text, ...data.map((value) => JSON.stringify(value))].join("\n");
  const { question } = Object(shown?.metadata) as { readonly question?: unknown };
  return {
    key: sha256(shown?.messageId || JSON.stringify([message, status?.timestamp ?? null])),
    request: hasFields ? asForm : { method: asForm.method, params: { message, requestedSchema: textSchema } },
    hasFields,
    question: typeof question === "string" ? question : undefined,
  };
}

/** @param response what a person answered, or that no answer came */
export function toAnswer(
  { hasFields, question }: ShownQuestion,
  response: unknown,
): Pick<Message, "parts" | "metadata"> {
  const { action, content } = Object(response) as { readonly action?: unknown; readonly content?: unknown };
  const name = question === undefined ? {} : { question };
  if (action !== "accept") {
    const text = action === "cancel" ? "No answer came in time." : "No.";
    return { parts: [createTextPart(text)], metadata: { ...name, action: "decline" } };
  }
  if (hasFields) return { parts: [createPart({ $case: "data", value: content }, "application/json")], metadata: name };
  const { answer } = Object(content) as { readonly answer?: unknown };
  return { parts: [createTextPart(String(answer))], metadata: name };
}

/** A message of the model, or of a person. */
export function createMessage(
  { Role }: A2aSdk["enums"],
  { messageId, parts, ...task }: Pick<Message, "messageId" | "parts"> & Partial<Message>,
): Message {
  return {
    messageId,
    contextId: "",
    taskId: "",
    role: Role.ROLE_USER,
    parts,
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
    ...task,
  };
}

export function createTextPart(value: string): Part {
  return createPart({ $case: "text", value }, "text/plain");
}

function createPart(content: NonNullable<Part["content"]>, mediaType: string): Part {
  return { content, metadata: undefined, filename: "", mediaType };
}

/** The artifacts of a task; if it has none, its last message. */
export function readOutput({ artifacts, status }: Pick<Task, "artifacts" | "status">): ToolOutput {
  const produced = artifacts.flatMap(({ parts }) => parts);
  return toOutput(produced.length > 0 ? produced : (status?.message?.parts ?? []));
}

/** Files that the agent only refers to are not fetched: the model reads their addresses. */
export function toOutput(parts: readonly Part[]): ToolOutput {
  const [only, ...others] = parts;
  // The library has parsed the value from JSON.
  if (only?.content?.$case === "data" && others.length === 0)
    return { type: "json", value: (only.content.value ?? null) as Json };
  const converted = parts.flatMap(toOutputPart);
  const texts = converted.flatMap((part) => (part.type === "text" ? [part.text] : []));
  if (texts.length < converted.length) return { type: "content", parts: converted };
  const text = texts.join("\n");
  return { type: "text", text: text === "" ? "(no output)" : text };
}

function toOutputPart({ content, filename, mediaType }: Part): readonly (TextPart | FilePart)[] {
  switch (content?.$case) {
    case "text":
      return [{ type: "text", text: content.value }];
    case "data":
      return [{ type: "text", text: JSON.stringify(content.value) }];
    case "url":
      return [{ type: "text", text: filename === "" ? content.value : `${filename}: ${content.value}` }];
    case "raw": {
      const data = content.value.toString("base64");
      const file = { type: "file", mediaType: mediaType || "application/octet-stream", data } as const;
      return [filename === "" ? file : { ...file, filename }];
    }
    case undefined:
      return [];
  }
}

export function joinTexts(parts: readonly Part[]): string {
  return parts
    .flatMap(({ content }) => (content?.$case === "text" ? [content.value] : []))
    .join("\n")
    .trim();
}
