/**
 * A `fetch` for self-hosted model servers, which speak plain HTTP.
 *
 * 1. Each request opens its own connection. Some servers promise to keep a connection alive, but close it right after the response,
 *    so the next request on it would fail.
 * 2. It sets no time limits. The global `fetch` gives up if the headers take longer than 300 s, and a slow model needs
 *    longer.
 * 3. It follows no redirects.
 */
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";

export const fetchUnpooled: typeof globalThis.fetch = async (input, init) => {
  const request = new Request(input, { ...init, signal: null });
  const url = new URL(request.url);
  if (url.protocol !== "http:") return globalThis.fetch(input, init);
  const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined);
  signal?.throwIfAborted();
  const body = request.body === null ? null : Buffer.from(await request.arrayBuffer());
  const headers = {
    ...Object.fromEntries(request.headers),
    ...(body !== null && { "content-length": body.byteLength }),
  };
  const response = await sendRequest(url, request.method, headers, body, signal);
  const { statusCode: status = 500, statusMessage: statusText = "" } = response;
  return new Response(hasBody(status) ? toStream(response) : null, {
    status,
    statusText,
    headers: toHeaders(response),
  });
};

async function sendRequest(
  url: URL,
  method: string,
  headers: OutgoingHttpHeaders,
  body: Buffer | null,
  signal: AbortSignal | undefined,
): Promise<IncomingMessage> {
  // Programs that use no such server need not load it.
  const { request: startRequest } = await import("node:http");
  return new Promise((resolve, reject) => {
    // Without an agent, Node opens a connection for this request and asks the server to close it afterwards.
    const request = startRequest(url, { method, headers, agent: false, ...(signal && { signal }) }, resolve);
    // The same error as the global `fetch`, so that callers recognize it.
    request.on("error", (cause) => reject(signal?.aborted ? signal.reason : new TypeError("fetch failed", { cause })));
    request.end(body ?? undefined);
  });
}

function toStream(response: IncomingMessage): ReadableStream<Uint8Array> {
  const chunks: AsyncIterator<Uint8Array> = response[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done === true) controller.close();
        else controller.enqueue(new Uint8Array(value));
      },
      cancel() {
        response.destroy();
      },
    },
    { highWaterMark: 0 },
  );
}

function hasBody(status: number): boolean {
  return status !== 204 && status !== 205 && status !== 304;
}

function toHeaders(response: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(response.headersDistinct))
    for (const value of values ?? []) headers.append(name, value);
  return headers;
}
