/**
 * Reads the status of one run from the log, for protocols whose clients poll runs as tasks.
 */
import { PawlError, type PendingApproval, type RunResult, type RunWait, type Session } from "../index.js";
import type { ReadableSession } from "./run-flow.js";

/** The result of a run that has ended. */
export type EndedRun = Extract<RunResult, { readonly status: "completed" | "failed" | "aborted" }>;

export type RunStatus =
  | { readonly type: "working" }
  /** The run sleeps, or waits for a signal. */
  | { readonly type: "waits"; readonly waits: readonly RunWait[] }
  /** The run waits for a person. */
  | { readonly type: "asks"; readonly approvals: readonly PendingApproval[] }
  | { readonly type: "ended"; readonly result: EndedRun };

type State = Awaited<ReturnType<Session["state"]>>;

/** Returns null if the session has no such run. @param state the session's state, if the caller has just read it */
export async function readRunStatus(
  session: Pick<ReadableSession, "state" | "result">,
  runId: string,
  state?: State,
): Promise<RunStatus | null> {
  // Checked first, because the result of a run costs a read of its log.
  if (isBusy(state ?? (await session.state()), runId)) return { type: "working" };
  const result = await findResult(session, runId);
  switch (result?.status) {
    case undefined:
      return result === null ? { type: "working" } : null;
    case "interrupted":
      return { type: "working" };
    case "waiting":
      return { type: "waits", waits: result.waits };
    case "awaiting_human":
      return { type: "asks", approvals: result.approvals };
    case "completed":
    case "failed":
    case "aborted":
      return { type: "ended", result };
  }
}

/** Whether the run is in progress: it has not ended, and does not wait for a person, a time or a signal. */
function isBusy(state: State, runId: string): boolean {
  switch (state.status) {
    case "preparing":
    case "model_running":
      return state.runId === runId;
    case "tool_running":
      return state.runId === runId && state.parkedSince === undefined;
    default:
      return false;
  }
}

/** The result; null if the run continues; undefined if there is no such run. */
async function findResult(
  session: Pick<ReadableSession, "result">,
  runId: string,
): Promise<RunResult | null | undefined> {
  try {
    return await session.result(runId);
  } catch (error) {
    if (error instanceof PawlError && (error.code === "no_such_run" || error.code === "bad_input")) return undefined;
    throw error;
  }
}

/** When the entry was written, in epoch milliseconds; undefined if its events have no time. */
export async function readLastTime(session: Pick<ReadableSession, "events">, seq: number): Promise<number | undefined> {
  let last: number | undefined;
  for await (const event of session.events({ after: Math.max(0, seq - 1), follow: false }))
    if ("at" in event && typeof event.at === "number") last = event.at;
  return last;
}
