/**
 * Chats of the AI SDK's `useChat` and of AG-UI, whose clients work unmodified.
 *
 * 1. The client names the chat. Its session id is a hash of the principal and that name, so no two principals share a session.
 * 2. The id of a request is the id of a run, so a repeated request does not start a second run.
 */

import {
  type ClientSession,
  type EventsOptions,
  PawlError,
  type Redact,
  redactJson,
  type SessionSummary,
} from "../../index.js";
import { findOpenRun } from "../../inspect.js";
import { postAgui } from "../../protocols/agui/agui.js";
import type { AguiBody } from "../../protocols/agui/request.js";
import type { PostableSession } from "../../protocols/run-cursors.js";
import { postChat, resumeChat } from "../../protocols/ui/chat.js";
import { readUiMessages } from "../../protocols/ui/messages.js";
import { type ChunkTyper, createChunkTyper, typeChunks } from "../../protocols/ui/typed-tools.js";
import { parseCursor, startCursor } from "../../stream/cursor.js";
import { type EventFormat, startEventStream } from "../event-stream.js";
import { explainFailure } from "../explain-failure.js";
import { deriveId, type Principal } from "../principal.js";
import { redactItems } from "../redact-items.js";
import { eventStreamContent, responseContents } from "../response-schemas.js";
import type { Route, RouteRequest } from "../route.js";
import type { RouteResponse } from "../route-response.js";
import {
  authorizeDescribed,
  authorizeSession,
  chooseParams,
  isAllowed,
  redactSecrets,
  type ServerContext,
} from "../server-context.js";
import { ServerError } from "../server-error.js";
import { anyJson, object, oneOf, string } from "../shape.js";
import { pickRoot } from "./sessions.js";

const uiFormat: EventFormat = {
  headers: { "x-vercel-ai-ui-message-stream": "v1" },
  formatFailure: (errorText) => ({ type: "error", errorText }),
  endMarker: "[DONE]",
  // `useChat` considers a stream that ends to be complete, but detects a lost connection, from which it can resume.
  earlyEnd: "cut",
};

const aguiFormat: EventFormat = {
  headers: {},
  formatFailure: (message) => ({ type: "RUN_ERROR", message }),
  endMarker: null,
  // `HttpAgent` leaves a rejection unhandled if the connection breaks, so an event reports the end instead.
  earlyEnd: (why) =>
    why === "auth"
      ? { type: "RUN_ERROR", code: "forbidden", message: "Your access has ended." }
      : {
          type: "RUN_ERROR",
          code: "connection_ended",
          message:
            "The connection to this process has ended, but the run continues. Request it again: runAgent({ runId }).",
        },
};

export const chatRoutes: readonly Route[] = [
  {
    method: "POST",
    path: "/v1/chat",
    action: "chat",
    scope: "run",
    summary:
      "The endpoint of the AI SDK's chat transport, which posts a message or answers to calls. The response is a UI message stream.",
    body: object(
      {
        id: string("The id of the chat.", 200),
        messages: anyJson("The messages of the page. Only the last one is used: the session has the others."),
        answers: anyJson(
          "Answers to waiting calls: each is { callKey, decision, inputHash or questionId }, as for POST /v1/sessions/{id}/answers.",
        ),
        trigger: oneOf("Why the page posts.", "submit-message", "regenerate-message"),
        messageId: string("Ignored: the session has its messages.", 200),
        agent: string("The agent that begins the session. Default: the only agent of this server.", 200),
      },
      ["id", "messages"],
    ),
    responses: { 200: "text/event-stream: a UI message stream, version 1" },
    content: { 200: eventStreamContent },
    handle: handleChat,
  },
  {
    method: "GET",
    path: "/v1/chat/:chat/stream",
    action: "chat",
    scope: "run",
    summary: "The active run from its start, for a page that lost its stream.",
    responses: { 200: "text/event-stream: a UI message stream, version 1", 204: "no run is active" },
    content: { 200: eventStreamContent },
    async handle(routeRequest, context) {
      const session = await findChatSession(routeRequest, context, routeRequest.params.chat ?? "", undefined);
      if (session === null) return { status: 204, bytes: null };
      const runId = await findOpenRun(context.settings.store, session.id);
      if (runId === null) return { status: 204, bytes: null };
      return createStreamResponse(routeRequest, context, session.id, uiFormat, async (signal) =>
        typeChunks(await resumeChat(session, runId, signal), createTyper(context, session.id)),
      );
    },
  },
  {
    method: "GET",
    path: "/v1/chat/:chat/messages",
    action: "chat",
    scope: "read",
    summary: "The chat as AI SDK UI messages. Empty if the chat has not begun.",
    responses: { 200: "{ messages }" },
    content: { 200: responseContents.uiMessages },
    async handle(routeRequest, context) {
      const session = await findChatSession(routeRequest, context, routeRequest.params.chat ?? "", undefined);
      const messages = session === null ? [] : await readUiMessages(session, () => createTyper(context, session.id));
      return { status: 200, json: { messages } };
    },
  },
  {
    method: "POST",
    path: "/v1/agui/:agent",
    action: "chat",
    scope: "run",
    summary: "The endpoint of AG-UI 1.0: accepts a `RunAgentInput`, and streams the run's events.",
    body: object(
      {
        threadId: string("The id of the thread.", 200),
        runId: string("The id of the run.", 200),
        parentRunId: string("Ignored.", 200),
        protocolVersion: string("The protocol version of the client.", 50),
        messages: anyJson("The messages of the client. Only the last one is used."),
        resume: anyJson("Answers to interrupts."),
        tools: anyJson("Must be empty."),
        context: anyJson("Must be empty."),
        state: anyJson("Ignored."),
        forwardedProps: anyJson("Ignored."),
      },
      ["threadId", "runId"],
    ),
    responses: { 200: "text/event-stream: AG-UI 1.0 events" },
    content: { 200: eventStreamContent },
    async handle(routeRequest, context) {
      const body = routeRequest.body as AguiBody;
      const session = await openOrBeginSession(routeRequest, context, body.threadId, routeRequest.params.agent ?? "");
      return createStreamResponse(routeRequest, context, session.id, aguiFormat, (signal) =>
        postAgui(body, session, { by: routeRequest.principal.id, signal }),
      );
    },
  },
];

