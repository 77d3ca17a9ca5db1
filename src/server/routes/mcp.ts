/**
 * The agents of this process as tools of an MCP server.
 *
 * 1. Each request stands alone: any process that has the agents and the secret answers the next one.
 * 2. The run is the session's, and somebody who works carries it out. In the protocol of 2026 a client cancels a call by
 *    closing its request, so that aborts the run.
 * 3. A server that leaves aborts nothing. It answers the calls that are open: their results say that the run goes on.
 */

import type { CalledSession, McpHost } from "../../protocols/mcp-server/index.js";
import type { Answer } from "../answer.js";
import { anyJson, eventStreamContent } from "../answer-shapes.js";
import { mostAnswerMs, type OpenCall } from "../open-calls.js";
import { randomText } from "../principal.js";
import type { Asked, Route } from "../route.js";
import { isAllowed, type ServerContext, sessionFor } from "../server-context.js";
import { ServerError } from "../server-error.js";
import { failureLine } from "../server-options.js";
import type { Sink } from "../sink.js";
import type { OpenStream } from "../watch.js";
import { postedSession } from "./chats.js";

export const mcpRoutes: readonly Route[] = [
  {
    method: "POST",
    path: "/mcp",
    action: "mcp",
    scope: "run",
    about: "MCP over HTTP, of 2026 and 2025: each agent is a tool. A call that waits is asked as a form.",
    body: "json",
    gives: {
      200: "a JSON-RPC response, or text/event-stream",
      202: "a notification was taken",
      400: "a JSON-RPC error",
      404: "a JSON-RPC error: there is no such method",
      406: "a JSON-RPC error: the client does not accept both kinds of answers",
    },
    answers: { 200: [anyJson, eventStreamContent], 400: anyJson, 404: anyJson, 406: anyJson },
    handle: answer,
  },
];

async function answer(asked: Asked, context: ServerContext): Promise<Answer> {
  const { request, principal, body } = asked;
  const giveBack = context.usage.takeStream(principal.id);
  const call = context.calls.begin();
  const called = new Set<string>();
  const mayStay = async () => {
    if (!(await asked.isStillLetIn())) return false;
    for (const id of called)
      if ((await context.settings.store.describe(id)) !== null) await sessionFor(context, principal, "run", id);
    return true;
  };
  const end = () => {
    giveBack();
    call.done();
  };
  try {
    const http = await context.mcp();
    const response = await http(request, body, principal.id, hostFor(asked, context, call, called));
    const headers = Object.fromEntries(response.headers);
    const type = headers["content-type"] ?? "";
    if (response.body === null || !type.startsWith("text/event-stream")) {
      const bytes = response.body === null ? null : new Uint8Array(await response.arrayBuffer());
      end();
      return { status: response.status, bytes, headers };
    }
    const reader = response.body.getReader();
    return {
      status: 200,
      headers,
      stream(sink) {
        const open = context.streams.open(sink, mayStay, (checked) => pump(reader, checked, call, body));
        sink.onClose(end);
        return open;
      },
    };
  } catch (error) {
    end();
    throw error;
  }
}

/** The package sends its own comments while nothing happens. A stream that is to end has the answer of its call first. */
function pump(reader: ReadableStreamDefaultReader<Uint8Array>, sink: Sink, call: OpenCall, body: unknown): OpenStream {
  let isOver = false;
  const leave = () => {
    isOver = true;
    void reader.cancel().catch(() => {});
  };
  sink.onClose(leave);
  async function read(): Promise<void> {
    while (!isOver) {
      const { done, value } = await reader.read();
      if (done || isOver) break;
      sink.write(value);
      await sink.drained();
    }
    sink.end();
  }
  read().catch(() => sink.end());
  return {
    bye(why) {
      call.leave();
      if (why === "auth") {
        for (const id of requestIds(body)) sink.write(refusal(id));
        return sink.end();
      }
      const timer = setTimeout(() => sink.end(), mostAnswerMs);
      sink.onClose(() => clearTimeout(timer));
    },
    beat: () => {},
  };
}

/** The ids of the requests in a body of JSON-RPC. */
function requestIds(body: unknown): readonly (string | number)[] {
  return [body].flat().flatMap((message) => {
    const { id, method } = Object(message) as { readonly id?: unknown; readonly method?: unknown };
    return method !== undefined && (typeof id === "string" || typeof id === "number") ? [id] : [];
  });
}

/** The package's own answer to a call that is left has the result if the run ended just now, so the call is answered here. */
function refusal(id: string | number): Uint8Array {
  const error = { code: -32_003, message: "Your access has ended. The run goes on." };
  return new TextEncoder().encode(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, error })}\n\n`);
}

/** @param called is told the sessions of the call */
function hostFor(asked: Asked, context: ServerContext, { leaving }: OpenCall, called: Set<string>): McpHost {
  const { settings, agents } = context;
  const { principal } = asked;
  return {
    info: { name: "pawl", version: "1" },
    agents: [...agents.keys()].map((name) => ({ name, description: `Gives a task to the agent ${name}.` })),
    async openSession(agent, sessionId): Promise<CalledSession> {
      if (sessionId === undefined) {
        if (!(await isAllowed(context, principal, "begin", null, { agent })))
          throw new ServerError("forbidden", "You may not begin sessions here.");
        const id = randomText(16);
        called.add(id);
        return postedSession(asked, context, id, agent);
      }
      called.add(sessionId);
      const found = await sessionFor(context, principal, "run", sessionId);
      return postedSession(asked, context, sessionId, found.asked.info?.agent ?? agent);
    },
    carryOn: async () => null,
    makeId: () => randomText(16),
    by: principal.id,
    mayAnswer: principal.scopes.includes("approve"),
    leaving: {
      signal: leaving,
      whereToRead: (id, runId) =>
        `Read its result with GET ${settings.basePath}/v1/sessions/${id}/runs/${runId}?wait=30.`,
    },
    endsWithRequest: true,
    whereToAnswer: (id) =>
      `Answer with POST ${settings.basePath}/v1/sessions/${id}/answers; GET ${settings.basePath}/v1/approvals shows what waits.`,
    redaction: { text: settings.redact, stream: () => (item) => [item] },
    report: (error) => settings.log(failureLine("mcp", error, { principal: principal.id })),
  };
}
