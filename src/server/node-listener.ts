/**
 * The server as a listener of `node:http`. Streams are written to the socket directly: the same bytes go to each watcher.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Answer } from "./route.js";
import { enoughUnsent, type Sink } from "./sink.js";

type Written = {
  readonly answer: Answer;
  readonly headers: { readonly [name: string]: string };
  readonly body: Uint8Array | null;
};

export function createListener(
  handle: (request: Request, port: number | null) => Promise<Written>,
): (request: IncomingMessage, response: ServerResponse) => void {
  return (incoming, response) => {
    void answer(incoming, response, handle).catch(() => {
      // The answer cannot be written, or the request is none: the connection is of no more use.
      incoming.destroy();
    });
  };
}

async function answer(
  incoming: IncomingMessage,
  response: ServerResponse,
  handle: (request: Request, port: number | null) => Promise<Written>,
): Promise<void> {
  const left = new AbortController();
  response.once("close", () => left.abort());
  const request = toRequest(incoming, left.signal);
  if (request === null) {
    response.writeHead(400).end();
    return;
  }
  const port = incoming.socket.localPort ?? null;
  const { answer, headers, body } = await handle(request, port);
  if (response.destroyed) return;
  // A body that was refused is not read to its end: the connection cannot be used again.
  const isLast = !("stream" in answer) && !incoming.complete && incoming.method !== "GET";
  response.writeHead(answer.status, isLast ? { ...headers, connection: "close" } : headers);
  if ("stream" in answer) {
    response.flushHeaders();
    answer.stream(sinkOf(response));
  } else if (incoming.method === "HEAD" || body === null) response.end();
  else response.end(body);
  if (isLast) response.once("finish", () => incoming.destroy());
}

/** Null if the request names no address. */
function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request | null {
  const headers = new Headers();
  for (let index = 0; index + 1 < incoming.rawHeaders.length; index += 2)
    headers.append(incoming.rawHeaders[index] ?? "", incoming.rawHeaders[index + 1] ?? "");
  const { method = "GET", url = "/" } = incoming;
  const scheme = "encrypted" in incoming.socket ? "https" : "http";
  const address = `${scheme}://${incoming.headers.host ?? "localhost"}${url.startsWith("/") ? url : "/"}`;
  if (!URL.canParse(address)) return null;
  const hasBody = method !== "GET" && method !== "HEAD";
  return new Request(address, {
    method,
    headers,
    signal,
    ...(hasBody ? { body: bodyOf(incoming), duplex: "half" } : {}),
  } as RequestInit);
}

/** Read only as far as somebody asks. A body that nobody reads to its end stays where it is: its connection is closed. */
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  const chunks = incoming.iterator({ destroyOnReturn: false });
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done === true) controller.close();
        else controller.enqueue(value as Uint8Array);
      },
    },
    { highWaterMark: 0 },
  );
}

/** How long the last of a stream may take to leave, in milliseconds. */
const mostFlushMs = 5_000;

function sinkOf(response: ServerResponse): Sink {
  return {
    write(bytes) {
      response.write(bytes);
    },
    unsent: () => response.writableLength,
    drained() {
      if (response.writableLength < enoughUnsent || response.destroyed) return Promise.resolve();
      return new Promise((resolve) => {
        const end = () => {
          response.off("drain", end);
          response.off("close", end);
          resolve();
        };
        response.on("drain", end);
        response.on("close", end);
      });
    },
    end() {
      response.end();
      if (response.destroyed || response.writableFinished) return;
      // Whoever does not read would keep the connection for ever.
      const timer = setTimeout(() => response.destroy(), mostFlushMs);
      timer.unref();
      response.once("close", () => clearTimeout(timer));
    },
    onClose(act) {
      if (response.destroyed || response.writableFinished) act();
      else response.once("close", act);
    },
  };
}
