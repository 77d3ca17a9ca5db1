/**
 * Serves one agent to clients of the Agent2Agent protocol.
 *
 * 1. Each request is independent: any process with the store can handle the next one.
 * 2. A session belongs to the principal that began it. A message without a context begins a session, whose id is derived from the
 *    principal and the message, so a message that is sent again finds it.
 */
import { type A2aHost, type A2aSession, createAgentCard, isStreamRequest } from "../../protocols/a2a/index.js";
import type { A2aSettings } from "../a2a-options.js";
import { type EventFormat, startEventStream } from "../event-stream.js";
import { explainFailure } from "../explain-failure.js";
import { deriveId } from "../principal.js";
import { anyJson, eventStreamContent } from "../response-schemas.js";
import type { Route, RouteRequest } from "../route.js";
import type { RouteResponse } from "../route-response.js";
import {
  authorizeDescribed,
  authorizeSession,
  isAllowed,
  redactSecrets,
  type ServerContext,
} from "../server-context.js";
import { ServerError } from "../server-error.js";
import { type CalledSessions, createCalledSessions } from "./called-sessions.js";
import { createPostedSession } from "./chats.js";

export const cardPath = "/.well-known/agent-card.json";

export const a2aRoutes: readonly Route[] = [
  {
    method: "GET",
    path: cardPath,
    action: "a2a_card",
    scope: null,
    summary: "The A2A agent card, if the server has the option `a2a`. Needs no token.",
    responses: { 200: "the agent card" },
    content: { 200: anyJson },
    handle({ request }, context) {
      const settings = requireSettings(context);
      const url = settings.url ?? `${new URL(request.url).origin}${context.settings.basePath}/a2a`;
      return { status: 200, json: createAgentCard({ ...settings, name: settings.agent, url }) };
    },
  },
  {
    method: "POST",
    path: "/a2a",
    action: "a2a",
    scope: "run",
    summary: "A2A 1.0 over JSON-RPC, if the server has the option `a2a`: a context is a session, and a task is a run.",
    body: "json",
    countChanges: (body) => (isPoll(body) ? 0 : 1),
    responses: { 200: "a JSON-RPC response, or text/event-stream" },
    content: { 200: [anyJson, eventStreamContent] },
    handle: handleA2a,
  },
];

/** Clients without a stream poll their tasks. */
function isPoll(body: unknown): boolean {
  const { method } = Object(body) as { readonly method?: unknown };
  return method === "GetTask" || method === "SubscribeToTask";
}

/** @throws ServerError `not_found` */
function requireSettings({ settings }: ServerContext): A2aSettings {
  if (settings.a2a === null)
    throw new ServerError("not_found", "A2A is not enabled on this server. It needs the option `a2a`.");
  return settings.a2a;
}

async function handleA2a(routeRequest: RouteRequest, context: ServerContext): Promise<RouteResponse> {
  requireSettings(context);
  const { request, principal, body } = routeRequest;
  const isStream = isStreamRequest(body);
  const releaseSlot = context.usage.acquireStream(principal.id);
  const connection = new AbortController();
  // When the server ends a stream, it sends the reason to the client.
  const call = isStream ? null : context.openCalls.begin();
  const signal = call === null ? connection.signal : AbortSignal.any([request.signal, call.drainSignal]);
  const called = createCalledSessions(routeRequest, context);
  const finish = () => {
    releaseSlot();
    call?.finish();
  };
  try {
    const handleHttp = await context.a2a();
    const reply = await handleHttp(request, body, createHost(routeRequest, context, signal, called));
    if (reply.type === "one") {
      finish();
      return { status: 200, json: reply.json };
    }
    return {
      status: 200,
      headers: {},
      stream(sink) {
        sink.onClose(finish);
        return context.streams.open(sink, called.canStay, (checked) =>
          startEventStream(
            reply.events,
            connection,
            checked,
            createFormat(body),
            (error) => explainFailure(context, routeRequest, "a2a", error).message,
          ),
        );
      },
    };
  } catch (error) {
    finish();
    throw error;
  }
}

const internalError = -32_603;

/** Formats the failures of a stream as JSON-RPC errors. */
function createFormat(body: unknown): EventFormat {
  const { id = null } = Object(body) as { readonly id?: unknown };
  const formatFailure = (message: string) => ({ jsonrpc: "2.0", id, error: { code: internalError, message } });
  return {
    headers: {},
    formatFailure,
    endMarker: null,
    earlyEnd: (why) =>
      formatFailure(
        why === "auth"
          ? "Your access has ended. The task continues."
          : "The connection to this process has ended, but the task continues. Subscribe to it again.",
      ),
  };
}

function createHost(
  routeRequest: RouteRequest,
  context: ServerContext,
  signal: AbortSignal,
  called: CalledSessions,
): A2aHost {
  const { settings } = context;
  const { principal } = routeRequest;
  const { basePath, redact } = settings;
  return {
    openSession: (contextId, messageId) => openSession(routeRequest, context, contextId, messageId, called),
    findSession: called.find,
    by: principal.id,
    mayAnswer: principal.scopes.includes("approve"),
    signal,
    whereToAnswer: (id) =>
      `Answer with POST ${basePath}/v1/sessions/${id}/answers. GET ${basePath}/v1/approvals lists the waiting calls.`,
    redact,
    redactJson: (value) => redactSecrets(context, value),
    explainError(error) {
      const { status, message } = explainFailure(context, routeRequest, "a2a", error);
      return { message, isMistake: status < 500 };
    },
  };
}

/** @throws ServerError `no_session`, `forbidden` */
async function openSession(
  routeRequest: RouteRequest,
  context: ServerContext,
  contextId: string | undefined,
  messageId: string,
  called: CalledSessions,
): Promise<A2aSession> {
  const { principal } = routeRequest;
  const { agent } = requireSettings(context);
  const id = contextId ?? `a2a-${deriveId(principal, messageId)}`;
  called.add(id);
  if (contextId !== undefined) {
    const { requested, summary } = await authorizeSession(context, principal, "run", id);
    return createPostedSession(routeRequest, context, id, requested.info?.agent ?? agent, summary);
  }
  const described = await context.settings.store.describe(id);
  if (described !== null) {
    const { requested, summary } = await authorizeDescribed(context, principal, "run", described);
    return createPostedSession(routeRequest, context, id, requested.info?.agent ?? agent, summary);
  }
  if (!(await isAllowed(context, principal, "begin", null, { agent })))
    throw new ServerError("forbidden", "You are not allowed to begin sessions.");
  return createPostedSession(routeRequest, context, id, agent);
}
