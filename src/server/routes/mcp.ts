/**
 * The agents of this process as tools of an MCP server.
 *
 * 1. Each request is independent: any process with the agents and the secret can handle the next one.
 * 2. The run belongs to the session, and a worker drives it. In the protocol of 2026, a client cancels a call by closing its
 *    request, so that aborts the run.
 * 3. A draining server does not abort runs. It responds to the open calls with results that say that the run continues.
 */

import type { Message } from "../../index.js";
import type { CalledSession, McpHost } from "../../protocols/mcp-server/index.js";
import { explainFailure } from "../explain-failure.js";
import { createFailureLine } from "../log-line.js";
import { maxResponseMs, type OpenCall } from "../open-calls.js";
import { randomBase64url } from "../principal.js";
import { anyJson, eventStreamContent } from "../response-schemas.js";
import type { Route, RouteRequest } from "../route.js";
import type { RouteResponse } from "../route-response.js";
import { authorizeSession, isAllowed, isRefusal, redactSecrets, type ServerContext } from "../server-context.js";
import { ServerError } from "../server-error.js";
import { loadSessionInfo } from "../session-info.js";
import type { Sink } from "../sink.js";
import type { OpenStream } from "../watch.js";
import { type CalledSessions, createCalledSessions } from "./called-sessions.js";
import { createPostedSession } from "./chats.js";

export const mcpRoutes: readonly Route[] = [
  {
    method: "POST",
    path: "/mcp",
    action: "mcp",
    scope: "run",
    summary:
      "MCP over HTTP, protocols of 2026 and 2025: each agent is a tool. A call that waits for a person becomes a form.",
    body: "json",
    countChanges,
    responses: {
      200: "a JSON-RPC response, or text/event-stream",
      202: "the notification was accepted",
      400: "a JSON-RPC error",
      404: "a JSON-RPC error: there is no such method",
      406: "a JSON-RPC error: the client does not accept both kinds of responses",
    },
    content: { 200: [anyJson, eventStreamContent], 400: anyJson, 404: anyJson, 406: anyJson },
    handle: handleMcp,
  },
];

async function handleMcp(routeRequest: RouteRequest, context: ServerContext): Promise<RouteResponse> {
  const { request, principal, body } = routeRequest;
  const releaseSlot = context.usage.acquireStream(principal.id);
  const call = context.openCalls.begin();
  const called = createCalledSessions(routeRequest, context);
  const finish = () => {
    releaseSlot();
    call.finish();
  };
  try {
    const handleHttp = await context.mcp();
    const response = await handleHttp(request, body, principal.id, createMcpHost(routeRequest, context, call, called));
    const headers = Object.fromEntries(response.headers);
    const type = headers["content-type"] ?? "";
    if (response.body === null || !type.startsWith("text/event-stream")) {
      const bytes = response.body === null ? null : new Uint8Array(await response.arrayBuffer());
      finish();
      return { status: response.status, bytes, headers };
    }
    const reader = response.body.getReader();
    return {
      status: 200,
      headers,
      stream(sink) {
        const openStream = context.streams.open(sink, called.canStay, (checked) =>
          pipeStream(reader, checked, call, body),
        );
        sink.onClose(finish);
        return openStream;
      },
    };
  } catch (error) {
    finish();
    throw error;
  }
}

/** Each message of a batch counts. Clients of the 2025 protocols may send batches. */
function countChanges(body: unknown): number {
  return [body].flat().filter((message) => !isPoll(message)).length;
}

/** Clients poll each of their tasks once a second. */
function isPoll(message: unknown): boolean {
  return (Object(message) as { readonly method?: unknown }).method === "tasks/get";
}

/** The package sends its own keep-alive comments. Before the stream ends, it sends the response of its call. */
function pipeStream(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  sink: Sink,
  call: OpenCall,
  body: unknown,
): OpenStream {
  let isClosed = false;
  const cancel = () => {
    isClosed = true;
    void reader.cancel().catch(() => {});
  };
  sink.onClose(cancel);
  async function read(): Promise<void> {
    while (!isClosed) {
      const { done, value } = await reader.read();
      if (done || isClosed) break;
      sink.write(value);
      await sink.whenDrained();
    }
    sink.end();
  }
  read().catch(() => sink.end());
  return {
    bye(why) {
      call.drain();
      if (why === "auth") {
        for (const id of listRequestIds(body)) sink.write(encodeRefusal(id));
        return sink.end();
      }
      const timer = setTimeout(() => sink.end(), maxResponseMs);
      sink.onClose(() => clearTimeout(timer));
    },
    heartbeat: () => {},
  };
}

