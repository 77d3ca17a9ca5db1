/**
 * Chats of other programs: the AI SDK's `useChat`, and AG-UI. Their clients work as they are.
 *
 * 1. The client names the chat. Its session is a keyed hash of the principal and that name, so no two principals share one,
 *    and nobody can guess it.
 * 2. The id of a request is the id of a run, so a request that is sent again starts no second run.
 */

import { type ClientSession, type EventsOptions, findOpenRun, PawlError } from "../../index.js";
import { postAgui } from "../../protocols/agui/agui.js";
import type { AguiBody } from "../../protocols/agui/request.js";
import type { PostedSession } from "../../protocols/run-places.js";
import { postChat, resumeChat } from "../../protocols/ui/chat.js";
import { uiMessages } from "../../protocols/ui/messages.js";
import { beginning, parseCursor } from "../../stream/cursor.js";
import type { Answer } from "../answer.js";
import { answers, eventStreamContent } from "../answer-shapes.js";
import { type EventFormat, eventStream } from "../event-stream.js";
import { idFor, type Principal } from "../principal.js";
import { redacted } from "../redacted-items.js";
import type { Asked, Route } from "../route.js";
import { isAllowed, type ServerContext, sessionFor, shown } from "../server-context.js";
import { ServerError } from "../server-error.js";
import { json, objectOf, oneOf, text } from "../shape.js";
import { rootOf } from "./sessions.js";

const ui: EventFormat = {
  headers: { "x-vercel-ai-ui-message-stream": "v1" },
  failure: (errorText) => ({ type: "error", errorText }),
  end: "[DONE]",
  // `useChat` takes a stream that ends for a whole answer, and knows a lost connection, which it can resume.
  early: "cut",
};

const agui: EventFormat = {
  headers: {},
  failure: (message) => ({ type: "RUN_ERROR", message }),
  end: null,
  // `HttpAgent` leaves a rejection unhandled if a connection breaks off, so an event tells it.
  early: (why) =>
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
    about:
      "What the chat transport of the AI SDK posts: a message, or answers to calls. Answered by a UI message stream.",
    body: objectOf(
      {
        id: text("The chat.", 200),
        messages: json("The messages of the page. Only the last one counts: the session has the others."),
        answers: json(
          "Answers to what waits: each { callKey, decision, inputHash or questionId }, as POST /v1/sessions/{id}/answers takes it.",
        ),
        trigger: oneOf("Why the page posts.", "submit-message", "regenerate-message"),
        messageId: text("Not used: the session knows its messages.", 200),
        agent: text("The agent that begins the session. Default: the only one of this server.", 200),
      },
      ["id", "messages"],
    ),
    gives: { 200: "text/event-stream: a UI message stream, version 1" },
    answers: { 200: eventStreamContent },
    handle: post,
  },
  {
    method: "GET",
    path: "/v1/chat/:chat/stream",
    action: "chat",
    scope: "run",
    about: "The run under way, whole, for a page that lost its stream.",
    gives: { 200: "text/event-stream: a UI message stream, version 1", 204: "no run is under way" },
    answers: { 200: eventStreamContent },
    async handle(asked, context) {
      const session = await chatSession(asked, context, asked.params.chat ?? "", undefined);
      if (session === null) return { status: 204, bytes: null };
      const runId = await findOpenRun(context.settings.store, session.id);
      if (runId === null) return { status: 204, bytes: null };
      const left = new AbortController();
      const chunks = await resumeChat(session, runId, left.signal);
      return streamed(asked, context, session.id, chunks, left, ui);
    },
  },
  {
    method: "GET",
    path: "/v1/chat/:chat/messages",
    action: "chat",
    scope: "read",
    about: "The chat as UI messages of the AI SDK. Empty if it has not begun.",
    gives: { 200: "{ messages }" },
    answers: { 200: answers.uiMessages },
    async handle(asked, context) {
      const session = await chatSession(asked, context, asked.params.chat ?? "", undefined);
      const messages = session === null ? [] : await uiMessages(session);
      return { status: 200, json: { messages } };
    },
  },
  {
    method: "POST",
    path: "/v1/agui/:agent",
    action: "chat",
    scope: "run",
    about: "A `RunAgentInput` of AG-UI 1.0. Answered by its events.",
    body: objectOf(
      {
        threadId: text("The thread.", 200),
        runId: text("The run.", 200),
        parentRunId: text("Not used.", 200),
        protocolVersion: text("The version of the client.", 50),
        messages: json("The messages of the page. Only the last one counts."),
        resume: json("Answers to interrupts."),
        tools: json("Must be empty."),
        context: json("Must be empty."),
        state: json("Not used."),
        forwardedProps: json("Not used."),
      },
      ["threadId", "runId"],
    ),
    gives: { 200: "text/event-stream: events of AG-UI 1.0" },
    answers: { 200: eventStreamContent },
    async handle(asked, context) {
      const left = new AbortController();
      const body = asked.body as AguiBody;
      const session = await beginOrJoin(asked, context, body.threadId, asked.params.agent ?? "");
      const events = await postAgui(body, session, { by: asked.principal.id, signal: left.signal });
      return streamed(asked, context, session.id, events, left, agui);
    },
  },
];