async function handleChat(routeRequest: RouteRequest, context: ServerContext): Promise<RouteResponse> {
  const { id, agent } = routeRequest.body as { readonly id: string; readonly agent?: string };
  const session = await openOrBeginSession(routeRequest, context, id, agent);
  return createStreamResponse(routeRequest, context, session.id, uiFormat, async (signal) => {
    // A worker of this process, or of another one, sees the answers, and resumes the session.
    const posted = await postChat(routeRequest.body, session, { by: routeRequest.principal.id, signal });
    return typeChunks(posted, createTyper(context, session.id));
  });
}

/** Larger outputs are not sent to a page. */
const maxWholeBytes = 1024 * 1024;

function createTyper({ settings }: ServerContext, sessionId: string): ChunkTyper {
  return createChunkTyper(settings.uiTools, async ({ blob, bytes, type }) => {
    const content = bytes > maxWholeBytes ? null : await settings.store.getBlob(sessionId, blob);
    return content === null ? null : redactWhole(new TextDecoder().decode(content), type, settings.redact);
  });
}

/** Redacts the values of JSON one by one, so that the result is still JSON. */
function redactWhole(text: string, type: "text" | "json" | undefined, redact: Redact): string {
  if (type !== "json") return redact(text);
  return JSON.stringify(redactJson(JSON.parse(text), redact));
}

async function openOrBeginSession(
  routeRequest: RouteRequest,
  context: ServerContext,
  chat: string,
  agent: string | undefined,
): Promise<PostableSession> {
  const existing = await findChatSession(routeRequest, context, chat, agent);
  if (existing !== null) return existing;
  const agentName = chooseAgent(context, agent);
  if (!(await isAllowed(context, routeRequest.principal, "begin", null, { agent: agentName })))
    throw new ServerError("forbidden", "You are not allowed to begin sessions.");
  return createChatSession(routeRequest, context, toSessionId(routeRequest.principal, chat), agentName, null);
}

/** Returns null if the chat has no session yet. @throws ServerError `no_session`, `forbidden` */
async function findChatSession(
  routeRequest: RouteRequest,
  context: ServerContext,
  chat: string,
  agent: string | undefined,
): Promise<PostableSession | null> {
  const id = toSessionId(routeRequest.principal, chat);
  const summary = await context.settings.store.describe(id);
  if (summary === null) return null;
  const authorized = await authorizeDescribed(context, routeRequest.principal, "chat", summary);
  return createChatSession(routeRequest, context, id, authorized.requested.info?.agent ?? agent, authorized.summary);
}

/**
 * A posted session whose runs are aborted if no client watches them anymore (`abortWhenAlone`).
 * @param summary the session as it was just read; null if it does not exist
 */
function createChatSession(
  routeRequest: RouteRequest,
  context: ServerContext,
  id: string,
  agent: string | undefined,
  summary: SessionSummary | null,
): PostableSession {
  const session = createPostedSession(routeRequest, context, id, agent, summary);
  return {
    ...session,
    seen: { seq: summary?.seq ?? 0, isResting: summary === null || summary.activity === "resting" },
    async send(input, options) {
      const sent = await session.send(input, options);
      context.loneRuns?.runStarted(id, sent.runId);
      return sent;
    },
  };
}