/** The ids of the requests in a JSON-RPC body. */
function listRequestIds(body: unknown): readonly (string | number)[] {
  return [body].flat().flatMap((message) => {
    const { id, method } = Object(message) as { readonly id?: unknown; readonly method?: unknown };
    return method !== undefined && (typeof id === "string" || typeof id === "number") ? [id] : [];
  });
}

/** Created here because the package's own response to an abandoned call contains the result if the run has just ended. */
function encodeRefusal(id: string | number): Uint8Array {
  const error = { code: -32_003, message: "Your access has ended. The run continues." };
  return new TextEncoder().encode(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, error })}\n\n`);
}

/** How many sessions are examined to find the ones that the principal can read. */
const maxExamined = 1_000;
const maxListed = 100;

function createReadableSessions({ principal }: RouteRequest, context: ServerContext): NonNullable<McpHost["sessions"]> {
  return {
    async list(prefix) {
      const ids: string[] = [];
      const { store } = context.settings;
      for (const summary of await store.list({ parent: null, limit: maxExamined })) {
        const { sessionId } = summary;
        if (!sessionId.startsWith(prefix)) continue;
        const info = await loadSessionInfo(store, summary);
        if (await isAllowed(context, principal, "read", { id: sessionId, info })) ids.push(sessionId);
        if (ids.length === maxListed) break;
      }
      return ids;
    },
    async messages(id) {
      try {
        const { session } = await authorizeSession(context, principal, "read", id);
        return redactSecrets(context, await session.messages()) as readonly Message[];
      } catch (error) {
        if (isRefusal(error)) return null;
        throw error;
      }
    },
  };
}

function createMcpHost(
  routeRequest: RouteRequest,
  context: ServerContext,
  { drainSignal }: OpenCall,
  called: CalledSessions,
): McpHost {
  const { settings, agents } = context;
  const { principal, requestId } = routeRequest;
  const report = (error: unknown) =>
    settings.log({ ...createFailureLine("mcp", error, { principal: principal.id }), requestId });
  return {
    info: { name: "pawl", version: "1" },
    tools:
      settings.mcp ?? [...agents.keys()].map((name) => ({ name, description: `Gives a task to the agent ${name}.` })),
    async openSession(agent, sessionId): Promise<CalledSession> {
      if (sessionId === undefined) {
        if (!(await isAllowed(context, principal, "begin", null, { agent })))
          throw new ServerError("forbidden", "You are not allowed to begin sessions.");
        const id = randomBase64url(16);
        called.add(id);
        return createPostedSession(routeRequest, context, id, agent);
      }
      called.add(sessionId);
      const authorized = await authorizeSession(context, principal, "run", sessionId);
      return createPostedSession(routeRequest, context, sessionId, authorized.requested.info?.agent ?? agent);
    },
    findSession: called.find,
    ...(principal.scopes.includes("read") ? { sessions: createReadableSessions(routeRequest, context) } : {}),
    carryOn: async () => null,
    makeId: () => randomBase64url(16),
    by: principal.id,
    mayAnswer: principal.scopes.includes("approve"),
    leaving: {
      signal: drainSignal,
      whereToRead: (id, runId) =>
        `Read its result with GET ${settings.basePath}/v1/sessions/${id}/runs/${runId}?wait=30.`,
    },
    endsWithRequest: true,
    whereToAnswer: (id) =>
      `Answer with POST ${settings.basePath}/v1/sessions/${id}/answers. GET ${settings.basePath}/v1/approvals lists the waiting calls.`,
    redaction: { text: settings.redact, stream: () => (item) => [item] },
    explainError: (error) => explainFailure(context, routeRequest, "mcp", error).message,
    report,
  };
}
