/**
 * An HTTP server on this machine that gives each request the next of its replies, byte by byte as they were written
 * down, and keeps what it was sent.
 */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { Json } from "../../src/core/data/message.js";

export type WireReply = {
  readonly body: string | Uint8Array;
  /** Default: 200. */
  readonly status?: number;
  /** Default: an event stream. */
  readonly contentType?: string;
  /** After the body nothing more comes until the client leaves. */
  readonly hang?: boolean;
};

export type Body = { readonly [key: string]: Json };

export type WireServer = {
  readonly origin: string;
  /** The bodies of the requests so far. */
  readonly bodies: readonly Body[];
  /** Resolves when so many requests have come. */
  readonly whenRequested: (count: number) => Promise<void>;
};

/** Starts a server on a free port. It is closed when the test has finished. */
export async function startWireServer(replies: readonly WireReply[]): Promise<WireServer> {
  const bodies: Body[] = [];
  const waiters: { readonly count: number; readonly resolve: () => void }[] = [];
  const server = createServer(async (request, response) => {
    bodies.push(await readBody(request));
    for (const { count, resolve } of waiters) if (bodies.length >= count) resolve();
    const reply = replies[bodies.length - 1] ?? { status: 400, contentType: "application/json", body: "{}" };
    response.writeHead(reply.status ?? 200, { "content-type": reply.contentType ?? "text/event-stream" });
    response.write(reply.body);
    if (reply.hang !== true) response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const whenRequested = (count: number) =>
    new Promise<void>((resolve) => {
      if (bodies.length >= count) resolve();
      else waiters.push({ count, resolve });
    });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies, whenRequested };
}

async function readBody(request: IncomingMessage): Promise<Body> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return text === "" ? {} : (JSON.parse(text) as Body);
}

/** The items of a list in a body; empty if there is none. */
export function readList(body: Body | undefined, key: string): readonly Body[] {
  const list = body?.[key];
  return Array.isArray(list) ? (list as readonly Body[]) : [];
}