/** Returns the named agent, or the only agent. */
function chooseAgent({ agents }: ServerContext, name: string | undefined): string {
  const [only, ...others] = agents.keys();
  if (name === undefined && only !== undefined && others.length === 0) return only;
  if (name !== undefined && (agents.size === 0 || agents.has(name))) return name;
  const knownNames = [...agents.keys()].join(", ");
  throw new ServerError(
    "bad_input",
    `The chat needs the name of an agent. Known agents: ${knownNames === "" ? "none" : knownNames}.`,
  );
}

/** The id is derived without a secret, so chats outlive the server's secret. Knowing it gives no access: `may` checks each request. */
function toSessionId(principal: Principal, chat: string): string {
  return `chat-${deriveId(principal, chat)}`;
}

/**
 * A session for protocol clients. It sends through the store, and reads from the session's agent if that is in this process, for the
 * deltas. A principal that may approve sees the whole input of a waiting call. Others see secrets masked, and cannot answer calls.
 */
export function createPostedSession(
  { request, principal }: Pick<RouteRequest, "request" | "principal">,
  context: ServerContext,
  id: string,
  agent: string | undefined,
  summary: SessionSummary | null = null,
): PostableSession & Pick<ClientSession, "abort" | "hasAnswerFrom"> {
  const { client, agents, settings } = context;
  const session = client.session(id);
  const localAgent = agent === undefined ? undefined : agents.get(agent);
  const readableSession = localAgent?.session(id) ?? session;
  const agentOptions = agent === undefined ? {} : { agent, ...pickRoot(localAgent) };
  const canApprove = principal.scopes.includes("approve");
  const checkCanAnswer = async () => {
    if (!canApprove) throw new ServerError("forbidden", "Answering a call needs the scope approve.");
    await authorizeSession(context, principal, "answer", id);
  };
  const events = (options: EventsOptions = {}) => {
    const { follow = true, after, signal } = options;
    return follow
      ? requireEnd(
          context.links.items(readableSession, parseCursor(after ?? 0) ?? startCursor, { signal, summary }),
          signal,
        )
      : readableSession.events({ after: after ?? 0, follow });
  };
  return {
    ...session,
    async send(input, { traceparent, ...options } = {}) {
      const params = await chooseParams(context, { principal, request }, agent);
      const trace = settings.traceOf(request, traceparent);
      return session.send(input, { ...options, ...agentOptions, ...params, by: principal.id, ...trace });
    },
    events: ((options) => redactItems(events(options), settings.redact, canApprove)) as PostableSession["events"],
    pendingApprovals: async () => {
      const pending = await session.pendingApprovals();
      return canApprove ? pending : (redactSecrets(context, pending) as typeof pending);
    },
    async answer(callKey, decision, options) {
      await checkCanAnswer();
      return session.answer(callKey, decision, options);
    },
    async provideResult(callKey, output, options) {
      await authorizeSession(context, principal, "result", id);
      return session.provideResult(callKey, output, options);
    },
  };
}

/** Throws at the end of the items, which end before the run only if the agent of this process is shut down. */
async function* requireEnd<Item>(
  items: AsyncIterable<Item>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Item, void, undefined> {
  yield* items;
  if (signal?.aborted !== true)
    throw new PawlError("shut_down", "The agent was shut down in this process. Another process continues the run.");
}

/** @param open posts the request and returns its events; called only if the principal may open another stream */
async function createStreamResponse(
  routeRequest: RouteRequest,
  context: ServerContext,
  sessionId: string,
  format: EventFormat,
  open: (signal: AbortSignal) => Promise<AsyncGenerator<object, void, undefined>>,
): Promise<RouteResponse> {
  const { principal, isStillAuthorized } = routeRequest;
  const explain = (error: unknown) => explainFailure(context, routeRequest, "chat", error, sessionId).message;
  const releaseSlot = context.usage.acquireStream(principal.id);
  const connection = new AbortController();
  const events = await open(connection.signal).catch((error: unknown) => {
    releaseSlot();
    throw error;
  });
  const canStay = async () =>
    (await isStillAuthorized()) && (await authorizeSession(context, principal, "chat", sessionId)) !== null;
  return {
    status: 200,
    headers: format.headers,
    stream(sink) {
      const openStream = context.streams.open(sink, canStay, (checked) =>
        startEventStream(events, connection, checked, format, explain),
      );
      const streamClosed = context.loneRuns?.streamOpened(sessionId);
      sink.onClose(() => {
        streamClosed?.();
        releaseSlot();
      });
      return openStream;
    },
  };
}
