/**
 * The Node listener. Streams are written directly to the socket, with the same bytes for each watcher.
 *
 * 1. A slow client cannot keep a connection open: receiving headers, receiving bodies and reading responses have time limits.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { EncodedResponse } from "./encode-response.js";
import { heartbeatFrame } from "./frames.js";
import { encodeParsedBody, isBodyRead, noteParsedBody } from "./parsed-body.js";
import type { BodyLimits } from "./read-body.js";
import { type Sink, unsentHighWaterMark } from "./sink.js";

/** Options of `http.createServer` that bound how a request arrives. Times are in milliseconds. */
export type HttpOptions = {
  /** How long a request's headers may take, in milliseconds. */
  readonly headersTimeout: number;
  /** How long a whole request may take, in milliseconds. */
  readonly requestTimeout: number;
  /** How often Node checks for connections that have timed out, in milliseconds. */
  readonly connectionsCheckingInterval: number;
  /** The maximum size of a request's headers, in bytes. */
  readonly maxHeaderSize: number;
};

const maxHeaderSize = 16 * 1024;

/** The server itself limits the time of a body. The timeout of the whole request is for bodies that are never read. */
export function createHttpOptions({ headersMs, bodyMs }: RequestTimes): HttpOptions {
  return Object.freeze({
    headersTimeout: headersMs,
    requestTimeout: headersMs + bodyMs,
    connectionsCheckingInterval: Math.max(10, Math.min(5_000, Math.floor(headersMs / 4))),
    maxHeaderSize,
  });
}

type RequestTimes = { readonly headersMs: number; readonly bodyMs: number };

export function createListener(
  handle: (request: Request, port: number | null) => Promise<EncodedResponse>,
  limits: BodyLimits,
  isDraining: () => boolean,
): (request: IncomingMessage, response: ServerResponse) => void {
  return (incoming, response) => {
    void respond(incoming, response, handle, { ...limits, isDraining }).catch(() => {
      // Malformed request or broken socket: close the connection.
      incoming.destroy();
    });
  };
}

async function respond(
  incoming: IncomingMessage,
  response: ServerResponse,
  handle: (request: Request, port: number | null) => Promise<EncodedResponse>,
  limits: BodyLimits & { readonly isDraining: () => boolean },
): Promise<void> {
  const connection = new AbortController();
  // An abort costs as much as a small request, so it is skipped if the client got the whole response.
  const onClose = () => response.writableFinished || connection.abort();
  response.on("close", onClose);
  const request = toRequest(incoming, connection.signal, limits);
  if (request === null) {
    response.writeHead(400).end();
    return;
  }
  const port = incoming.socket.localPort ?? null;
  const { routeResponse, headers, body } = await handle(request, port);
  if (response.destroyed) {
    // A stream releases its slot and its readers when its sink closes, so it is opened even for a client that has left.
    if ("stream" in routeResponse) routeResponse.stream(createResponseSink(response));
    return;
  }
  // A rejected body is not read to its end, so the connection cannot be reused.
  const mustClose = !("stream" in routeResponse) && !incoming.complete && hasBody(incoming);
  // With keep-alive, the client would return to this process.
  const isClosing = mustClose || (limits.isDraining() && !("stream" in routeResponse));
  response.writeHead(routeResponse.status, isClosing ? { ...headers, connection: "close" } : headers);
  if ("stream" in routeResponse) {
    // A request without a body is complete when its stream begins, so that an idle stream does not retain its request.
    if (incoming.method === "GET") response.off("close", onClose);
    // The first frames are sent together with the headers.
    response.cork();
    response.flushHeaders();
    routeResponse.stream(createResponseSink(response));
    setImmediate(() => response.uncork());
  } else if (incoming.method === "HEAD" || body === null) response.end();
  else {
    response.end(body);
    if (response.writableLength > 0) destroyLater(response, limits.bodyMs + body.byteLength / bytesPerMs);
  }
  if (mustClose) response.once("finish", () => incoming.destroy());
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}

