/**
 * A server on loopback, as a program would start it, and requests to it.
 */
import { createServer as createHttpServer, request as httpRequest } from "node:http";
import { onTestFinished } from "vitest";
import { type Agent, createMemoryStore, defineTool, type Store } from "../../src/index.js";
import { type FollowedFrame, followSession, type StreamFrame } from "../../src/server/client/index.js";
import { createServer, createToken, type LogLine, type Server, type ServerOptions } from "../../src/server/index.js";
import { createResponseCheck, type OpenApiDocument } from "./open-api-checks.js";

/** Every answer of the suite is checked against the document. */
let responseCheck: Promise<ReturnType<typeof createResponseCheck>> | null = null;
function getResponseCheck() {
  responseCheck ??= loadOpenApiDocument().then((document) => createResponseCheck(document));
  return responseCheck;
}

async function loadOpenApiDocument(): Promise<OpenApiDocument> {
  const token = createToken();
  const server = createServer({ store: createMemoryStore(), agents: [], token });
  const headers = { authorization: `Bearer ${token}` };
  const answer = await server.fetch(new Request("http://localhost/openapi.json", { headers }));
  await server.close();
  return answer.json() as Promise<OpenApiDocument>;
}

export type Rig = {
  readonly url: string;
  readonly server: Server;
  readonly store: Store;
  readonly token: string;
  readonly lines: readonly LogLine[];
  readonly ask: Ask;
  readonly follow: (
    path: string,
    options?: { readonly after?: string; readonly token?: string },
  ) => AsyncGenerator<FollowedFrame>;
  /** Breaks off all connections. */
  readonly breakConnections: () => void;
  readonly close: () => Promise<void>;
};

// biome-ignore lint/suspicious/noExplicitAny: answers of all routes
export type JsonReply = { readonly status: number; readonly json: any; readonly headers: Headers };

/** A request with the token. A body is sent as JSON. */
export type Ask = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<JsonReply>;

/** Asks the server at an address. Its answers are checked against the document. */
export function createAsk(url: string, token: string, basePath = ""): Ask {
  return async (method, path, body, headers = {}) => {
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
    const type = response.headers.get("content-type");
    (await getResponseCheck())({ method, path: path.slice(basePath.length), status: response.status, type, text });
    const json = type?.startsWith("application/json") === true ? JSON.parse(text) : text;
    return { status: response.status, json, headers: response.headers };
  };
}

export type RigOptions = Partial<
  Pick<
    ServerOptions,
    | "work"
    | "ui"
    | "a2a"
    | "log"
    | "mcp"
    | "may"
    | "authenticate"
    | "limits"
    | "origins"
    | "heartbeatMs"
    | "abortWhenAlone"
    | "secret"
    | "clientOptions"
    | "params"
    | "traceparent"
    | "redact"
    | "metrics"
    | "evalReports"
    | "uiTools"
    | "oauth"
    | "canSignal"
    | "webhooks"
    | "notices"
  >
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
  const { basePath = "" } = options;
  const token = createToken();
  const lines: LogLine[] = [];
  const credentials = options.authenticate === undefined ? { token } : {};
  const log = (line: LogLine) => void lines.push(line);
  const server = createServer({ store, agents, log, ...credentials, ...options });
  const http = createHttpServer(server.httpOptions, server.listener);
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const address = http.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const url = `http://127.0.0.1:${port}`;
  const lifetime = new AbortController();
  return {
    url,
    server,
    store,
    token,
    lines,
    ask: createAsk(url, token, basePath),
    follow: (path, { after, token: streamToken = token } = {}) =>
      followSession({
        url: `${url}${path}`,
        headers: { authorization: `Bearer ${streamToken}` },
        signal: lifetime.signal,
        ...(after === undefined ? {} : { after }),
      }),
    breakConnections: () => http.closeAllConnections(),
    async close() {
      lifetime.abort();
      await server.close({ graceMs: 100 });
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

/** A server that is closed when the test ends. */
export async function startTestServer(options: RigOptions): Promise<Rig> {
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
export async function collectFrames(followed: AsyncIterable<FollowedFrame>): Promise<readonly StreamFrame[]> {
  const frames: StreamFrame[] = [];
  for await (const { frame } of followed) frames.push(frame);
  return frames;
}

export const pickLoggedEvents = (frames: readonly StreamFrame[]) =>
  frames.flatMap(({ id, data }) => (id === undefined ? [] : [data]));

/** One address for a server that is replaced, as a load balancer gives it. */
export async function startProxy(
  target: () => string,
): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const http = createHttpServer((incoming, response) => {
    const { hostname, port, host } = new URL(target());
    const options = { hostname, port, path: incoming.url, method: incoming.method };
    const forwarded = httpRequest({ ...options, headers: { ...incoming.headers, host } }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
      // What the server breaks off is broken off here, too.
      answer.on("error", () => response.destroy());
    });
    forwarded.on("error", () => response.destroy());
    response.on("close", () => forwarded.destroy());
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const address = http.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

/** A tool whose calls wait for a person. */
export const pay = defineTool({
  name: "pay",
  description: "Pays.",
  input: { type: "object" },
  needsApproval: true,
  execute: () => "paid",
});
