/**
 * An answer as it is written: its headers, and its body if it is no stream.
 */
import type { Answer } from "./answer.js";
import { createWebSink } from "./sink.js";

/** What a request came to. */
export type Handled = { readonly answer: Answer; readonly headers: { readonly [name: string]: string } };

export type Written = Handled & {
  /** Null for a stream, and for an answer without a body. */
  readonly body: Uint8Array | null;
};

const streamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
} as const;

export function written({ answer, headers }: Handled): Written {
  if ("stream" in answer) return { answer, headers: { ...headers, ...streamHeaders, ...answer.headers }, body: null };
  if ("json" in answer) {
    const body = new TextEncoder().encode(JSON.stringify(answer.json));
    const type = { "content-type": "application/json; charset=utf-8" };
    return { answer, headers: { ...headers, ...type, ...lengthOf(body), ...answer.headers }, body };
  }
  const { bytes } = answer;
  return {
    answer,
    headers: { ...headers, ...(bytes === null ? {} : lengthOf(bytes)), ...answer.headers },
    body: bytes,
  };
}

/** With its length, an answer is written in one piece. */
function lengthOf(body: Uint8Array): { readonly [name: string]: string } {
  return { "content-length": String(body.byteLength) };
}

export function toResponse(handled: Handled): Response {
  const { answer } = handled;
  const { headers, body } = written(handled);
  if (!("stream" in answer))
    return new Response(body as Uint8Array<ArrayBuffer> | null, { status: answer.status, headers });
  const web = createWebSink();
  answer.stream(web.sink);
  return new Response(web.body, { status: 200, headers });
}
