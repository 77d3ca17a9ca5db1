/**
 * The ways to ask a server. They stand apart from their implementation, whose types need the optional MCP packages.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpOptions } from "./node-listener.js";

/** The ways to ask a server. */
export type Handlers = {
  /** Answers a request of the Web: `app.mount("/pawl", server.fetch)` in Hono, a route handler of Next.js. */
  readonly fetch: (request: Request) => Promise<Response>;
  /**
   * Answers a request of Node: `http.createServer(server.listener)`, `app.use("/pawl", server.listener)` in Express. Streams
   * are written to the socket directly. A body that other code has read, such as `express.json()`, is taken from
   * `request.body`.
   */
  readonly listener: (request: IncomingMessage, response: ServerResponse) => void;
  /**
   * Options for the server of Node, so that nobody keeps connections open with headers that come slowly:
   * `http.createServer(server.httpOptions, server.listener)`. They follow from `limits.headersMs` and `limits.bodyMs`.
   */
  readonly httpOptions: HttpOptions;
};
