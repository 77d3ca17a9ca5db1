/**
 * Connects to the process that holds a session, and reads what it says.
 *
 * 1. Only to addresses that are allowed; redirects are not followed.
 * 2. Every wait ends: for the answer after 5 s, and for the next frame when several heartbeats have not come.
 */
import { request as nodeRequest } from "node:http";
import { readFrames } from "../client/index.js";
import { type LinkFrame, linkFrameIn } from "./link-frames.js";

export type Connection = {
  readonly address: string;
  readonly sessionId: string;
  /** The header that shows who asks. */
  readonly authorization: string;
  /** Where the server is mounted; an address of HTTP has it already. */
  readonly basePath: string;
  /** The time after which a silent connection counts as lost, in milliseconds. */
  readonly silentMs: number;
  readonly signal: AbortSignal;
};

const answerWithinMs = 5_000;

/** The frames of a connection, until it ends. @throws Error if it cannot be made, or breaks */
export async function* connect(connection: Connection): AsyncGenerator<LinkFrame, void, undefined> {
  const over = new AbortController();
  const leave = () => over.abort();
  connection.signal.addEventListener("abort", leave, { once: true });
  if (connection.signal.aborted) leave();
  let timer = setTimeout(leave, answerWithinMs);
  try {
    const body = await open(connection, over.signal);
    clearTimeout(timer);
    timer = setTimeout(leave, connection.silentMs);
    for await (const frame of readFrames(body)) {
      timer.refresh();
      const known = frame === null ? null : linkFrameIn(frame.data);
      if (known !== null) yield known;
    }
  } finally {
    clearTimeout(timer);
    connection.signal.removeEventListener("abort", leave);
    over.abort();
  }
}

function open(
  { address, basePath, sessionId, authorization }: Connection,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const path = `/v1/live/${encodeURIComponent(sessionId)}`;
  const headers = { accept: "text/event-stream", authorization };
  if (address.startsWith("unix:"))
    return openSocket(address.slice("unix:".length), `${basePath}${path}`, headers, signal);
  return openUrl(`${address}${path}`, headers, signal);
}

type Headers_ = { readonly [name: string]: string };

async function openUrl(url: string, headers: Headers_, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
  const response = await fetch(url, { headers, signal, redirect: "error" });
  if (response.status === 200 && response.body !== null) return response.body;
  await response.body?.cancel().catch(() => {});
  throw new Error(`The process answers with ${response.status}.`);
}

function openSocket(
  socketPath: string,
  path: string,
  headers: Headers_,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  return new Promise((resolve, reject) => {
    const asked = nodeRequest({ socketPath, path, headers: { ...headers, host: "localhost" }, signal }, (response) => {
      if (response.statusCode !== 200) {
        response.destroy();
        reject(new Error(`The process answers with ${response.statusCode}.`));
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
    });
    asked.on("error", reject);
    asked.end();
  });
}
