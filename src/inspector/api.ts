/**
 * Requests to this page's server. The page has a cookie, which no script can read, and a second half of its key, which is sent in a header.
 * Nothing else leaves the page.
 *
 * The half is sent only to a server that has proved that it knows the half. A server may stop, and another program may listen on its port.
 * The proof is therefore valid only while a connection of the page is open, and is requested again before each request without one.
 */
import { getErrorMessage } from "../core/data/error-message.js";
import { verifyServer } from "./server-proof.js";

/** The server refused the request, or could not be reached (`status` 0). `message` is for people. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export type Query = { readonly [name: string]: string | number | undefined };

export type Api = {
  readonly get: <Result>(path: string, query?: Query) => Promise<Result>;
  /** Gets a resource that is not JSON. */
  readonly text: (path: string) => Promise<string>;
  /** @param key an `Idempotency-Key`: a repeated request has an effect only once */
  readonly post: <Result>(path: string, body: object, key?: string) => Promise<Result>;
  /** Deletes a resource. */
  readonly remove: (path: string) => Promise<void>;
  /** Posts without the half if the server has not proved itself, because the body has the code that gives the page access. */
  readonly postWithoutProof: <Result>(path: string, body: object) => Promise<Result>;
  /** The URL of a path, for the stream. */
  readonly url: (path: string, query?: Query) => string;
  /** Sends a request with the half, after the server has proved itself. If it does not, the response is a 401. */
  readonly fetch: typeof fetch;
  /** Sets whether the page's stream is open. While it is, the same server responds. */
  readonly setConnected: (isConnected: boolean) => void;
};

export type AccessListeners = {
  /** The server refuses access, or has withdrawn it. */
  readonly onRefused: () => void;
  /** The responding program has not proved that it is the server that gave the page access. */
  readonly onStranger: () => void;
};

/**
 * @param base the path under which the server is mounted
 * @param half returns the second half; null if there is none yet
 */
export function createApi(base: string, half: () => string | null, { onRefused, onStranger }: AccessListeners): Api {
  let isConnected = false;
  const url = (path: string, query: Query = {}): string => {
    const parameters = Object.entries(query).flatMap(([name, value]) =>
      value === undefined || value === "" ? [] : [`${name}=${encodeURIComponent(value)}`],
    );
    return `${base}${path}${parameters.length === 0 ? "" : `?${parameters.join("&")}`}`;
  };

  async function send(address: RequestInfo | URL, init: RequestInit = {}, isUnproved = false): Promise<Response> {
    const pageHalf = half();
    const headers = new Headers(init.headers);
    if (pageHalf !== null) {
      const proof = isConnected ? "proved" : await verifyServer(base, pageHalf);
      if (proof === "proved") headers.set("x-pawl-page", pageHalf);
      else if (!isUnproved) {
        // A server that no longer knows the page reports it itself. The half is not sent.
        if (proof === "unknown_page") onRefused();
        else onStranger();
        return new Response(null, { status: 401 });
      }
    }
    return fetch(address, { ...init, headers, credentials: "same-origin", cache: "no-store" });
  }

  async function requestJson<Result>(address: string, init: RequestInit, isUnproved = false): Promise<Result> {
    const text = await requestText(address, init, isUnproved);
    return (text === null ? undefined : parseJson(text)) as Result;
  }

  /** Null if the response has no content. */
  async function requestText(address: string, init: RequestInit, isUnproved = false): Promise<string | null> {
    const response = await send(address, init, isUnproved).catch(() => {
      throw new ApiError(0, "unreachable", "The server is not responding.");
    });
    if (response.status === 204) return null;
    const text = await response.text();
    if (response.ok) return text;
    // An empty 401 was created here: the request was not sent.
    if (response.status === 401 && text !== "" && !isUnproved) onRefused();
    const { code = "internal", message = `The server responded with status ${response.status}.` } = pickError(
      parseJson(text),
    );
    throw new ApiError(response.status, code, message);
  }

  return {
    url,
    fetch: (address, init) => send(address, init),
    setConnected(connected) {
      isConnected = connected;
    },
    get: (path, query) => requestJson(url(path, query), {}),
    text: async (path) => (await requestText(url(path), {})) ?? "",
    remove: async (path) => void (await requestText(url(path), { method: "DELETE" })),
    postWithoutProof: (path, body) =>
      requestJson(
        url(path),
        { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) },
        true,
      ),
    post: (path, body, key) =>
      requestJson(url(path), {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(key === undefined ? {} : { "idempotency-key": key }),
        },
        body: JSON.stringify(body),
      }),
  };
}

export function formatErrorMessage(error: unknown): string {
  if (error instanceof ApiError && error.code === "forbidden")
    return `You are not allowed to see this. ${error.message}`;
  return getErrorMessage(error);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function pickError(answer: unknown): { readonly code?: string; readonly message?: string } {
  const { error } = (answer ?? {}) as { readonly error?: { readonly code?: string; readonly message?: string } };
  return error ?? {};
}
