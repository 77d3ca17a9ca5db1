/**
 * An MCP server over HTTP that speaks protocol 2026-07-28 by hand, so that what it says need not be right.
 */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

type Params = { readonly [name: string]: unknown };

export type RawRequest = { readonly method: string; readonly params: Params; readonly headers: IncomingHttpHeaders };

/** Returns the result of a request. A thrown `{ code, message }` becomes the error of the response. */
type Handler = (request: RawRequest) => object;

export type RawServer = {
  readonly url: string;
  /** The requests so far, in order. */
  readonly requests: readonly RawRequest[];
};

const discovered = {
  supportedVersions: ["2026-07-28"],
  capabilities: { tools: {}, resources: {}, prompts: {} },
  serverInfo: { name: "raw", version: "1" },
};

/** Serves these methods until the test ends. `server/discover` is answered unless it is among them. */
export async function startRawServer(handlers: Readonly<Record<string, Handler>>): Promise<RawServer> {
  const requests: RawRequest[] = [];
  const all: Readonly<Record<string, Handler>> = { "server/discover": () => discovered, ...handlers };
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { id, method = "", params = {} } = JSON.parse(Buffer.concat(chunks).toString() || "{}");
    const request = { method, params, headers: incoming.headers };
    requests.push(request);
    if (id === undefined) return void response.writeHead(202).end();
    const message = { jsonrpc: "2.0", id, ...answer(all[method], request) };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(message));
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, requests };
}

function answer(handler: Handler | undefined, request: RawRequest): object {
  if (handler === undefined) return { error: { code: -32601, message: `There is no ${request.method}.` } };
  try {
    return { result: { resultType: "complete", ttlMs: 0, cacheScope: "private", ...handler(request) } };
  } catch (error) {
    return { error };
  }
}
