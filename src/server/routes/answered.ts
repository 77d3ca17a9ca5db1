/**
 * What was answered, in all sessions: who said what to which call, and when.
 *
 * Answers stand in the logs of their sessions. So a page looks at the end of the logs of the sessions that changed last,
 * and costs the same however long they are.
 */
import type { ClientSession, Json, PublicEvent, SessionInfo } from "../../index.js";
import { answers } from "../answer-shapes.js";
import type { Asked, Route } from "../route.js";
import { isAllowed, type ServerContext, shown } from "../server-context.js";
import { sessionInfo } from "../session-info.js";
import { objectOf, text, whole } from "../shape.js";
import { cursorOf, sessionPlaceIn } from "./paging.js";

/** Sessions that one page looks at, and entries at the end of the log of each. */
const mostSessions = 50;
const mostEntries = 500;

export const answeredRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/v1/approvals/answered",
    action: "approvals",
    scope: "approve",
    about: `The answers to calls in all sessions, newest first. A page looks at the last ${mostEntries} entries of ${mostSessions} sessions, those that changed last first. It may be empty, and another page follow.`,
    query: objectOf({
      limit: whole("Once a page has so many answers, it looks at no further session.", 1, 500),
      cursor: text("The `next` of the page before.", 2_000),
    }),
    gives: { 200: "{ answered, next }: `next` is the cursor of the next page, null at the end" },
    answers: { 200: answers.answeredCalls },
    handle: list,
  },
];

async function list({ principal, query }: Asked, context: ServerContext) {
  const { limit = 50, cursor } = query as { readonly limit?: number; readonly cursor?: string };
  const { store } = context.settings;
  let after = sessionPlaceIn(cursor);
  const page = await store.list({ limit: mostSessions, ...(after === undefined ? {} : { after }) });
  const found: AnsweredCall[] = [];
  let looked = 0;
  for (const summary of page) {
    if (found.length >= limit) break;
    const { updatedAt, sessionId, seq } = summary;
    looked += 1;
    after = { updatedAt, sessionId };
    const info = await sessionInfo(store, summary);
    if (!(await isAllowed(context, principal, "approvals", { id: sessionId, info }))) continue;
    if (seq > 0) found.push(...(await answersIn(context.client.session(sessionId), seq, info)));
  }
  found.sort((a, b) => b.at - a.at);
  const isLast = looked === page.length && page.length < mostSessions;
  const next = isLast || after === undefined ? null : cursorOf(after);
  return { status: 200, json: { answered: shown(context, found), next } } as const;
}

type Answered = Extract<PublicEvent, { readonly type: "approval_answered" }>;

type AnsweredCall = Pick<
  Answered,
  "sessionId" | "callKey" | "name" | "answer" | "at" | "by" | "note" | "overruled" | "questionId" | "value"
> & {
  readonly session: SessionInfo | null;
  /** The input that was shown; absent if the call asked long before. */
  readonly input?: Json;
  /** The input that took its place. */
  readonly edited?: Json;
};

async function answersIn(session: ClientSession, seq: number, info: SessionInfo | null): Promise<AnsweredCall[]> {
  const inputs = new Map<string, Json>();
  const found: AnsweredCall[] = [];
  for await (const event of session.events({ follow: false, after: Math.max(0, seq - mostEntries) })) {
    if (event.type === "tool_call" || event.type === "approval_requested") inputs.set(event.callKey, event.input);
    if (event.type !== "approval_answered") continue;
    const { sessionId, callKey, name, answer, at, by, note, overruled, questionId, value, input: edited } = event;
    const input = inputs.get(callKey);
    found.push({
      ...{ sessionId, callKey, name, answer, at, session: info },
      ...(by === undefined ? {} : { by }),
      ...(note === undefined ? {} : { note }),
      ...(overruled === undefined ? {} : { overruled }),
      ...(questionId === undefined ? {} : { questionId }),
      ...(value === undefined ? {} : { value }),
      ...(input === undefined ? {} : { input }),
      ...(edited === undefined || answer !== "modify" ? {} : { edited }),
    });
  }
  return found;
}
