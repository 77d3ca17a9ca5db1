/**
 * Reads parts of foreign messages field by field, and copies only the fields that Pawl's messages have.
 */
import { getErrorMessage } from "../../core/data/error-message.js";
import { isObject } from "../../core/data/is-object.js";
import type {
  FilePart,
  Json,
  Message,
  ProviderMetadata,
  TextPart,
  ToolCallPart,
  ToolOutput,
  ToolResultPart,
} from "../../core/data/message.js";
import { PawlError } from "../../errors.js";
import { encodeBase64 } from "../../platform/bytes.js";
import { normaliseJson } from "../tools/to-json.js";

/** A foreign object with unknown fields. */
export type ForeignObject = { readonly [field: string]: unknown };

/** A message with the index of its original in the history. */
export type IndexedMessage = { readonly index: number; readonly message: Message };

/** Rejects the history because of one message. */
export type Refuse = (why: string) => never;

export function createRefuse(index: number): Refuse {
  return (why) => {
    throw new PawlError("bad_input", `history[${index}]: ${why}`);
  };
}

/** Copies a value as JSON. Rejects the history if that is not possible. */
export function toJson(value: unknown, what: string, refuse: Refuse): Json {
  try {
    return normaliseJson(value);
  } catch (error) {
    return refuse(`${what} cannot be stored: ${getErrorMessage(error)}`);
  }
}

export function readText(value: unknown, what: string, refuse: Refuse): string {
  return typeof value === "string" ? value : refuse(`${what} is not a string.`);
}

/** Reads a required name. */
export function readName(value: unknown, what: string, refuse: Refuse): string {
  const name = readText(value, what, refuse);
  return name === "" || name.length > 1_000 ? refuse(`${what} must have 1 to 1,000 characters.`) : name;
}

export function readList(value: unknown, what: string, refuse: Refuse): readonly ForeignObject[] {
  if (!Array.isArray(value)) return refuse(`${what} is not an array.`);
  for (const item of value)
    if (typeof item !== "object" || item === null) refuse(`${what} has a part that is not an object.`);
  return value as readonly ForeignObject[];
}

/** The provider's metadata of a part, under Pawl's name. */
export function readMetadata(value: unknown, refuse: Refuse): { readonly providerMetadata?: ProviderMetadata } {
  if (value === undefined || value === null) return {};
  const metadata = toJson(value, "providerMetadata", refuse);
  if (!isObject(metadata) || !Object.values(metadata).every(isObject))
    return refuse("providerMetadata must be an object of objects, by provider.");
  return { providerMetadata: metadata as ProviderMetadata };
}

/** Returns no part for empty text, which some providers refuse. */
export function toTextParts(text: string, metadata: ReturnType<typeof readMetadata> = {}): readonly TextPart[] {
  return text === "" ? [] : [{ type: "text", text, ...metadata }];
}

/** A file from base64, a `data:` URL, an http(s) URL, bytes or the AI SDK's `{ type: "data" | "url" | "text" }`. */
export function toFilePart(
  { data, mediaType, filename, metadata }: ForeignObject & { readonly metadata?: ReturnType<typeof readMetadata> },
  refuse: Refuse,
): FilePart {
  const tagged = Object(data) as ForeignObject;
  if (typeof data === "object" && data !== null && !isBytes(data) && !(data instanceof URL)) {
    if (tagged.type === "data")
      return toFilePart({ data: tagged.data, mediaType, filename, ...pickMetadata(metadata) }, refuse);
    if (tagged.type === "url")
      return toFilePart({ data: tagged.url, mediaType, filename, ...pickMetadata(metadata) }, refuse);
    if (tagged.type === "text") {
      const bytes = new TextEncoder().encode(readText(tagged.text, "the text of a file", refuse));
      return toFilePart({ data: bytes, mediaType, filename, ...pickMetadata(metadata) }, refuse);
    }
    return refuse("a file refers to something outside the conversation. Give its content or its URL.");
  }
  const source = data instanceof URL ? data.href : data;
  const inline = typeof source === "string" ? /^data:([^;,]*)[^,]*;base64,/i.exec(source.slice(0, 1_000)) : null;
  const type = typeof mediaType === "string" && /^[^*]+$/.test(mediaType) ? mediaType : inline?.[1] || mediaType;
  if (typeof type !== "string" || type === "" || type.length > 200) return refuse("a file has no media type.");
  return {
    type: "file",
    mediaType: type,
    data: readContent(source, inline?.[0] ?? "", refuse),
    ...(typeof filename === "string" && filename !== "" ? { filename: filename.slice(0, 1_000) } : {}),
    ...metadata,
  };
}

function pickMetadata(metadata: ReturnType<typeof readMetadata> | undefined) {
  return metadata === undefined ? {} : { metadata };
}

function isBytes(data: unknown): data is Uint8Array | ArrayBuffer {
  return data instanceof Uint8Array || data instanceof ArrayBuffer;
}

function readContent(source: unknown, prefix: string, refuse: Refuse): string {
  if (isBytes(source)) return encodeBase64(source instanceof Uint8Array ? source : new Uint8Array(source));
  const text = readText(source, "the content of a file", refuse);
  if (/^https?:/i.test(text.slice(0, 8))) return text;
  const base64 = text.slice(prefix.length);
  if (base64 === "" || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(base64))
    return refuse("the content of a file is neither base64 nor an http(s) URL.");
  return base64;
}

export function callOf(
  { toolCallId, name, input }: ForeignObject,
  more: Partial<Pick<ToolCallPart, "providerExecuted" | "providerMetadata">>,
  refuse: Refuse,
): ToolCallPart {
  const tool = readName(name, "the name of a tool", refuse);
  return {
    type: "tool_call",
    toolCallId: readName(toolCallId, "a toolCallId", refuse),
    name: tool,
    input: input === undefined ? {} : toJson(input, `the input of ${tool}`, refuse),
    ...more,
  };
}

/** Creates a result from a converted output. */
export function resultOf(
  { toolCallId, name }: ForeignObject,
  output: ToolOutput,
  more: Partial<Pick<ToolResultPart, "isError" | "providerExecuted" | "providerMetadata">>,
  refuse: Refuse,
): ToolResultPart {
  return {
    type: "tool_result",
    toolCallId: readName(toolCallId, "a toolCallId", refuse),
    name: readName(name, "the name of a tool", refuse),
    output,
    ...more,
  };
}

/** Converts a value of any shape to the output of a tool. */
export function toPlainOutput(value: unknown, what: string, refuse: Refuse): ToolOutput {
  if (typeof value === "string") return { type: "text", text: value };
  return { type: "json", value: value === undefined ? null : toJson(value, what, refuse) };
}
