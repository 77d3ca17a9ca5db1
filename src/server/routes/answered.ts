/**
 * Lists the answers in all sessions: who answered which call, how, and when.
 *
 * Answers are stored in the logs of their sessions. So a page reads the ends of the logs of the sessions that changed last, and
 * costs the same however long the logs are.
 */
import type { ClientSession, Json, PublicEvent, SessionInfo } from "../../index.js";
import { responseContents } from "../response-schemas.js";
import type { Route, RouteRequest } from "../route.js";
import { isAllowed, redactSecrets, type ServerContext } from "../server-context.js";
import { loadSessionInfo } from "../session-info.js";
import { integer, object, string } from "../shape.js";
import { formatPageCursor, parseSessionCursor } from "./paging.js";

/** The number of sessions that a page reads, and of entries at the end of each log. */
const maxSessions = 50;
const maxEntries = 500;

export const answeredRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/v1/approvals/answered",
    action: "approvals",
    scope: "approve",
    summary: `The answers to calls in all sessions, newest first. A page covers the last ${maxEntries} entries of ${maxSessions} sessions, beginning with the ones that changed last. A page may be empty even if another one follows.`,
    query: object({
      limit: integer("A page with this many answers reads no further sessions.", 1, 500),
      cursor: string("The `next` of the previous page.", 2_000),
    }),
    responses: { 200: "{ answered, next }: `next` is the cursor of the next page, null at the end" },
    content: { 200: responseContents.answeredCalls },
    handle: listAnswered,
  },
];

async function listAnswered({ principal, query }: RouteRequest, context: ServerContext) {
  const { limit = 50, cursor } = query as { readonly limit?: number; readonly cursor?: string };
  const { store } = context.settings;
  let after = parseSessionCursor(cursor);
  const page = await store.list({ limit: maxSessions, ...(after === undefined ? {} : { after }) });
  const answeredCalls: AnsweredCall[] = [];
  let examined = 0;
  for (const summary of page) {
    if (answeredCalls.length >= limit) break;
    const { updatedAt, sessionId, seq } = summary;
    examined += 1;
    after = { updatedAt, sessionId };
    const info = await loadSessionInfo(store, summary);
    if (!(await isAllowed(context, principal, "approvals", { id: sessionId, info }))) continue;
    if (seq > 0) answeredCalls.push(...(await readAnswers(context.client.session(sessionId), seq, info)));
  }
  answeredCalls.sort((a, b) => b.at - a.at);
  const isLast = examined === page.length && page.length < maxSessions;
  const next = isLast || after === undefined ? null : formatPageCursor(after);
  return { status: 200, json: { answered: redactSecrets(context, answeredCalls), next } } as const;
}

type ApprovalAnsweredEvent = Extract<PublicEvent, { readonly type: "approval_answered" }>;

type AnsweredCall = Pick<
  ApprovalAnsweredEvent,
  "sessionId" | "callKey" | "name" | "answer" | "at" | "by" | "note" | "overruled" | "questionId" | "value"
> & {
  readonly session: SessionInfo | null;
  /** The input that was shown; absent if the call asked long before the answer. */
  readonly input?: Json;
  /** The edited input that replaced it. */
  readonly edited?: Json;
};

async function readAnswers(session: ClientSession, seq: number, info: SessionInfo | null): Promise<AnsweredCall[]> {
  const inputs = new Map<string, Json>();
  const answeredCalls: AnsweredCall[] = [];
  for await (const event of session.events({ follow: false, after: Math.max(0, seq - maxEntries) })) {
    if (event.type === "tool_call" || event.type === "approval_requested") inputs.set(event.callKey, event.input);
    if (event.type !== "approval_answered") continue;
    const { sessionId, callKey, name, answer, at, by, note, overruled, questionId, value, input: edited } = event;
    const input = inputs.get(callKey);
    answeredCalls.push({
      sessionId,
      callKey,
      name,
      answer,
      at,
      session: info,
      ...(by === undefined ? {} : { by }),
      ...(note === undefined ? {} : { note }),
      ...(overruled === undefined ? {} : { overruled }),
      ...(questionId === undefined ? {} : { questionId }),
      ...(value === undefined ? {} : { value }),
      ...(input === undefined ? {} : { input }),
      ...(edited === undefined || answer !== "modify" ? {} : { edited }),
    });
  }
  return answeredCalls;
}
