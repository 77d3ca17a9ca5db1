/**
 * The parts of an input: text, and files in any of the common forms.
 */
import type { FilePart, TextPart, UserPart } from "../../core/data/message.js";
import { PawlError } from "../../errors.js";
import { decodeBase64, encodeBase64 } from "../../platform/bytes.js";

/** A file of an input. */
export type InputFile = Omit<FilePart, "data" | "mediaType"> & {
  /** Bytes (also a `Buffer`), a `Blob` or `File`, an http(s) or data URL, or base64. */
  readonly data: string | Uint8Array | ArrayBuffer | Blob | URL;
  /**
   * For example `image/png`. Default: the type of a `Blob` or data URL, or detected from the bytes (PNG, JPEG, GIF, WebP
   * and PDF), else from the extension of `filename` or of the URL.
   */
  readonly mediaType?: string;
};

/** A part of an input: text, or a file. */
export type InputPart = TextPart | InputFile;

/** A user message of an input. */
export type InputMessage = {
  readonly role: "user";
  /** Texts and files, in order. */
  readonly parts: readonly InputPart[];
};

/** Text, parts (texts and files), or whole user messages. */
export type Input = string | readonly InputPart[] | readonly InputMessage[];

/** Whether the input has a blob that must be read first. */
export function hasBlobs(input: Input): boolean {
  try {
    return Array.isArray(input) && (input as readonly unknown[]).some((one) => listParts(one).some(isBlobPart));
  } catch {
    // An object that throws on access is refused later, when the input is checked.
    return false;
  }
}

/** Replaces blobs with their bytes. @throws PawlError `bad_input` for a blob that is too large or cannot be read */
export async function readBlobs(input: Input): Promise<Input> {
  if (typeof input === "string") return input;
  const read = await Promise.all(
    (input as readonly (InputPart | InputMessage)[]).map(async (one) =>
      "role" in one ? { ...one, parts: await Promise.all(one.parts.map(readPart)) } : readPart(one),
    ),
  );
  return read as Input;
}

function listParts(one: unknown): readonly unknown[] {
  if (typeof one !== "object" || one === null) return [];
  return "parts" in one && Array.isArray(one.parts) ? one.parts : [one];
}

function isBlobPart(part: unknown): part is InputFile & { readonly data: Blob } {
  return typeof part === "object" && part !== null && "data" in part && isBlob(part.data);
}

/** Duck-typed, so that blobs of other realms are accepted. */
function isBlob(data: unknown): data is Blob {
  return (
    typeof data === "object" &&
    data !== null &&
    "arrayBuffer" in data &&
    typeof data.arrayBuffer === "function" &&
    "size" in data
  );
}

async function readPart(part: InputPart): Promise<InputPart> {
  if (!isBlobPart(part)) return part;
  const { data: blob, ...rest } = part;
  if (blob.size > maxFileBytes) throw fileTooLargeError(blob.size);
  let bytes: ArrayBuffer;
  try {
    bytes = await blob.arrayBuffer();
  } catch (cause) {
    throw new PawlError(
      "bad_input",
      "A Blob of the input could not be read. Select the file again, or pass its bytes.",
      { cause },
    );
  }
  const name = "name" in blob && typeof blob.name === "string" ? blob.name : undefined;
  const mediaType = rest.mediaType ?? (blob.type === "" ? undefined : blob.type.split(";")[0]);
  const filename = rest.filename ?? name;
  return {
    ...rest,
    data: new Uint8Array(bytes),
    ...(mediaType === undefined ? {} : { mediaType }),
    ...(filename === undefined ? {} : { filename }),
  };
}

/** Derived from the size limit of the input, which counts base64 characters. */
const maxFileBytes = 675_000;

function fileTooLargeError(bytes: number): PawlError {
  return new PawlError(
    "bad_input",
    `A file of the input has ${bytes} bytes; the maximum is ${maxFileBytes}. Make it smaller, give its URL, or let a tool read it.`,
  );
}

/** @param where names the part in error messages: "Part 2 of the input" @throws PawlError `bad_input` */
export function checkPart(part: unknown, where: string): UserPart {
  if (typeof part !== "object" || part === null) throw createPartError(where, `is ${formatValue(part)}`);
  const { type } = part as { readonly type?: unknown };
  if (type === "text") {
    if (typeof (part as TextPart).text === "string") return part as TextPart;
    throw createPartError(where, `has \`text\` that is ${formatValue((part as { readonly text?: unknown }).text)}`);
  }
  if (type === "file") return checkFile(part as InputFile, where);
  const hint =
    type === "image" || type === "image_url"
      ? " An image is a file: { type: 'file', data, mediaType: 'image/png' }."
      : "";
  throw createPartError(where, `has the type ${formatValue(type)}.${hint}`);
}

export function createPartError(where: string, what: string): PawlError {
  const stop = what.endsWith(".") ? "" : ".";
  return new PawlError(
    "bad_input",
    `${where} ${what}${stop} A part is { type: 'text', text } or { type: 'file', data, mediaType?, filename? }.`,
  );
}

