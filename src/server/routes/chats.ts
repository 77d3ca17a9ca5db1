/**
 * Chats of other programs: the AI SDK's `useChat`, and AG-UI. Their clients work as they are.
 *
 * 1. The client names the chat. Its session is a keyed hash of the principal and that name, so no two principals share one,
 *    and nobody can guess it.
 * 2. The id of a request is the id of a run, so a request that is sent again starts no second run.
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
  // `useChat` takes a stream that ends for a whole answer, and knows a lost connection, which it can resume.
  earlyEnd: "cut",
};

const aguiFormat: EventFormat = {
  headers: {},
  formatFailure: (message) => ({ type: "RUN_ERROR", message }),
  endMarker: null,
  // `HttpAgent` leaves a rejection unhandled if a connection breaks off, so an event tells it.
  earlyEnd: (why) =>
    why === "auth"
      ? { type: "RUN_ERROR", code: "forbidden", message: "Your access has ended." }
      : {
          type: "RUN_ERROR",
          code: "connection_ended",
          message:
            "The connection to this process has ended, and the run goes on. Ask for it again: runAgent({ runId }).",
        },
};

export const chatRoutes: readonly Route[] = [
  {
    method: "POST",
    path: "/v1/chat",
    action: "chat",
    scope: "run",
    summary:
      "What the chat transport of the AI SDK posts: a message, or answers to calls. Answered by a UI message stream.",
    body: object(
      {
        id: string("The chat.", 200),
        messages: anyJson("The messages of the page. Only the last one counts: the session has the others."),
        answers: anyJson(
          "Answers to what waits: each { callKey, decision, inputHash or questionId }, as POST /v1/sessions/{id}/answers takes it.",
        ),
        trigger: oneOf("Why the page posts.", "submit-message", "regenerate-message"),
        messageId: string("Not used: the session knows its messages.", 200),
        agent: string("The agent that begins the session. Default: the only one of this server.", 200),
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
    summary: "The run under way, whole, for a page that lost its stream.",
    responses: { 200: "text/event-stream: a UI message stream, version 1", 204: "no run is under way" },
    content: { 200: eventStreamContent },
    async handle(routeRequest, context) {
      const session = await findChatSession(routeRequest, context, routeRequest.params.chat ?? "", undefined);
      if (session === null) return { status: 204, bytes: null };
      const runId = await findOpenRun(context.settings.store, session.id);
      if (runId === null) return { status: 204, bytes: null };
      const connection = new AbortController();
      const chunks = typeChunks(await resumeChat(session, runId, connection.signal), createTyper(context, session.id));
      return createStreamResponse(routeRequest, context, session.id, chunks, connection, uiFormat);
    },
  },
  {
    method: "GET",
    path: "/v1/chat/:chat/messages",
    action: "chat",
    scope: "read",
    summary: "The chat as UI messages of the AI SDK. Empty if it has not begun.",
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
    summary: "A `RunAgentInput` of AG-UI 1.0. Answered by its events.",
    body: object(
      {
        threadId: string("The thread.", 200),
        runId: string("The run.", 200),
        parentRunId: string("Not used.", 200),
        protocolVersion: string("The version of the client.", 50),
        messages: anyJson("The messages of the page. Only the last one counts."),
        resume: anyJson("Answers to interrupts."),
        tools: anyJson("Must be empty."),
        context: anyJson("Must be empty."),
        state: anyJson("Not used."),
        forwardedProps: anyJson("Not used."),
      },
      ["threadId", "runId"],
    ),
    responses: { 200: "text/event-stream: events of AG-UI 1.0" },
    content: { 200: eventStreamContent },
    async handle(routeRequest, context) {
      const connection = new AbortController();
      const body = routeRequest.body as AguiBody;
      const session = await openOrBeginSession(routeRequest, context, body.threadId, routeRequest.params.agent ?? "");
      const events = await postAgui(body, session, { by: routeRequest.principal.id, signal: connection.signal });
      return createStreamResponse(routeRequest, context, session.id, events, connection, aguiFormat);
    },
  },
];

async function handleChat(routeRequest: RouteRequest, context: ServerContext): Promise<RouteResponse> {
  const connection = new AbortController();
  const { id, agent } = routeRequest.body as { readonly id: string; readonly agent?: string };
  const session = await openOrBeginSession(routeRequest, context, id, agent);
  // The worker of this process, or of another, sees that a session was answered, and goes on with it.
  const posted = await postChat(routeRequest.body, session, {
    by: routeRequest.principal.id,
    signal: connection.signal,
  });
  const chunks = typeChunks(posted, createTyper(context, session.id));
  return createStreamResponse(routeRequest, context, session.id, chunks, connection, uiFormat);
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
    throw new ServerError("forbidden", "You may not begin sessions here.");
  return createChatSession(routeRequest, context, toSessionId(routeRequest.principal, chat), agentName, null);
}

/** Null if the chat has no session yet. @throws ServerError `no_session`, `forbidden` */
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
 * A posted session whose runs end if no client watches them any more (`abortWhenAlone`).
 * @param summary what was just read of the session; null if there was none
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

/** The one that is named, or the only one. */
function chooseAgent({ agents }: ServerContext, name: string | undefined): string {
  const [only, ...others] = agents.keys();
  if (name === undefined && only !== undefined && others.length === 0) return only;
  if (name !== undefined && (agents.size === 0 || agents.has(name))) return name;
  const knownNames = [...agents.keys()].join(", ");
  throw new ServerError(
    "bad_input",
    `Name the agent of the chat. There are ${knownNames === "" ? "none here" : knownNames}.`,
  );
}

/** The id of a chat needs no secret, so a chat outlives the server's. To know it opens nothing: `may` is asked for each request. */
function toSessionId(principal: Principal, chat: string): string {
  return `chat-${deriveId(principal, chat)}`;
}

/**
 * The session, sent to without its agent, and read from its agent if that is here: then it has deltas. A principal that may
 * approve sees the whole input of a call that waits. Who may not sees no secrets, and answers no call.
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
    if (!canApprove) throw new ServerError("forbidden", "This needs the scope approve.");
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

/** The items end before the run does if the agent of this process is shut down: that is no end of an answer. */
async function* requireEnd<Item>(
  items: AsyncIterable<Item>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Item, void, undefined> {
  yield* items;
  if (signal?.aborted !== true)
    throw new PawlError("shut_down", "The agent was shut down in this process. Another one carries the run on.");
}

function createStreamResponse(
  routeRequest: RouteRequest,
  context: ServerContext,
  sessionId: string,
  events: AsyncGenerator<object, void, undefined>,
  connection: AbortController,
  format: EventFormat,
): RouteResponse {
  const { principal, isStillAuthorized } = routeRequest;
  const explain = (error: unknown) => explainFailure(context, routeRequest, "chat", error, sessionId).message;
  const releaseSlot = context.usage.acquireStream(principal.id);
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
