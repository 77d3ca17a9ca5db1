/**
 * Reads a request's body, with limits on its size, its time, and the depth of its JSON.
 */
import { PawlError } from "../index.js";
import { readBounded } from "../platform/read-bounded.js";
import { ServerError } from "./server-error.js";
import { checkShape, type ObjectShape } from "./shape.js";

export type BodyLimits = {
  readonly maxBodyBytes: number;
  readonly maxJsonDepth: number;
  /** The time limit for receiving the body, in milliseconds. */
  readonly bodyMs: number;
};

/** @throws ServerError `unsupported_media_type`, `too_large`, `too_slow`, `bad_input` */
export async function readBody(
  request: Request,
  shape: ObjectShape | "json",
  limits: BodyLimits,
): Promise<{ readonly [name: string]: unknown }> {
  const type = (request.headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/json")
    throw new ServerError(
      "unsupported_media_type",
      "The body must be JSON. Send it with the header Content-Type: application/json.",
    );
  const bytes = await readBytes(request, limits);
  const value = parseJson(decodeUtf8(bytes), limits.maxJsonDepth);
  if (shape !== "json") checkShape(value, shape, "The body");
  return value as { readonly [name: string]: unknown };
}

/** @throws ServerError `too_large`, `too_slow`, `bad_input`; PawlError `bad_configuration` if other code has read the body */
export async function readBytes(
  request: Request,
  { maxBodyBytes: maxBytes, bodyMs }: Pick<BodyLimits, "maxBodyBytes" | "bodyMs">,
): Promise<Uint8Array> {
  if (request.bodyUsed)
    throw new PawlError(
      "bad_configuration",
      "The request's body was read before it reached the server. Pass an unread request: call request.clone() before you read it.",
    );
  const { headers, body } = request;
  if (body === null) return new Uint8Array(0);
  if (Number(headers.get("content-length") ?? 0) > maxBytes) throw createTooLargeError(maxBytes);
  const deadline = createDeadline(bodyMs);
  try {
    const bytes = await readBounded(body, maxBytes, deadline.passed);
    if (bytes === null) throw createTooLargeError(maxBytes);
    return bytes;
  } catch (error) {
    if (error instanceof ServerError || error instanceof PawlError) throw error;
    // The client has left. That is not a failure of the server, which its log would show.
    throw new ServerError("bad_input", "The body is incomplete, because the connection ended.");
  } finally {
    deadline.cancel();
  }
}

/** Creates a deadline: `passed` rejects when the time is up. */
function createDeadline(ms: number): { readonly passed: Promise<never>; readonly cancel: () => void } {
  let cancel = () => {};
  const passed = new Promise<never>((_, reject) => {
    const onTimeout = () => reject(new ServerError("too_slow", `The body did not arrive within ${ms} ms.`));
    const timer = setTimeout(onTimeout, ms);
    cancel = () => clearTimeout(timer);
  });
  passed.catch(() => {});
  return { passed, cancel };
}

function createTooLargeError(maxBytes: number): ServerError {
  return new ServerError("too_large", `The body is larger than ${maxBytes} bytes.`);
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new ServerError("bad_input", "The body is not valid UTF-8.");
  }
}

function parseJson(text: string, maxDepth: number): unknown {
  if (measureJsonDepth(text) > maxDepth)
    throw new ServerError("bad_input", `The body is nested more than ${maxDepth} levels deep.`);
  try {
    return JSON.parse(text);
  } catch {
    throw new ServerError("bad_input", "The body is not valid JSON.");
  }
}

/** Measures the nesting depth of JSON, in one pass that skips strings. */
export function measureJsonDepth(text: string): number {
  let depth = 0;
  let maxDepth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (inString) {
      if (code === 0x5c) index += 1;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22) inString = true;
    else if (code === 0x5b || code === 0x7b) maxDepth = Math.max(maxDepth, ++depth);
    else if (code === 0x5d || code === 0x7d) depth -= 1;
  }
  return maxDepth;
}