function checkFile(part: InputFile, where: string): FilePart {
  const { filename, mediaType, data } = part;
  if (mediaType !== undefined && (typeof mediaType !== "string" || !/^[\w.+-]{1,100}\/[\w.+*-]{1,100}/.test(mediaType)))
    throw createPartError(
      where,
      `has a \`mediaType\` that is ${formatValue(mediaType)}; it must be one like 'image/png'`,
    );
  if (filename !== undefined && typeof filename !== "string")
    throw createPartError(where, `has a \`filename\` that is ${formatValue(filename)}`);
  const content = readContent(data, where);
  const known = mediaType ?? content.mediaType ?? detectTypeByName(filename ?? content.name ?? "");
  if (known === undefined)
    throw new PawlError(
      "bad_input",
      `${where} is a file without \`mediaType\`, and its type cannot be detected from its bytes or its name. Add it, for example mediaType: 'text/csv'.`,
    );
  return { ...part, mediaType: known, data: content.data };
}

type Content = { readonly data: string; readonly mediaType?: string | undefined; readonly name?: string };

function readContent(data: unknown, where: string): Content {
  const bytes = toBytes(data);
  if (bytes !== null) {
    if (bytes.length > maxFileBytes) throw fileTooLargeError(bytes.length);
    return { data: encodeBase64(bytes), mediaType: detectTypeByBytes(bytes) };
  }
  if (data instanceof URL || isUrlLike(data)) return readAddress(data.href, where);
  if (isBlob(data)) throw createPartError(where, "has a Blob as `data`, which cannot be read here: pass its bytes");
  if (typeof data !== "string")
    throw createPartError(
      where,
      `has \`data\` that is ${formatValue(data)}; it must be bytes, a Blob, a URL or base64`,
    );
  if (/^[a-z][a-z0-9+.-]{1,20}:/i.test(data.slice(0, 24))) return readAddress(data, where);
  // `trimEnd`, because a second `\s*` in the expression would take quadratic time.
  if (!/^[A-Za-z0-9+/_\s-]*={0,2}$/.test(data.trimEnd()))
    throw createPartError(
      where,
      "has `data` that is neither base64 nor a URL. For a file on disk, pass its bytes: data: await readFile(path)",
    );
  return { data, mediaType: data === "" ? undefined : detectTypeByBytes(decodeBase64(data.slice(0, 32))) };
}

function toBytes(data: unknown): Uint8Array | null {
  if (data instanceof Uint8Array) return data;
  const name = Object.prototype.toString.call(data);
  if (name === "[object ArrayBuffer]") return new Uint8Array(data as ArrayBuffer);
  return name === "[object Uint8Array]" ? new Uint8Array(data as Uint8Array) : null;
}

function isUrlLike(data: unknown): data is URL {
  return Object.prototype.toString.call(data) === "[object URL]";
}

function readAddress(href: string, where: string): Content {
  if (/^https?:/i.test(href)) return { data: href, name: href.split(/[?#]/, 1)[0] ?? "" };
  const inline = /^data:([^;,]{0,200})((?:;[^;,]{0,200}){0,10}),/i.exec(href.slice(0, 2_500));
  if (inline === null)
    throw createPartError(
      where,
      "has a URL that is neither http(s) nor data. For a file on disk, pass its bytes: data: await readFile(url)",
    );
  const [head, mediaType = "", parameters = ""] = inline;
  const rest = href.slice(head.length);
  const data = /;base64$/i.test(parameters) ? rest : encodeBase64(new TextEncoder().encode(decodeText(rest, where)));
  return { data, mediaType: mediaType === "" ? "text/plain" : mediaType };
}

function decodeText(text: string, where: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw createPartError(where, "has a data URL that cannot be decoded");
  }
}

/** Detects types that have distinctive first bytes. */
function detectTypeByBytes(bytes: Uint8Array): string | undefined {
  const begins = (text: string, at = 0): boolean =>
    [...text].every((one, index) => bytes[at + index] === one.charCodeAt(0));
  if (begins("\x89PNG\r\n\x1a\n")) return "image/png";
  if (begins("\xff\xd8\xff")) return "image/jpeg";
  if (begins("GIF87a") || begins("GIF89a")) return "image/gif";
  if (begins("RIFF") && begins("WEBP", 8)) return "image/webp";
  return begins("%PDF-") ? "application/pdf" : undefined;
}

const typesByEnding: { readonly [ending: string]: string } = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  pdf: "application/pdf",
  txt: "text/plain",
  md: "text/markdown",
  csv: "text/csv",
  html: "text/html",
  json: "application/json",
  mp3: "audio/mpeg",
  wav: "audio/wav",
};

function detectTypeByName(name: string): string | undefined {
  const ending = /\.([a-z0-9]{1,5})$/i.exec(name.slice(-20))?.[1]?.toLowerCase() ?? "";
  return Object.hasOwn(typesByEnding, ending) ? typesByEnding[ending] : undefined;
}

function formatValue(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  if (typeof value === "string") return JSON.stringify(value.slice(0, 40));
  if (Array.isArray(value)) return "an array";
  if (typeof value !== "object") return `a ${typeof value}`;
  const name = Object.prototype.toString.call(value).slice(8, -1);
  return name === "Object" ? "an object" : `of the type ${name}`;
}
