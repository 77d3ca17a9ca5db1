/**
 * Requests JSON from a model server. The result is undefined if the server is absent, of another kind, or too slow.
 */
import { isObject } from "../../core/data/is-object.js";
import { readBounded } from "../../platform/read-bounded.js";

/** Options of a request to a model server. */
export type ModelList = {
  /** The function that sends the request. */
  readonly fetch: typeof globalThis.fetch;
  /** How long to wait for the response, in milliseconds. */
  readonly timeoutMs: number;
  /** The server's API key, if it requires one. */
  readonly key?: string;
};

/** A longer response is discarded. In bytes. */
const maxBytes = 4 * 1024 * 1024;

/** @param body makes the request a POST */
export async function fetchJson(url: string, options: ModelList, body?: object): Promise<unknown> {
  try {
    const response = await options.fetch(url, createRequestInit(options, body));
    const text = await readText(response, maxBytes);
    return response.ok && text !== undefined ? (JSON.parse(text) as unknown) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The status of the server's response; undefined if there is none.
 *
 * @param body makes the request a POST
 */
export async function fetchStatus(url: string, options: ModelList, body?: object): Promise<number | undefined> {
  try {
    const response = await options.fetch(url, createRequestInit(options, body));
    await response.body?.cancel();
    return response.status;
  } catch {
    return undefined;
  }
}

function createRequestInit({ timeoutMs, key }: ModelList, body: object | undefined): RequestInit {
  return {
    signal: AbortSignal.timeout(timeoutMs),
    redirect: "error",
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
  };
}

/** The text of a response; undefined if it is longer than `limit` bytes. */
export async function readText(response: Response, limit: number): Promise<string | undefined> {
  const bytes = await readBounded(response.body, limit);
  return bytes === null ? undefined : new TextDecoder().decode(bytes);
}

/** Removes slashes from the end of an address. */
export function trimTrailingSlashes(address: string): string {
  return address.endsWith("/") ? address.replace(/\/+$/, "") : address;
}

/** The objects in an array; empty if the value is not an array. */
export function pickObjects(value: unknown): readonly { readonly [key: string]: unknown }[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
