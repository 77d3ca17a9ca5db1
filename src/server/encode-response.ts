/**
 * Encodes a response: its headers and, unless it is a stream, its body.
 */
import type { RouteResponse } from "./route-response.js";
import { createWebSink } from "./sink.js";

/** The outcome of a request. */
export type HandledRequest = {
  readonly routeResponse: RouteResponse;
  readonly headers: { readonly [name: string]: string };
};

export type EncodedResponse = HandledRequest & {
  /** Null for a stream, and for a response without a body. */
  readonly body: Uint8Array | null;
};

const streamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
} as const;

export function encodeResponse({ routeResponse, headers }: HandledRequest): EncodedResponse {
  if ("stream" in routeResponse)
    return { routeResponse, headers: { ...headers, ...streamHeaders, ...routeResponse.headers }, body: null };
  if ("json" in routeResponse) {
    const body = new TextEncoder().encode(JSON.stringify(routeResponse.json));
    const type = { "content-type": "application/json; charset=utf-8" };
    return { routeResponse, headers: { ...headers, ...type, ...toLengthHeader(body), ...routeResponse.headers }, body };
  }
  const { bytes } = routeResponse;
  return {
    routeResponse,
    headers: { ...headers, ...(bytes === null ? {} : toLengthHeader(bytes)), ...routeResponse.headers },
    body: bytes,
  };
}

/** With a content length, Node writes the response in one piece. */
function toLengthHeader(body: Uint8Array): { readonly [name: string]: string } {
  return { "content-length": String(body.byteLength) };
}

/** @param signal aborted when the client has left. Adapters may then drop the response without cancelling its body. */
export function toResponse(handled: HandledRequest, signal: AbortSignal): Response {
  const { routeResponse } = handled;
  const { headers, body } = encodeResponse(handled);
  if (!("stream" in routeResponse))
    return new Response(body as Uint8Array<ArrayBuffer> | null, { status: routeResponse.status, headers });
  const webSink = createWebSink();
  routeResponse.stream(webSink.sink);
  if (signal.aborted) webSink.sink.destroy();
  return new Response(webSink.body, { status: 200, headers });
}
