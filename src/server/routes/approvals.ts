/**
 * The calls of all sessions that wait for an answer.
 */

import { pendingApprovals, type StoredApproval, type ToolSpecification } from "../../index.js";
import { answers } from "../answer-shapes.js";
import type { Asked, Route } from "../route.js";
import { isAllowed, type ServerContext } from "../server-context.js";
import { sessionInfo } from "../session-info.js";
import { objectOf, text, whole } from "../shape.js";
import { answeredRoutes } from "./answered.js";
import { cursorOf, placeIn } from "./paging.js";

type ApprovalPlace = { readonly askedAt: number; readonly sessionId: string; readonly callKey: string };

export const approvalRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/v1/approvals",
    action: "approvals",
    scope: "approve",
    about:
      "The calls of all sessions that wait for an answer, longest first. Their inputs are whole: nothing is redacted.",
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
  const from = placeIn<ApprovalPlace>(cursor, { askedAt: "number", sessionId: "string", callKey: "string" });
  const approvals: unknown[] = [];
  const tools = new Map<string, readonly ToolSpecification[]>();
  let last: StoredApproval | null = null;
  for await (const approval of pendingApprovals(context.settings.store)) {
    const { sessionId, name } = approval;
    if (from !== undefined && !isBehind(approval, from)) continue;
    if (session !== undefined && sessionId !== session) continue;
    if (approvals.length === most) return { status: 200, json: { approvals, next: next(last) } } as const;
    const info = await sessionInfo(context.settings.store, { sessionId, info: approval.session });
    if (!(await isAllowed(context, principal, "approvals", { id: sessionId, info }))) continue;
    const known = tools.get(sessionId) ?? (await context.client.session(sessionId).tools());
    tools.set(sessionId, known);
    const tool = known.find((one) => one.name === name);
    approvals.push({ ...approval, tool: tool === undefined ? null : tool });
    last = approval;
  }
  return { status: 200, json: { approvals, next: null } } as const;
}

function next(last: StoredApproval | null): string | null {
  if (last === null) return null;
  const { askedAt, sessionId, callKey } = last;
  return cursorOf({ askedAt: askedAt ?? 0, sessionId, callKey });
}

/** Approvals come by the time of asking; those of one session come together. */
function isBehind({ askedAt = 0, sessionId, callKey }: StoredApproval, from: ApprovalPlace): boolean {
  if (sessionId === from.sessionId) return callKey > from.callKey;
  return askedAt >= from.askedAt;
}
