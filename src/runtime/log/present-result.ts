/**
 * The result of a session's present or last run, from the store.
 */
import type { State } from "../../core/machine/state.js";
import { type RunResult, resultOf } from "../../core/view/outcome.js";
import type { Store } from "../../ports/store.js";
import { openQuestions } from "./open-questions.js";
import { loadTranscript } from "./read-log.js";

/**
 * The result of the present or last run; null if the run goes on. A run whose questions are all answered goes on, too,
 * even if nobody has taken the answers yet.
 */
export async function presentResult(
  store: Pick<Store, "read" | "load" | "loadAt" | "inbox" | "getBlob">,
  sessionId: string,
  state: State,
): Promise<RunResult | null> {
  if (state.status === "idle") return null;
  const approvals = state.status === "awaiting_human" ? await openQuestions(store, sessionId, state) : [];
  if (state.status === "awaiting_human" && approvals.length === 0) return null;
  const result = resultOf(sessionId, state, await loadTranscript(store, sessionId, state));
  return result?.status === "awaiting_human" ? { ...result, approvals } : result;
}
