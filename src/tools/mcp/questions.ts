/**
 * The questions of an MCP server, which its protocol calls elicitation: what a person is shown, and what the server is
 * told.
 *
 * 1. A server is a stranger: its name stands before its words, hidden characters are made visible, and its schema is
 *    measured before it is used.
 * 2. A question that cannot be shown is not asked. The server, or the model, is told why.
 */

import type { ElicitResult } from "@modelcontextprotocol/client";
import { defined } from "../../core/data/defined.js";
import { isObject, type JsonObject } from "../../core/data/is-object.js";
import { checkJson } from "../../core/data/json.js";
import { maxSchemaLevels, measureSchema } from "../../core/data/json-weight.js";
import type { Json } from "../../core/data/message.js";
import type { Answered, Question } from "../../ports/tool.js";
import { shortenUntrusted } from "./shorten-untrusted.js";

/** A question for a person, or the reason why it cannot be asked. */
export type ParsedQuestion = { readonly question: Question } | { readonly refused: string };

const maxMessageCharacters = 8_000;
const maxUrlCharacters = 2_000;
const maxSchemaBytes = 32_768;

/** The requests of a server in one reply, by its keys, or the reason why they cannot be asked. */
export type CheckedRequests =
  | { readonly requests: { readonly [key: string]: InputRequest } }
  | { readonly refused: string };

/** A request whose question was checked, with the fields that it needs. */
export type InputRequest = { readonly method: string; readonly params: { readonly [name: string]: unknown } };

/** The most questions of one call. */
export const maxQuestions = 64;
/** As long as the ids of tasks may be. */
const maxKeyCharacters = 8_000;

/** Checks what a server asks before anything stores it. */
export function checkInputRequests(peer: string, untrusted: unknown): CheckedRequests {
  const entries = Object.entries(Object(untrusted));
  if (entries.length > maxQuestions)
    return { refused: `${peer} asks more than ${maxQuestions} questions in one call.` };
  const checked: [string, InputRequest][] = [];
  for (const [key, request] of entries) {
    const parsed =
      key.length > maxKeyCharacters
        ? { refused: "the key of its question is too long" }
        : parseInputRequest(peer, request);
    if ("refused" in parsed) return { refused: `${peer} cannot go on: ${parsed.refused}.` };
    checked.push([key, pickRequest(request as InputRequest)]);
  }
  return { requests: Object.fromEntries(checked) };
}

function pickRequest({ method, params: { mode, message, requestedSchema, url } }: InputRequest): InputRequest {
  // One character more than is shown, so that the person sees that the text was cut.
  const text = String(message).slice(0, maxMessageCharacters + 1);
  return { method, params: { message: text, ...defined({ mode, requestedSchema, url }) } };
}

/** Reads an embedded request of a server. It may have any shape. */
export function parseInputRequest(peer: string, request: unknown): ParsedQuestion {
  const { method, params } = Object(request) as { readonly method?: unknown; readonly params?: unknown };
  if (method !== "elicitation/create")
    return { refused: `it asks for ${formatName(method)}, which Pawl does not give` };
  return parseElicitation(peer, params);
}

/** Reads the parameters of `elicitation/create`. */
export function parseElicitation(peer: string, params: unknown): ParsedQuestion {
  const { mode = "form", message, requestedSchema, url } = Object(params) as { readonly [key: string]: unknown };
  if (typeof message !== "string" || message.trim() === "") return { refused: "its question has no text" };
  const questionText = `${peer} asks: ${shortenUntrusted(message, maxMessageCharacters)}`;
  if (mode === "url") return parsePageQuestion(questionText, url);
  if (mode !== "form") return { refused: `its question is of the unknown mode ${formatName(mode)}` };
  const schema = parseSchema(requestedSchema);
  return typeof schema === "string" ? { refused: schema } : { question: { message: questionText, schema } };
}

function parsePageQuestion(message: string, url: unknown): ParsedQuestion {
  const isUrl = typeof url === "string" && url.length <= maxUrlCharacters && URL.canParse(url);
  const { protocol = "", href = "" } = isUrl ? new URL(url) : {};
  if (protocol !== "http:" && protocol !== "https:") return { refused: "the page of its question has no http address" };
  return { question: { message: `${message} (A page is to be opened.)`, url: href } };
}

/** Returns the schema, or the reason why it cannot be used. */
function parseSchema(untrusted: unknown): JsonObject | string {
  const checked = checkJson(untrusted, { maxBytes: maxSchemaBytes, maxDepth: maxSchemaLevels });
  if (!checked.ok) return `the schema of its question is no JSON, or out of bounds (${checked.error})`;
  const schema = checked.value;
  if (!isObject(schema)) return "its question has no schema";
  const object = schema as JsonObject;
  if (object.type !== "object") return "the schema of its question is not that of an object";
  const measure = measureSchema(schema);
  return "fault" in measure
    ? `the schema of its question is out of bounds (${measure.fault})`
    : makeDefaultsOptional(object);
}

/** A field that has a default is not required. */
function makeDefaultsOptional(schema: JsonObject): JsonObject {
  const defaults = collectDefaults(schema);
  if (!Array.isArray(schema.required) || Object.keys(defaults).length === 0) return schema;
  return { ...schema, required: schema.required.filter((name) => !Object.hasOwn(defaults, String(name))) };
}

function collectDefaults({ properties }: JsonObject): JsonObject {
  const fields = Object.entries(Object(properties) as JsonObject);
  return Object.fromEntries(
    fields.flatMap(([name, field]) => {
      const { default: value } = Object(field) as { readonly default?: Json };
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** The reply to the server. The answer fits the schema of the question, which was checked when it was posted. */
export function toElicitResult(question: Question, answer: Answered): ElicitResult {
  if (answer.type === "expired") return { action: "cancel" };
  if (answer.type === "declined") return { action: "decline" };
  if (question.url !== undefined) return { action: "accept" };
  const content = { ...collectDefaults(question.schema as JsonObject), ...Object(answer.value) };
  return { action: "accept", content };
}

function formatName(name: unknown): string {
  return JSON.stringify(typeof name === "string" ? name.slice(0, 100) : null);
}
