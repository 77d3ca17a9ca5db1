/**
 * Asks a model server a question whose answer is JSON. A server that is not there, is another kind of server, or takes too long has no
 * answer.
 */

/** How to ask a server. */
export type ModelList = {
  /** The function that asks. */
  readonly fetch: typeof globalThis.fetch;
  /** How long to wait for the answer, in milliseconds. */
  readonly timeoutMs: number;
  /** The key that the server wants, if it wants one. */
  readonly key?: string;
};

/** Bytes of an answer. A longer answer counts as none. */
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

/** The status of the server's answer; undefined if it has none. */
export async function fetchStatus(url: string, options: ModelList, body: object): Promise<number | undefined> {
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

/** The text of a response; undefined if it is longer than `most` bytes. */
export async function readText(response: Response, limit: number): Promise<string | undefined> {
  if (response.body === null) return "";
  const reader = response.body.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    length += next.value.byteLength;
    if (length > limit) {
      await reader.cancel();
      return undefined;
    }
    chunks.push(next.value);
  }
  return Buffer.concat(chunks).toString();
}

/** An address without the slash at its end. */
export function trimTrailingSlashes(address: string): string {
  return address.endsWith("/") ? address.replace(/\/+$/, "") : address;
}

export function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null;
}

/** The objects in a list; none if it is no list. */
export function pickObjects(value: unknown): readonly { readonly [key: string]: unknown }[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
