/**
 * Parts of messages from elsewhere, read field by field: nothing is taken that a message of Pawl does not have.
 */
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
import { base64Of } from "../../platform/bytes.js";
import { normaliseJson } from "../tools/to-json.js";

/** An object from elsewhere, of which nothing is known. */
export type Foreign = { readonly [field: string]: unknown };

/** A message with the index of the message from which it was made. */
export type Placed = { readonly index: number; readonly message: Message };

/** Refuses the history because of one message. */
export type Refuse = (why: string) => never;

export function refusing(index: number): Refuse {
  return (why) => {
    throw new PawlError("bad_input", `history[${index}]: ${why}`);
  };
}

/** How deep a value in a message may be nested: the messages around it take some levels of an entry. */
export function jsonOf(value: unknown, what: string, refuse: Refuse): Json {
  try {
    return normaliseJson(value);
  } catch (error) {
    return refuse(`${what} cannot be stored: ${error instanceof Error ? error.message : String(error)}`);
  }
}

export function textIn(value: unknown, what: string, refuse: Refuse): string {
  return typeof value === "string" ? value : refuse(`${what} is no text.`);
}

/** A name that must be there. */
export function nameIn(value: unknown, what: string, refuse: Refuse): string {
  const name = textIn(value, what, refuse);
  return name === "" || name.length > 1_000 ? refuse(`${what} must have 1 to 1,000 characters.`) : name;
}

export function listIn(value: unknown, what: string, refuse: Refuse): readonly Foreign[] {
  if (!Array.isArray(value)) return refuse(`${what} is no array.`);
  for (const item of value)
    if (typeof item !== "object" || item === null) refuse(`${what} has a part that is no object.`);
  return value as readonly Foreign[];
}

/** What a provider attached to a part, under the name that Pawl has for it. */
export function metadataOf(value: unknown, refuse: Refuse): { readonly providerMetadata?: ProviderMetadata } {
  if (value === undefined || value === null) return {};
  const metadata = jsonOf(value, "providerMetadata", refuse);
  const isRecord = (one: unknown) => typeof one === "object" && one !== null && !Array.isArray(one);
  if (!isRecord(metadata) || !Object.values(metadata as object).every(isRecord))
    return refuse("providerMetadata must be an object of objects, by provider.");
  return { providerMetadata: metadata as ProviderMetadata };
}

/** None for an empty text, which some providers refuse. */
export function textPartsOf(text: string, metadata: ReturnType<typeof metadataOf> = {}): readonly TextPart[] {
  return text === "" ? [] : [{ type: "text", text, ...metadata }];
}

/** A file from base64, a `data:` URL, an http(s) URL, bytes or the AI SDK's `{ type: "data" | "url" | "text" }`. */
export function fileOf(
  { data, mediaType, filename, metadata }: Foreign & { readonly metadata?: ReturnType<typeof metadataOf> },
  refuse: Refuse,
): FilePart {
  const tagged = Object(data) as Foreign;
  if (typeof data === "object" && data !== null && !isBytes(data) && !(data instanceof URL)) {
    if (tagged.type === "data") return fileOf({ data: tagged.data, mediaType, filename, ...given(metadata) }, refuse);
    if (tagged.type === "url") return fileOf({ data: tagged.url, mediaType, filename, ...given(metadata) }, refuse);
    if (tagged.type === "text") {
      const bytes = new TextEncoder().encode(textIn(tagged.text, "the text of a file", refuse));
      return fileOf({ data: bytes, mediaType, filename, ...given(metadata) }, refuse);
    }
    return refuse("a file refers to something outside of the conversation. Give its content or its URL.");
  }
  const source = data instanceof URL ? data.href : data;
  const inline = typeof source === "string" ? /^data:([^;,]*)[^,]*;base64,/i.exec(source.slice(0, 1_000)) : null;
  const type = typeof mediaType === "string" && /^[^*]+$/.test(mediaType) ? mediaType : inline?.[1] || mediaType;
  if (typeof type !== "string" || type === "" || type.length > 200) return refuse("a file has no media type.");
  return {
    type: "file",
    mediaType: type,
    data: contentOf(source, inline?.[0] ?? "", refuse),
    ...(typeof filename === "string" && filename !== "" ? { filename: filename.slice(0, 1_000) } : {}),
    ...metadata,
  };
}

function given(metadata: ReturnType<typeof metadataOf> | undefined) {
  return metadata === undefined ? {} : { metadata };
}

function isBytes(data: unknown): data is Uint8Array | ArrayBuffer {
  return data instanceof Uint8Array || data instanceof ArrayBuffer;
}

function contentOf(source: unknown, prefix: string, refuse: Refuse): string {
  if (isBytes(source)) return base64Of(source instanceof Uint8Array ? source : new Uint8Array(source));
  const text = textIn(source, "the content of a file", refuse);
  if (/^https?:/i.test(text.slice(0, 8))) return text;
  const base64 = text.slice(prefix.length);
  if (base64 === "" || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(base64))
    return refuse("the content of a file is neither base64 nor an http(s) URL.");
  return base64;
}

export function callOf(
  { toolCallId, name, input }: Foreign,
  more: Partial<Pick<ToolCallPart, "providerExecuted" | "providerMetadata">>,
  refuse: Refuse,
): ToolCallPart {
  const tool = nameIn(name, "the name of a tool", refuse);
  return {
    type: "tool_call",
    toolCallId: nameIn(toolCallId, "a toolCallId", refuse),
    name: tool,
    input: input === undefined ? {} : jsonOf(input, `the input of ${tool}`, refuse),
    ...more,
  };
}

/** A result, from an output that is ready. */
export function resultOf(
  { toolCallId, name }: Foreign,
  output: ToolOutput,
  more: Partial<Pick<ToolResultPart, "isError" | "providerExecuted" | "providerMetadata">>,
  refuse: Refuse,
): ToolResultPart {
  return {
    type: "tool_result",
    toolCallId: nameIn(toolCallId, "a toolCallId", refuse),
    name: nameIn(name, "the name of a tool", refuse),
    output,
    ...more,
  };
}

/** A value of any shape, as the output of a tool. */
export function plainOutput(value: unknown, what: string, refuse: Refuse): ToolOutput {
  if (typeof value === "string") return { type: "text", text: value };
  return { type: "json", value: value === undefined ? null : jsonOf(value, what, refuse) };
}
