/**
 * The calls of all sessions that wait for an answer.
 */

import {
  PawlError,
  type PendingApprovalsOptions,
  pendingApprovals,
  type StoredApproval,
  type ToolSpecification,
} from "../../index.js";
import { answers } from "../answer-shapes.js";
import type { Asked, Route } from "../route.js";
import { isAllowed, type ServerContext } from "../server-context.js";
import { sessionInfo } from "../session-info.js";
import { objectOf, text, whole } from "../shape.js";
import { answeredRoutes } from "./answered.js";
import { cursorOf, placeIn } from "./paging.js";

/** The place of a call in the list, behind which the next page begins. */
type ApprovalPlace = Pick<StoredApproval, "waitsSince" | "sessionId" | "callKey"> & {
  /** Empty if it is no question of a tool. */
  readonly questionId: string;
};

/** Calls that a page looks at before it is given out, although it is not full: `may` is asked for each. */
const mostLookedAt = 2_000;

/** Sessions whose tools are read side by side. */
const readAtOnce = 8;

export const approvalRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/v1/approvals",
    action: "approvals",
    scope: "approve",
    about:
      "The calls of all sessions that wait for an answer, longest first. Their inputs are whole: nothing is redacted. A request looks at a bounded number of calls, so a page may hold fewer than asked for, and another page follow.",
    query: objectOf({
      session: text("Only calls of this session.", 512),
      limit: whole("The most calls.", 1, 500),
      cursor: text("The `next` of the page before.", 2_000),
    }),
    gives: { 200: "{ approvals, next }: each with the tool's description and schema" },
    answers: { 200: answers.approvals },
    handle: list,
  },
  ...answeredRoutes,
];

async function list({ principal, query }: Asked, context: ServerContext) {
  const {
    limit = 100,
    session,
    cursor,
  } = query as {
    readonly limit?: number;
    readonly session?: string;
    readonly cursor?: string;
  };
  const most = Math.min(limit, context.settings.limits.maxPage);
  const place = placeIn<ApprovalPlace>(cursor, {
    waitsSince: "number",
    sessionId: "string",
    callKey: "string",
    questionId: "string",
  });
  const { store } = context.settings;
  const found: StoredApproval[] = [];
  let last: StoredApproval | null = null;
  let looked = 0;
  const waiting = pendingApprovals(store, {
    ...(session === undefined ? {} : { sessionId: session }),
    ...(place === undefined ? {} : { after: behind(place) }),
  });
  for await (const approval of waiting) {
    if (found.length === most || looked === mostLookedAt) return page(context, found, last);
    const { sessionId: id } = approval;
    last = approval;
    looked += 1;
    const info = await sessionInfo(store, { sessionId: id, info: approval.session });
    if (await isAllowed(context, principal, "approvals", { id, info })) found.push(approval);
  }
  return page(context, found, null);
}

async function page(context: ServerContext, found: readonly StoredApproval[], last: StoredApproval | null) {
  const tools = await toolsOf(context, [...new Set(found.map(({ sessionId }) => sessionId))]);
  const approvals = found.map(({ waitsSince: _, ...approval }) => {
    const tool = tools.get(approval.sessionId)?.find(({ name }) => name === approval.name);
    return { ...approval, tool: tool ?? null };
  });
  return { status: 200, json: { approvals, next: last === null ? null : next(last) } } as const;
}

async function toolsOf(
  { client }: ServerContext,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly ToolSpecification[]>> {
  const tools = new Map<string, readonly ToolSpecification[]>();
  const waiting = [...ids];
  const read = async () => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift())
      tools.set(id, await client.session(id).tools().catch(noneIfDeleted));
  };
  await Promise.all(Array.from({ length: readAtOnce }, read));
  return tools;
}

function noneIfDeleted(error: unknown): readonly ToolSpecification[] {
  if (error instanceof PawlError && error.code === "no_session") return [];
  throw error;
}

function behind({ questionId, ...place }: ApprovalPlace): NonNullable<PendingApprovalsOptions["after"]> {
  return questionId === "" ? place : { ...place, questionId };
}

function next({ waitsSince, sessionId, callKey, questionId = "" }: StoredApproval): string {
  return cursorOf({ waitsSince, sessionId, callKey, questionId } satisfies ApprovalPlace);
}
