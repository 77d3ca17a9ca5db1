/**
 * Follows the stream of a session over HTTP, and reconnects when the connection is lost.
 */
import { type FrameData, readFrames, type StreamFrame } from "./frames.js";
import { createStreamView, type FrameEffect, type StreamView } from "./view.js";

/** Options of `followSession`. */
export type FollowOptions = {
  /** The stream's URL: `…/v1/sessions/ID/stream`. Its query may have `runId`, `deltas` and `until`. */
  readonly url: string | URL;
  /** Headers of each request, for example `authorization`. */
  readonly headers?: { readonly [name: string]: string };
  /** The id of the last event that was seen; the stream continues after it. Default: the beginning of the log. */
  readonly after?: string;
  readonly signal?: AbortSignal;
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
  /** The time after which a silent connection counts as lost, in milliseconds. Default: 40,000. */
  readonly silentMs?: number;
  /** How long to wait before reconnecting, in milliseconds. Default: what the server sends, or 1,500. */
  readonly retryMs?: number;
};

/** A frame that changed the client's state, and its effect. `view` has the message that is streaming. */
export type FollowedFrame = {
  /** The frame. */
  readonly frame: StreamFrame;
  /** Its effect on the view. */
  readonly applied: FrameEffect;
  /** The state so far. */
  readonly view: StreamView;
};

/** Thrown if the server permanently refuses the stream, because of a wrong URL or missing access. */
export class StreamRefused extends Error {
  /** The name of the error class. */
  override readonly name = "StreamRefused";
  /** The HTTP status of the response. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Yields the frames of a session's stream, each event once and in order, across lost connections. Ends when the server says that
 * nothing more will come, or when `signal` is aborted.
 * @throws StreamRefused if the server responds with a status from 400 to 499, other than 408 and 429, or not with a stream; TypeError if the
 * URL is invalid, or relative outside a page
 *
 * @example
 * ```ts
 * import { followSession } from "pawl/server/client";
 *
 * const url = `http://127.0.0.1:4111/v1/sessions/${sessionId}/stream?until=run`;
 * for await (const { frame, applied, view } of followSession({ url, headers: { authorization: `Bearer ${secret}` } })) {
 *   if (applied === "event") console.log(frame.id, frame.data.type);
 *   if (applied === "partial") console.log(view.partial()?.message.parts);
 * }
 * ```
 */
export async function* followSession(options: FollowOptions): AsyncGenerator<FollowedFrame, void, undefined> {
  if (options.fetch === undefined) checkUrl(options.url);
  const view = createStreamView(options.after ?? null);
  let failures = 0;
  while (options.signal?.aborted !== true) {
    let { retryMs = 1_500 } = options;
    try {
      for await (const frame of readStream(options, view)) {
        failures = 0;
        const applied = view.apply(frame);
        if (applied === "reconnect") break;
        if (applied !== "ignored") yield { frame, applied, view };
        const bye = findBye(frame.data);
        if (bye?.why === "end") return;
        if (bye !== null) retryMs = options.retryMs ?? bye.retryMs;
      }
    } catch (error) {
      if (error instanceof StreamRefused) throw error;
      failures += 1;
    }
    await sleep(backoffMs(failures, retryMs), options.signal);
  }
}

/** `fetch` rejects an invalid URL like a lost connection, so it would be retried for ever. */
function checkUrl(url: string | URL): void {
  const { location } = globalThis as { readonly location?: { readonly href: string } };
  const isUsable = URL.canParse(String(url), location?.href) && /^https?:$/.test(new URL(url, location?.href).protocol);
  if (!isUsable)
    throw new TypeError(
      `Invalid URL ${JSON.stringify(String(url))}: followSession() needs the stream's whole URL, such as http://127.0.0.1:4111/v1/sessions/ID/stream. Only in a page may it be relative.`,
    );
}

/** 50 % jitter, so that many clients do not reconnect at once; after five failures, every 30 s. */
function backoffMs(failures: number, retryMs: number): number {
  const uncappedMs = failures >= 5 ? 30_000 : retryMs * 2 ** Math.max(0, failures - 1);
  return Math.min(30_000, uncappedMs) * (0.5 + Math.random() / 2);
}

function findBye(data: FrameData): Extract<FrameData, { readonly type: "bye" }> | null {
  return data.type === "bye" ? data : null;
}

async function* readStream(options: FollowOptions, view: StreamView): AsyncGenerator<StreamFrame, void, undefined> {
  const { url, headers, signal, silentMs = 40_000 } = options;
  const connection = new AbortController();
  const abortConnection = () => connection.abort();
  signal?.addEventListener("abort", abortConnection, { once: true });
  let timer = setTimeout(abortConnection, silentMs);
  try {
    const last = view.lastId();
    const response = await (options.fetch ?? fetch)(url, {
      headers: { accept: "text/event-stream", ...headers, ...(last === null ? {} : { "last-event-id": last }) },
      signal: connection.signal,
    });
    if (!response.ok || response.body === null) await throwRefusal(response);
    else if (!isEventStream(response)) throw createNoStreamError(response);
    else
      for await (const frame of readFrames(response.body)) {
        clearTimeout(timer);
        timer = setTimeout(abortConnection, silentMs);
        if (frame !== null) yield frame;
      }
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abortConnection);
    connection.abort();
  }
}

function isEventStream({ headers }: Response): boolean {
  return headers.get("content-type")?.startsWith("text/event-stream") === true;
}

/** Servers of web pages respond to unknown addresses with a page. */
function createNoStreamError({ status, headers }: Response): StreamRefused {
  const type = headers.get("content-type") ?? "no content type";
  return new StreamRefused(
    status,
    `The URL is not that of a stream: the response has status ${status} and ${type.slice(0, 100)}. Use …/v1/sessions/ID/stream.`,
  );
}

async function throwRefusal(response: Response): Promise<never> {
  const { status } = response;
  const text = (await response.text().catch(() => "")).slice(0, 2_000);
  const isPermanent = status >= 400 && status < 500 && status !== 408 && status !== 429;
  const message = `The server refused the stream with status ${status}: ${text}`;
  throw isPermanent ? new StreamRefused(status, message) : new Error(message);
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end, { once: true });
    if (signal?.aborted === true) end();
  });
}
