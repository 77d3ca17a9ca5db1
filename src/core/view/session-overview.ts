/**
 * The overview that lists show for a session in addition to its info. A store keeps it with the session's row, so that a list does not read
 * states.
 */
import type { Usage } from "../data/message.js";
import { addUsage } from "../data/usage.js";
import { hasCalls, openQuestionsOf, type State } from "../machine/state.js";

/** The newest run of a session and its open questions. */
export type SessionOverview = {
  /** The newest run, ended or not. Null before the first run. */
  readonly lastRun: {
    readonly runId: string;
    /** The number of committed model calls. */
    readonly steps: number;
    readonly usage: Usage;
  } | null;
  /** The number of questions that wait for an answer from outside. Questions of child sessions are counted in those sessions. */
  readonly questions: number;
};

/** Builds the overview of a session from its state. */
export function buildOverview(state: State): SessionOverview {
  const questions = countQuestions(state);
  if (state.status === "idle") return { lastRun: null, questions };
  const { runId, counters, usage } = state;
  // Adding to an empty usage rounds the cost, as in results.
  return { lastRun: { runId, steps: counters.totalSteps, usage: addUsage({}, usage) }, questions };
}

/** Counts the open questions of the session itself. Sleeps and waits for signals do not count. */
function countQuestions(state: State): number {
  if (!hasCalls(state)) return 0;
  return state.calls.reduce((sum, call) => {
    const isAsking = call.status === "asking" || (call.status === "waiting" && call.on === "external");
    const open = openQuestionsOf(call)?.filter((one) => one.for === undefined);
    return sum + (open?.length ?? (isAsking ? 1 : 0));
  }, 0);
}
