/**
 * Requests to a remote agent, which is untrusted: they end in time, a response has a limited size, and no redirect is followed, because it
 * would lead the request, its headers and its message, to a host that the agent chooses.
 */
import { readBounded } from "../../platform/read-bounded.js";
import { untilAborted } from "../../platform/until-aborted.js";
import type { A2aAgentOptions } from "./options.js";

const defaultTimeoutMs = 30_000;
const maxResponseBytes = 8_388_608;
/** The text of an error becomes part of a message. */
const maxErrorBytes = 4_096;

/** A request failed because of the size of its response. A retry would fail in the same way. */
export class OversizedError extends Error {
  constructor(maxBytes: number) {
    super(`its response is longer than ${maxBytes} bytes`);
  }
}

/** @throws Error from each request that fails, is redirected, or has too long a response */
export function createBoundedFetch({
  headers = {},
  requestTimeoutMs = defaultTimeoutMs,
}: Pick<A2aAgentOptions, "headers" | "requestTimeoutMs">): typeof fetch {
  return async (input, init = {}) => {
    const late = Number.isFinite(requestTimeoutMs) ? [AbortSignal.timeout(requestTimeoutMs)] : [];
    const signal = AbortSignal.any([...(init.signal ? [init.signal] : []), ...late]);
    const added = typeof headers === "function" ? await untilAborted(Promise.resolve(headers()), signal) : headers;
    const response = await fetch(input, {
      ...init,
      headers: { ...init.headers, ...added },
      redirect: "manual",
      signal,
    });
    const { ok, status, statusText } = response;
    if (status >= 300 && status < 400) {
      await response.body?.cancel();
      throw new Error(`it redirects to another address (${status}), and redirects are not followed`);
    }
    const maxBytes = ok ? maxResponseBytes : maxErrorBytes;
    const bytes = await readBounded(response.body, maxBytes);
    if (bytes === null && ok) throw new OversizedError(maxBytes);
    const contentType = response.headers.get("content-type");
    return new Response(bytes === null || bytes.byteLength === 0 ? null : bytes, {
      status,
      statusText,
      headers: contentType === null ? {} : { "content-type": contentType },
    });
  };
}
