/**
 * The matches of a search in a session, from `GET /v1/sessions/ID/find`, and where each leads.
 */
import { formatCursor } from "../../stream/cursor.js";
import { type Route, stepKeyOfCall, toStepKey } from "./route.js";
import type { StepRow } from "./step-rows.js";

export type Match = {
  readonly seq: number;
  readonly index: number;
  readonly type: string;
  readonly runId?: string;
  readonly modelCallIndex?: number;
  readonly callKey?: string;
  readonly name?: string;
  readonly where: "request" | "text" | "reasoning" | "call" | "result" | "summary";
  readonly before: string;
  readonly match: string;
  readonly after: string;
};

type RouteTarget = Pick<Extract<Route, { readonly screen: "session" }>, "step" | "mark">;

const markTypes: ReadonlySet<string> = new Set(["steered", "compacted", "late_result"]);

/** The step of a match, or the mark between steps. A request leads to the first step of its run. */
export function toRouteTarget(match: Match, rows: readonly StepRow[]): RouteTarget {
  const { type, callKey, runId, modelCallIndex } = match;
  if (markTypes.has(type)) return { mark: formatCursor(match) };
  if (callKey !== undefined) return { step: stepKeyOfCall(callKey) };
  if (runId !== undefined && modelCallIndex !== undefined) return { step: toStepKey(runId, modelCallIndex) };
  const first = rows.find((row) => row.runId === runId);
  return first === undefined ? {} : { step: first.key };
}
