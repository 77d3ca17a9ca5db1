/**
 * A server on loopback, as a program would start it, and requests to it.
 */
import { createServer as createHttpServer } from "node:http";
import { onTestFinished } from "vitest";
import { type Agent, createMemoryStore, type Store } from "../../src/index.js";
import { type Followed, followSession, type StreamFrame } from "../../src/server/client/index.js";
import { createServer, createToken, type LogLine, type Server, type ServerOptions } from "../../src/server/index.js";

export type Rig = {
  readonly url: string;
  readonly server: Server;
  readonly store: Store;
  readonly token: string;
  readonly lines: readonly LogLine[];
  /** A request with the token. A body is sent as JSON. */
  readonly ask: (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answered>;
  readonly follow: (
    path: string,
    options?: { readonly after?: string; readonly token?: string },
  ) => AsyncGenerator<Followed>;
  /** Breaks off all connections. */
  readonly cut: () => void;
  readonly close: () => Promise<void>;
};

// biome-ignore lint/suspicious/noExplicitAny: answers of all routes
export type Answered = { readonly status: number; readonly json: any; readonly headers: Headers };

export type RigOptions = Partial<
  Pick<ServerOptions, "work" | "may" | "authenticate" | "limits" | "origins" | "heartbeatMs" | "abortWhenAlone">
> & {
  readonly store?: Store;
  readonly agents?: readonly Agent[];
  readonly basePath?: string;
};

export async function startServer({
  store = createMemoryStore(),
  agents = [],
  ...options
}: RigOptions = {}): Promise<Rig> {
  const token = createToken();
  const lines: LogLine[] = [];
  const access = options.authenticate === undefined ? { token } : {};
  const log = (line: LogLine) => void lines.push(line);
  const server = createServer({ store, agents, log, ...access, ...options });
  const http = createHttpServer(server.listener);
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const address = http.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const url = `http://127.0.0.1:${port}`;
  const left = new AbortController();
  return {
    url,
    server,
    store,
    token,
    lines,
    async ask(method, path, body, headers = {}) {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
      return { status: response.status, json: isJson ? JSON.parse(text) : text, headers: response.headers };
    },
    follow: (path, { after, token: other = token } = {}) =>
      followSession({
        url: `${url}${path}`,
        headers: { authorization: `Bearer ${other}` },
        signal: left.signal,
        ...(after === undefined ? {} : { after }),
      }),
    cut: () => http.closeAllConnections(),
    async close() {
      left.abort();
      await server.close({ graceMs: 100 });
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

/** A server that is closed when the test ends. */
export async function serverOfTest(options: RigOptions): Promise<Rig> {
  const rig = await startServer(options);
  onTestFinished(rig.close);
  return rig;
}

/** Runs a test with a server, closed afterwards. */
export async function withServer(options: RigOptions, work: (rig: Rig) => Promise<void>): Promise<void> {
  const rig = await startServer(options);
  try {
    await work(rig);
  } finally {
    await rig.close();
  }
}

/** All frames of a stream that ends by itself. */
export async function framesOf(followed: AsyncIterable<Followed>): Promise<readonly StreamFrame[]> {
  const frames: StreamFrame[] = [];
  for await (const { frame } of followed) frames.push(frame);
  return frames;
}

export const eventsIn = (frames: readonly StreamFrame[]) =>
  frames.flatMap(({ id, data }) => (id === undefined ? [] : [data]));