async function post(asked: Asked, context: ServerContext): Promise<Answer> {
  const left = new AbortController();
  const { id, agent } = asked.body as { readonly id: string; readonly agent?: string };
  const session = await beginOrJoin(asked, context, id, agent);
  // The worker of this process, or of another, sees that a session was answered, and goes on with it.
  const chunks = await postChat(asked.body, session, { by: asked.principal.id, signal: left.signal });
  return streamed(asked, context, session.id, chunks, left, ui);
}

async function beginOrJoin(
  asked: Asked,
  context: ServerContext,
  chat: string,
  agent: string | undefined,
): Promise<PostedSession> {
  const present = await chatSession(asked, context, chat, agent);
  if (present !== null) return present;
  const named = agentFor(context, agent);
  if (!(await isAllowed(context, asked.principal, "begin", null, { agent: named })))
    throw new ServerError("forbidden", "You may not begin sessions here.");
  return postedSession(asked, context, sessionIdOf(asked.principal, chat), named);
}

/** Null if the chat has no session yet. @throws ServerError `no_session`, `forbidden` */
async function chatSession(
  asked: Asked,
  context: ServerContext,
  chat: string,
  agent: string | undefined,
): Promise<PostedSession | null> {
  const id = sessionIdOf(asked.principal, chat);
  if ((await context.settings.store.describe(id)) === null) return null;
  const found = await sessionFor(context, asked.principal, "chat", id);
  return postedSession(asked, context, id, found.asked.info?.agent ?? agent);
}

/** The one that is named, or the only one. */
function agentFor({ agents }: ServerContext, name: string | undefined): string {
  const [only, ...others] = agents.keys();
  if (name === undefined && only !== undefined && others.length === 0) return only;
  if (name !== undefined && (agents.size === 0 || agents.has(name))) return name;
  const known = [...agents.keys()].join(", ");
  throw new ServerError("bad_input", `Name the agent of the chat. There are ${known === "" ? "none here" : known}.`);
}

/** The id of a chat needs no secret, so a chat outlives the server's. To know it opens nothing: `may` is asked for each request. */
function sessionIdOf(principal: Principal, chat: string): string {
  return `chat-${idFor(principal, chat)}`;
}

/**
 * The session, sent to without its agent, and read from its agent if that is here: then it has deltas. A principal that may
 * approve sees the whole input of a call that waits. Who may not sees no secrets, and answers no call.
 */
export function postedSession(
  { request, principal }: Pick<Asked, "request" | "principal">,
  context: ServerContext,
  id: string,
  agent: string | undefined,
): PostedSession & Pick<ClientSession, "abort"> {
  const { client, agents, settings } = context;
  const session = client.session(id);
  const here = agent === undefined ? undefined : agents.get(agent);
  const followed = here?.session(id) ?? session;
  const naming = agent === undefined ? {} : { agent, ...rootOf(here) };
  const mayApprove = principal.scopes.includes("approve");
  const mayAnswer = async () => {
    if (!mayApprove) throw new ServerError("forbidden", "This needs the scope approve.");
    await sessionFor(context, principal, "answer", id);
  };
  const events = (options: EventsOptions = {}) => {
    const { follow = true, after, signal } = options;
    return follow
      ? toItsEnd(context.links.items(followed, parseCursor(after ?? 0) ?? beginning, { signal }), signal)
      : followed.events({ after: after ?? 0, follow });
  };
  return {
    ...session,
    async send(input, options) {
      const from = { ...naming, by: principal.id, ...settings.traceOf(request) };
      const sent = await session.send(input, { ...options, ...from });
      context.alone?.begun(id, sent.runId);
      return sent;
    },
    events: ((options) => redacted(events(options), settings.redact, mayApprove)) as PostedSession["events"],
    pendingApprovals: async () => {
      const waiting = await session.pendingApprovals();
      return mayApprove ? waiting : (shown(context, waiting) as typeof waiting);
    },
    async answer(callKey, decision, options) {
      await mayAnswer();
      return session.answer(callKey, decision, options);
    },
    async provideResult(callKey, output, options) {
      await sessionFor(context, principal, "result", id);
      return session.provideResult(callKey, output, options);
    },
  };
}

/** The items end before the run does if the agent of this process is shut down: that is no end of an answer. */
async function* toItsEnd<Item>(
  items: AsyncIterable<Item>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Item, void, undefined> {
  yield* items;
  if (signal?.aborted !== true)
    throw new PawlError("shut_down", "The agent was shut down in this process. Another one carries the run on.");
}

function streamed(
  { principal, isStillLetIn }: Asked,
  context: ServerContext,
  sessionId: string,
  events: AsyncGenerator<object, void, undefined>,
  left: AbortController,
  format: EventFormat,
): Answer {
  const giveBack = context.usage.takeStream(principal.id);
  const mayStay = async () =>
    (await isStillLetIn()) && (await sessionFor(context, principal, "chat", sessionId)) !== null;
  return {
    status: 200,
    headers: format.headers,
    stream(sink) {
      const open = context.streams.open(sink, mayStay, (checked) => eventStream(events, left, checked, format));
      const leave = context.alone?.joined(sessionId);
      sink.onClose(() => {
        leave?.();
        giveBack();
      });
      return open;
    },
  };
}
