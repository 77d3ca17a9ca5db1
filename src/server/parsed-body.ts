/**
 * Handles bodies that other code has read: `express.json()` and Fastify read a request to its end, and leave the parsed value in
 * `request.body`.
 *
 * 1. A parsed body has the same limits of size and depth as an unread one, and they are checked before it is copied.
 */
import type { IncomingMessage } from "node:http";
import { PawlError } from "../index.js";
import type { BodyLimits } from "./read-body.js";
import { ServerError } from "./server-error.js";

type ParsedLimits = Pick<BodyLimits, "maxBodyBytes" | "maxJsonDepth">;

const reencoded = new WeakSet<Request>();

/** Whether the bytes of the request's body are not those that the client sent, because other code has parsed them. */
export function isBodyReencoded(request: Request): boolean {
  return reencoded.has(request);
}

/** Notes whether the bytes of the body will be encoded anew. */
export function noteParsedBody(request: Request, incoming: IncomingMessage): void {
  const { body } = incoming as { readonly body?: unknown };
  if (isBodyRead(incoming) && typeof body === "object" && !(body instanceof Uint8Array)) reencoded.add(request);
}

/** Whether other code has read the request to its end. */
export function isBodyRead(incoming: IncomingMessage): boolean {
  return incoming.readableDidRead && incoming.complete;
}

/**
 * Encodes a body that was already read.
 * @throws ServerError `too_large`, `bad_input`
 * @throws PawlError `bad_configuration` if the code that read the body did not leave it in `request.body`
 */
export function encodeParsedBody(incoming: IncomingMessage, limits: ParsedLimits): Uint8Array {
  const { body } = incoming as { readonly body?: unknown };
  if (body === undefined)
    throw new PawlError(
      "bad_configuration",
      "The request's body was read before it reached the server. Mount the server before the code that reads bodies, or leave the parsed body in request.body.",
    );
  if (body instanceof Uint8Array) return body;
  if (typeof body === "string") return new TextEncoder().encode(body);
  checkSize(body, limits);
  return new TextEncoder().encode(JSON.stringify(body));
}

/**
 * Stops at the first value beyond a limit, so that the work does not grow with the size that the other parser accepted. Each value
 * counts as at least as many bytes as its shortest JSON.
 * @throws ServerError `too_large`, `bad_input`
 */
function checkSize(body: unknown, { maxBodyBytes, maxJsonDepth }: ParsedLimits): void {
  const stack: { readonly value: unknown; readonly depth: number }[] = [{ value: body, depth: 0 }];
  let bytes = 0;
  const count = (added: number) => {
    bytes += added;
    if (bytes > maxBodyBytes) throw new ServerError("too_large", `The body is larger than ${maxBodyBytes} bytes.`);
  };
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { value, depth } = next;
    count(typeof value === "string" ? value.length + 2 : 1);
    if (typeof value !== "object" || value === null) continue;
    if (depth >= maxJsonDepth)
      throw new ServerError("bad_input", `The body is nested more than ${maxJsonDepth} levels deep.`);
    for (const key in value) {
      count(1 + (Array.isArray(value) ? 0 : key.length + 3));
      stack.push({ value: (value as { readonly [name: string]: unknown })[key], depth: depth + 1 });
    }
  }
}
