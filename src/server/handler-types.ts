/**
 * The types of a server's request handlers, in their own file because the types of the implementation need the optional MCP packages.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpOptions } from "./node-listener.js";

/** The request handlers of a server. */
export type Handlers = {
  /** Handles a Web request: `app.mount("/pawl", server.fetch)` in Hono, a route handler in Next.js. */
  readonly fetch: (request: Request) => Promise<Response>;
  /**
   * Handles a Node request: `http.createServer(server.listener)`, or `app.use("/pawl", server.listener)` in Express. Streams are
   * written to the socket directly. If other code has read the body, such as `express.json()`, it is taken from
   * `request.body`.
   */
  readonly listener: (request: IncomingMessage, response: ServerResponse) => void;
  /**
   * Options for Node's server, so that clients cannot keep connections open by sending headers slowly:
   * `http.createServer(server.httpOptions, server.listener)`. They are derived from `limits.headersMs` and `limits.bodyMs`.
   */
  readonly httpOptions: HttpOptions;
};
