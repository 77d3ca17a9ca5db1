/**
 * A web handler behind a real HTTP server on this machine.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { afterEach } from "vitest";
import { PawlError } from "../../src/index.js";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

export type Served = { readonly url: string /** Breaks off all connections. */; readonly cut: () => void };

/** Serves until the test ends. A PawlError is a 400 with its message. `left` is aborted when the client leaves. */
export async function serve(handle: (request: Request, left: AbortSignal) => Promise<Response>): Promise<Served> {
  const server = createServer(async (incoming, outgoing) => {
    const left = new AbortController();
    outgoing.on("close", () => left.abort());
    const method = incoming.method ?? "GET";
    const body = method === "POST" ? { body: Readable.toWeb(incoming) as ReadableStream, duplex: "half" } : {};
    const request = new Request(`http://${incoming.headers.host}${incoming.url}`, { method, ...body } as RequestInit);
    const response = await handle(request, left.signal).catch((error: unknown) => {
      if (error instanceof PawlError) return new Response(error.message, { status: 400 });
      throw error;
    });
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    if (response.body === null) outgoing.end();
    else Readable.fromWeb(response.body as never).pipe(outgoing);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => server.closeAllConnections();
  closing.push(() => {
    cut();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, cut };
}
