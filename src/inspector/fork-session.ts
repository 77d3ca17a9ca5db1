/**
 * Copies a session, and sends input to the copy.
 */
import type { Json, PublicEvent } from "../index.js";
import type { Api } from "./api.js";
import { findStepWithNext } from "./state/fork.js";
import { parseStepKey } from "./state/route.js";
import type { SessionState } from "./state/session-state.js";

export type RunStarted = Extract<PublicEvent, { readonly type: "run_started" }>;

/** A step at which a session is forked. */
export type ForkedStep = {
  /** The event that began the step's run. Null if it is not in the visible log. */
  readonly runStarted: RunStarted | null;
  /** The last entry of the step. */
  readonly end: number;
};

/** A step ends where the next step begins; the last step of a run ends where the next run begins. */
export async function loadForkedStep(api: Api, session: SessionState, key: string): Promise<ForkedStep | null> {
  const match = findStepWithNext(session.rows, key);
  if (match === null) return null;
  const { row, next } = match;
  const path = `${toSessionPath(session.id)}/events`;
  const { runId } = parseStepKey(key);
  const [runStarted, nextRunStart] = await Promise.all([
    loadFirstRunStart(api, path, { runId }),
    next?.runId === runId ? null : loadFirstRunStart(api, path, { after: row.seq }),
  ]);
  const candidateEnds = [next?.seq, nextRunStart?.seq].flatMap((seq) => (seq === undefined ? [] : [seq - 1]));
  return { runStarted, end: Math.min(...candidateEnds, session.last.seq) };
}

async function loadFirstRunStart(
  api: Api,
  path: string,
  query: { readonly runId?: string; readonly after?: number },
): Promise<RunStarted | null> {
  const { events } = await api.get<{ readonly events: readonly RunStarted[] }>(path, {
    ...query,
    type: "run_started",
    limit: 1,
  });
  return events[0] ?? null;
}

/** Copies a session up to an entry. Resolves to the copy's id. @throws ApiError */
export async function copySession(api: Api, sessionId: string, at: number): Promise<string> {
  const copy = await api.post<{ readonly sessionId: string }>(`${toSessionPath(sessionId)}/fork`, { at });
  return copy.sessionId;
}

/** Sends input to a copy. A request that is repeated because there was no response starts only one run. @throws ApiError */
export async function askCopy(api: Api, copyId: string, input: Json): Promise<void> {
  await api.post(`${toSessionPath(copyId)}/runs`, { input }, `fork-${copyId}`);
}

function toSessionPath(id: string): string {
  return `/v1/sessions/${encodeURIComponent(id)}`;
}
