/**
 * Matches of a text in a session, as `GET /v1/sessions/ID/find` gives them, and where each leads.
 */
import { formatCursor } from "../../stream/cursor.js";
import { type Route, stepKey, stepOfCall } from "./route.js";
import type { StepRow } from "./steps.js";

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

type Place = Pick<Extract<Route, { readonly screen: "session" }>, "step" | "mark">;

const marked: ReadonlySet<string> = new Set(["steered", "compacted", "late_result"]);

/** The step of a match, or the line between steps. A request leads to the first step of its run. */
export function placeOfMatch(match: Match, rows: readonly StepRow[]): Place {
  const { type, callKey, runId, modelCallIndex } = match;
  if (marked.has(type)) return { mark: formatCursor(match) };
  if (callKey !== undefined) return { step: stepOfCall(callKey) };
  if (runId !== undefined && modelCallIndex !== undefined) return { step: stepKey(runId, modelCallIndex) };
  const first = rows.find((row) => row.runId === runId);
  return first === undefined ? {} : { step: first.key };
}
