/**
 * Loads the result of a session's current or last run, or of any run, from the store.
 */
import { isSignalMessage } from "../../core/machine/signal-waits.js";
import { isAsleep, type State } from "../../core/machine/state.js";
import { type RunResult, resultOf } from "../../core/view/outcome.js";
import { PawlError } from "../../errors.js";
import type { Store } from "../../ports/store.js";
import { listRunQuestions } from "./open-questions.js";
import { findOpenRunId } from "./open-runs.js";
import { findFinalEvent, readTranscript } from "./read-log.js";

/**
 * The result of the current or last run; null if the run is in progress. A run whose questions are all answered, or whose signal has
 * arrived, is in progress even if no process has read the answers yet.
 */
export async function loadCurrentResult(
  store: Pick<Store, "read" | "load" | "loadAt" | "inbox" | "getBlob">,
  sessionId: string,
  state: State,
): Promise<RunResult | null> {
  if (state.status === "idle") return null;
  const approvals = state.status === "awaiting_human" ? await listRunQuestions(store, sessionId, state) : [];
  if (state.status === "awaiting_human" && approvals.length === 0) return null;
  if (isAsleep(state) && (await store.inbox(sessionId)).some(({ id }) => isSignalMessage(id))) return null;
  const result = resultOf(sessionId, state, await readTranscript(store, sessionId, state));
  return result?.status === "awaiting_human" ? { ...result, approvals } : result;
}

/**
 * The result of a run; null if the run has neither ended nor waits for a person, a time or a signal.
 * @throws PawlError `no_such_run`
 */
export async function loadRunResult(
  store: Pick<Store, "read" | "load" | "loadAt" | "inbox" | "getBlob">,
  sessionId: string,
  state: State,
  runId: string,
): Promise<RunResult | null> {
  if (state.status !== "idle" && state.runId === runId) return loadCurrentResult(store, sessionId, state);
  const isOpen = (await findOpenRunId(store, sessionId, state, runId)) !== null;
  const finalEvent = await findFinalEvent(store, sessionId, runId);
  if (finalEvent !== null) return finalEvent.result;
  if (isOpen) return null;
  throw new PawlError(
    "no_such_run",
    `Session ${sessionId} has no run ${runId}. Read the session's events to find its run ids.`,
  );
}