/** Null if the request has no valid URL. */
function toRequest(incoming: IncomingMessage, signal: AbortSignal, limits: BodyLimits): Request | null {
  const headers: [name: string, value: string][] = [];
  for (let index = 0; index + 1 < incoming.rawHeaders.length; index += 2)
    headers.push([incoming.rawHeaders[index] ?? "", incoming.rawHeaders[index + 1] ?? ""]);
  const { method = "GET", url = "/" } = incoming;
  const scheme = "encrypted" in incoming.socket ? "https" : "http";
  const address = `${scheme}://${incoming.headers.host ?? "localhost"}${url.startsWith("/") ? url : "/"}`;
  if (!URL.canParse(address)) return null;
  const hasBody = method !== "GET" && method !== "HEAD";
  const request = new Request(address, {
    method,
    headers,
    signal,
    ...(hasBody ? { body: toBodyStream(incoming, limits), duplex: "half" } : {}),
  } as RequestInit);
  if (hasBody) noteParsedBody(request, incoming);
  return request;
}

/**
 * Streams the body only as far as a route reads it. If the body is not read to its end, the connection is closed. If other code has
 * already read the body, it is taken from `request.body`.
 */
function toBodyStream(incoming: IncomingMessage, limits: BodyLimits): ReadableStream<Uint8Array> {
  const isRead = isBodyRead(incoming);
  const chunks = isRead ? null : incoming.iterator({ destroyOnReturn: false });
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (chunks === null) {
          controller.enqueue(encodeParsedBody(incoming, limits));
          controller.close();
          return;
        }
        const { done, value } = await chunks.next();
        if (done === true) controller.close();
        else controller.enqueue(value as Uint8Array);
      },
    },
    { highWaterMark: 0 },
  );
}

/** How long flushing the end of a stream may take, in milliseconds. */
const maxFlushMs = 5_000;

/** The minimum rate at which a response must be read. */
const bytesPerMs = 64;

/** Destroys the response after a delay, because a client that does not read would keep the connection open forever. */
function destroyLater(response: ServerResponse, afterMs = maxFlushMs): void {
  if (response.destroyed) return;
  const timer = setTimeout(() => response.destroy(), afterMs);
  timer.unref();
  response.once("close", () => clearTimeout(timer));
}

type Chunk = { readonly payload: Uint8Array; readonly bytes: Uint8Array };

let lastChunk: Chunk | null = null;

/**
 * Frames a piece of a body as an HTTP/1.1 chunk. The watchers of a session get the same bytes one after another, so the bytes are
 * framed once. Node would frame them for each watcher, and pass three pieces to each socket, which costs a quarter more.
 */
function toChunk(bytes: Uint8Array): Uint8Array {
  if (lastChunk?.payload !== bytes) {
    const size = Buffer.from(`${bytes.byteLength.toString(16)}\r\n`);
    lastChunk = { payload: bytes, bytes: Buffer.concat([size, bytes, Buffer.from("\r\n")]) };
  }
  return lastChunk.bytes;
}

const endOfBody = "0\r\n\r\n";

/** @param response a response whose headers have been sent */
function createResponseSink(response: ServerResponse): Sink {
  const isChunked = response.chunkedEncoding === true;
  if (isChunked) response.chunkedEncoding = false;
  const toFrame = (bytes: Uint8Array) => (isChunked ? toChunk(bytes) : bytes);
  return {
    write(bytes) {
      // An ended stream is tracked until its connection is closed. Writing to it would throw.
      if (response.writableEnded || response.destroyed || bytes.byteLength === 0) return;
      response.write(toFrame(bytes));
    },
    unsentBytes: () => response.writableLength,
    whenDrained() {
      if (response.writableLength < unsentHighWaterMark || response.destroyed) return Promise.resolve();
      return new Promise((resolve) => {
        const settle = () => {
          response.off("drain", settle);
          response.off("close", settle);
          resolve();
        };
        response.on("drain", settle);
        response.on("close", settle);
      });
    },
    end() {
      if (response.writableEnded || response.destroyed) return;
      response.end(isChunked ? endOfBody : undefined);
      if (!response.writableFinished) destroyLater(response);
    },
    destroy() {
      if (response.destroyed || response.writableEnded) return;
      // Flushes earlier data, but does not send the end of the body.
      response.write(toFrame(heartbeatFrame), () => response.destroy());
      destroyLater(response);
    },
    onClose(listener) {
      if (response.destroyed || response.writableFinished) listener();
      else response.on("close", listener);
    },
  };
}
