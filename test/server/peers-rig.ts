/**
 * Several servers of one store, which reach each other on loopback: as several processes would, but for what tells one
 * process from another. Each has an address of its own.
 */
import { createServer as createHttpServer, type Server as HttpServer, type RequestListener } from "node:http";
import { onTestFinished } from "vitest";
import type { Agent, Store } from "../../src/index.js";
import { type FollowedFrame, followSession } from "../../src/server/client/index.js";
import { createServer, createToken, type PeerOptions, type ServerOptions } from "../../src/server/index.js";
import { type Ask, createAsk } from "./rig.js";

export const token = createToken();
export const secret = createToken();

export type PeerRig = {
  readonly url: string;
  /** The sessions whose live items other servers asked this one for, in order. */
  readonly requestedSessions: readonly string[];
  readonly ask: Ask;
  readonly follow: (path: string, options?: { readonly after?: string }) => AsyncGenerator<FollowedFrame>;
  /** Breaks off all connections. */
  readonly breakConnections: () => void;
  readonly close: () => Promise<void>;
};

export type PeerRigOptions = Omit<ServerOptions, "peers" | "engine" | "token"> & {
  readonly store: Store;
  readonly agents?: readonly Agent[];
  /** Overrides of what the server is told of the others. */
  readonly peers?: Partial<PeerOptions>;
  /** Listens on a Unix socket, too, which is its address. */
  readonly socket?: string;
};

export async function startPeer({ agents = [], peers, socket, ...options }: PeerRigOptions): Promise<PeerRig> {
  const requestedSessions: string[] = [];
  let listener: RequestListener | null = null;
  const onRequest: RequestListener = (request, response) => {
    const [, requested] = /^\/v1\/live\/([^?]*)/.exec(request.url ?? "") ?? [];
    if (requested !== undefined) requestedSessions.push(requested);
    listener?.(request, response);
  };
  const http = createHttpServer(onRequest);
  const url = await listenOnLoopback(http);
  const unix = socket === undefined ? null : createHttpServer(onRequest);
  if (unix !== null) await new Promise<void>((resolve) => unix.listen(socket, resolve));
  const address = socket === undefined ? url : `unix:${socket}`;
  const peerOptions = { address, secret, allow: ["http://127.0.0.1:*", "unix:/*/*/*"], ...peers };
  const server = createServer({ ...options, agents, token, peers: peerOptions } as ServerOptions);
  listener = server.listener;
  const lifetime = new AbortController();
  const rig: PeerRig = {
    url,
    requestedSessions,
    ask: createAsk(url, token),
    follow: (path, { after } = {}) =>
      followSession({
        url: `${url}${path}`,
        headers: { authorization: `Bearer ${token}` },
        signal: lifetime.signal,
        retryMs: 1,
        ...(after === undefined ? {} : { after }),
      }),
    breakConnections() {
      http.closeAllConnections();
      unix?.closeAllConnections();
    },
    async close() {
      lifetime.abort();
      await server.close({ graceMs: 100 });
      for (const httpServer of [http, unix]) {
        httpServer?.closeAllConnections();
        if (httpServer !== null) await new Promise((resolve) => httpServer.close(resolve));
      }
    },
  };
  onTestFinished(rig.close);
  return rig;
}

async function listenOnLoopback(http: HttpServer): Promise<string> {
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const address = http.address();
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
}
