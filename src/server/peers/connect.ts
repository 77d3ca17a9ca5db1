/**
 * Connects to the process that holds a session, and reads its frames.
 *
 * 1. It connects only to allowed addresses, and does not follow redirects.
 * 2. Every wait ends: for the response after 5 s, and for the next frame after several missed heartbeats.
 */
import { request as nodeRequest } from "node:http";
import { type Cursor, formatCursor } from "../../stream/cursor.js";
import { readFrames } from "../client/index.js";
import { type LinkFrame, parseLinkFrame } from "./link-frames.js";

export type PeerConnection = {
  readonly address: string;
  readonly sessionId: string;
  /** The cursor after which the stream begins. */
  readonly after: Cursor;
  /** The `authorization` header. */
  readonly authorization: string;
  /** The path where the server is mounted; an HTTP address already includes it. */
  readonly basePath: string;
  /** The time after which a silent connection counts as lost, in milliseconds. */
  readonly silentMs: number;
  readonly signal: AbortSignal;
};

const responseTimeoutMs = 5_000;

/** Yields the frames of a connection until it ends. @throws Error if connecting fails, or the connection breaks */
export async function* connect(connection: PeerConnection): AsyncGenerator<LinkFrame, void, undefined> {
  const lifetime = new AbortController();
  const abortConnection = () => lifetime.abort();
  connection.signal.addEventListener("abort", abortConnection, { once: true });
  if (connection.signal.aborted) abortConnection();
  let timer = setTimeout(abortConnection, responseTimeoutMs);
  try {
    const body = await openBody(connection, lifetime.signal);
    clearTimeout(timer);
    timer = setTimeout(abortConnection, connection.silentMs);
    for await (const frame of readFrames(body)) {
      timer.refresh();
      const linkFrame = frame === null ? null : parseLinkFrame(frame.data);
      if (linkFrame !== null) yield linkFrame;
    }
  } finally {
    clearTimeout(timer);
    connection.signal.removeEventListener("abort", abortConnection);
    lifetime.abort();
  }
}

function openBody(
  { address, basePath, sessionId, after, authorization }: PeerConnection,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const path = `/v1/live/${encodeURIComponent(sessionId)}?after=${formatCursor(after)}`;
  const headers = { accept: "text/event-stream", authorization };
  if (address.startsWith("unix:"))
    return openSocket(address.slice("unix:".length), `${basePath}${path}`, headers, signal);
  return openUrl(`${address}${path}`, headers, signal);
}

type RequestHeaders = { readonly [name: string]: string };

async function openUrl(url: string, headers: RequestHeaders, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
  const response = await fetch(url, { headers, signal, redirect: "error" });
  if (response.status === 200 && response.body !== null) return response.body;
  await response.body?.cancel().catch(() => {});
  throw new Error(`The process responded with status ${response.status}.`);
}

function openSocket(
  socketPath: string,
  path: string,
  headers: RequestHeaders,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  return new Promise((resolve, reject) => {
    const clientRequest = nodeRequest(
      { socketPath, path, headers: { ...headers, host: "localhost" }, signal },
      (response) => {
        if (response.statusCode !== 200) {
          response.destroy();
          reject(new Error(`The process responded with status ${response.statusCode}.`));
          return;
        }
        const chunks = response.iterator();
        resolve(
          new ReadableStream<Uint8Array>(
            {
              async pull(controller) {
                const { done, value } = await chunks.next();
                if (done === true) controller.close();
                else controller.enqueue(value as Uint8Array);
              },
              cancel() {
                response.destroy();
              },
            },
            { highWaterMark: 0 },
          ),
        );
      },
    );
    clientRequest.on("error", reject);
    clientRequest.end();
  });
}
