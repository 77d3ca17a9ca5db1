/**
 * The runs for which this agent has returned an `interrupted` result. Another process may end such a run before it is
 * resumed here; `resume` then returns its end.
 */
import type { RunResult } from "../../core/view/outcome.js";
import type { LogStore } from "../log/read-entries.js";
import { findFinalEvent } from "../log/read-log.js";

/** The ids of the runs by session, the earliest first. */
export type InterruptedRuns = Map<string, readonly string[]>;

/** The maximum number of remembered sessions. The oldest is dropped first. */
const maxSessions = 10_000;

/** Remembers an interrupted run, and drops a run that has another result. Returns the result. */
export function recordInterrupted(runs: InterruptedRuns, result: RunResult): RunResult {
  const { sessionId, runId, status } = result;
  const others = (runs.get(sessionId) ?? []).filter((one) => one !== runId);
  const isOpen = status === "interrupted" && result.resumable && runId !== "";
  storeRunIds(runs, sessionId, isOpen ? [...others, runId] : others);
  return result;
}

/** The end of the first interrupted run of a session that has ended meanwhile; null if there is none. */
export async function findEndedRun(
  runs: InterruptedRuns,
  store: LogStore,
  sessionId: string,
): Promise<RunResult | null> {
  for (const runId of runs.get(sessionId) ?? []) {
    const ended = await findFinalEvent(store, sessionId, runId);
    if (ended !== null) return recordInterrupted(runs, ended.result);
  }
  return null;
}

function storeRunIds(runs: InterruptedRuns, sessionId: string, ids: readonly string[]): void {
  runs.delete(sessionId);
  if (ids.length === 0) return;
  runs.set(sessionId, ids);
  if (runs.size <= maxSessions) return;
  const [oldest] = runs.keys();
  if (oldest !== undefined) runs.delete(oldest);
}
