/**
 * Lists the calls of all sessions that wait for an answer.
 */

import { PawlError, pendingApprovals, type StoredApproval, type ToolSpecification } from "../../index.js";
import { responseContents } from "../response-schemas.js";
import type { Route, RouteRequest } from "../route.js";
import { isAllowed, type ServerContext } from "../server-context.js";
import { loadSessionInfo } from "../session-info.js";
import { integer, object, string } from "../shape.js";
import { answeredRoutes } from "./answered.js";
import { formatPageCursor, parsePageCursor } from "./paging.js";

/** The position of a call in the list, after which the next page begins. */
type ApprovalPosition = Pick<StoredApproval, "waitsSince" | "sessionId" | "callKey"> & {
  /** Empty if the call is not a question of a tool. */
  readonly questionId: string;
};

/** The maximum number of calls that a page examines, even if it is not full, because `may` is called for each. */
const maxExamined = 2_000;

/** The number of sessions whose tools are read concurrently. */
const maxConcurrentReads = 8;

export const approvalRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/v1/approvals",
    action: "approvals",
    scope: "approve",
    summary:
      "The calls of all sessions that wait for an answer, longest-waiting first. Their inputs are not redacted. A request examines a bounded number of calls, so a page may have fewer than `limit` even if another one follows.",
    query: object({
      session: string("Only calls of this session.", 512),
      limit: integer("The maximum number of calls.", 1, 500),
      cursor: string("The `next` of the previous page.", 2_000),
    }),
    responses: { 200: "{ approvals, next }: each with the tool's description and schema" },
    content: { 200: responseContents.approvals },
    handle: listApprovals,
  },
  ...answeredRoutes,
];

async function listApprovals({ principal, query }: RouteRequest, context: ServerContext) {
  const {
    limit = 100,
    session,
    cursor,
  } = query as {
    readonly limit?: number;
    readonly session?: string;
    readonly cursor?: string;
  };
  const maxResults = Math.min(limit, context.settings.limits.maxPage);
  const position = parsePageCursor<ApprovalPosition>(cursor, {
    waitsSince: "number",
    sessionId: "string",
    callKey: "string",
    questionId: "string",
  });
  const { store } = context.settings;
  const visibleApprovals: StoredApproval[] = [];
  let last: StoredApproval | null = null;
  let examined = 0;
  const waiting = pendingApprovals(store, {
    ...(session === undefined ? {} : { sessionId: session }),
    ...(position === undefined ? {} : { after: toAfterOption(position) }),
  });
  for await (const approval of waiting) {
    if (visibleApprovals.length === maxResults || examined === maxExamined)
      return createPage(context, visibleApprovals, last);
    const { sessionId: id } = approval;
    last = approval;
    examined += 1;
    const info = await loadSessionInfo(store, { sessionId: id, info: approval.session });
    if (await isAllowed(context, principal, "approvals", { id, info })) visibleApprovals.push(approval);
  }
  return createPage(context, visibleApprovals, null);
}

async function createPage(
  context: ServerContext,
  visibleApprovals: readonly StoredApproval[],
  last: StoredApproval | null,
) {
  const tools = await loadTools(context, [...new Set(visibleApprovals.map(({ sessionId }) => sessionId))]);
  const approvals = visibleApprovals.map(({ waitsSince: _, ...approval }) => {
    const tool = tools.get(approval.sessionId)?.find(({ name }) => name === approval.name);
    return { ...approval, tool: tool ?? null };
  });
  return { status: 200, json: { approvals, next: last === null ? null : formatNextCursor(last) } } as const;
}

async function loadTools(
  { client }: ServerContext,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly ToolSpecification[]>> {
  const tools = new Map<string, readonly ToolSpecification[]>();
  const waiting = [...ids];
  const readNext = async () => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift())
      tools.set(id, await client.session(id).tools().catch(emptyIfDeleted));
  };
  await Promise.all(Array.from({ length: maxConcurrentReads }, readNext));
  return tools;
}

function emptyIfDeleted(error: unknown): readonly ToolSpecification[] {
  if (error instanceof PawlError && error.code === "no_session") return [];
  throw error;
}

function toAfterOption({ questionId, ...position }: ApprovalPosition) {
  return questionId === "" ? position : { ...position, questionId };
}

function formatNextCursor({ waitsSince, sessionId, callKey, questionId = "" }: StoredApproval): string {
  return formatPageCursor({ waitsSince, sessionId, callKey, questionId } satisfies ApprovalPosition);
}
