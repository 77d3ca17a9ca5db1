/**
 * Reading a request: its body within a bound, while it arrives, and its JSON within a depth.
 */
import { ServerError } from "./server-error.js";
import { checkShape, type ObjectShape } from "./shape.js";

export type BodyLimits = { readonly maxBodyBytes: number; readonly maxJsonDepth: number };

/** @throws ServerError `unsupported_media_type`, `too_large`, `bad_input` */
export async function readBody(
  request: Request,
  shape: ObjectShape | "json",
  limits: BodyLimits,
): Promise<{ readonly [name: string]: unknown }> {
  const type = (request.headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/json")
    throw new ServerError("unsupported_media_type", "Send the body as application/json.");
  const bytes = await readBytes(request, limits.maxBodyBytes);
  const value = parse(decode(bytes), limits.maxJsonDepth);
  if (shape !== "json") checkShape(value, shape, "The body");
  return value as { readonly [name: string]: unknown };
}

async function readBytes(request: Request, most: number): Promise<Uint8Array> {
  const declared = Number(request.headers.get("content-length") ?? 0);
  if (declared > most) throw tooLarge(most);
  const chunks: Uint8Array[] = [];
  let length = 0;
  if (request.body !== null) {
    const reader: ReadableStreamDefaultReader<Uint8Array> = request.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      length += value.byteLength;
      if (length > most) {
        void reader.cancel().catch(() => {});
        throw tooLarge(most);
      }
      chunks.push(value);
    }
  }
  const whole = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return whole;
}

function tooLarge(most: number): ServerError {
  return new ServerError("too_large", `The body has more than ${most} bytes.`);
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new ServerError("bad_input", "The body is not UTF-8.");
  }
}

function parse(text: string, mostDepth: number): unknown {
  if (depthOf(text) > mostDepth)
    throw new ServerError("bad_input", `The body is nested more than ${mostDepth} levels deep.`);
  try {
    return JSON.parse(text);
  } catch {
    throw new ServerError("bad_input", "The body is not JSON.");
  }
}

/** The deepest nesting of a JSON text, in one pass: what is in strings does not count. */
export function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inText = false;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (inText) {
      if (code === 0x5c) index += 1;
      else if (code === 0x22) inText = false;
    } else if (code === 0x22) inText = true;
    else if (code === 0x5b || code === 0x7b) deepest = Math.max(deepest, ++depth);
    else if (code === 0x5d || code === 0x7d) depth -= 1;
  }
  return deepest;
}
