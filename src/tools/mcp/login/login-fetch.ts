/**
 * Requests to authorization servers, which are untrusted: bounded in time and size.
 */
import { readBounded } from "../../../platform/read-bounded.js";

const timeoutMs = 30_000;
const maxBytes = 1024 * 1024;

/**
 * Rejects if a token request is refused, with the server's reason. Otherwise the MCP library would write a warning to the terminal
 * and retry.
 */
export async function boundedFetch(input: string | URL, init: RequestInit = {}): Promise<Response> {
  const late = AbortSignal.timeout(timeoutMs);
  const signal = init.signal == null ? late : AbortSignal.any([init.signal, late]);
  const response = await fetch(input, { ...init, signal });
  const body = await readBounded(response.body, maxBytes);
  if (body === null) throw new Error(`An authorization server sent more than ${maxBytes} bytes.`);
  const grant = init.body instanceof URLSearchParams ? init.body.get("grant_type") : null;
  if (!response.ok && grant !== null && grant !== "refresh_token") throw new Error(formatRefusal(body));
  const { status, statusText, headers } = response;
  const hasBody = status !== 204 && status !== 205 && status !== 304;
  return new Response(hasBody ? body : null, { status, statusText, headers });
}

function formatRefusal(body: Uint8Array): string {
  const text = new TextDecoder().decode(body.subarray(0, 4_096));
  let said: { readonly error?: unknown; readonly error_description?: unknown } = {};
  try {
    said = Object(JSON.parse(text)) as typeof said;
  } catch {
    // The reason cannot be parsed.
  }
  const { error, error_description: description } = said;
  const reason = [error, description].filter((one) => typeof one === "string").join(": ");
  return `The authorization server refused the login${reason === "" ? "" : ` (${reason.slice(0, 500)})`}.`;
}
