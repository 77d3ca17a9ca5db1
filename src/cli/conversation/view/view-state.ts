/**
 * The state that a session's view shows apart from its lines.
 */
import type { RunWait, Usage } from "../../../index.js";
import type { Activity, QueuedRun } from "./fold.js";

export type ViewState = {
  /** The run that is in progress or waits; null if the session rests. */
  readonly runId: string | null;
  readonly isWaiting: boolean;
  /** The sleeps and waits for signals of a run that waits. */
  readonly waits: readonly RunWait[];
  readonly isStopping: boolean;
  /** The activity in progress; null if there is none. */
  readonly activity: Activity | null;
  /** The model that has taken over in the current run; null while the session's own model is in use. */
  readonly fallback: string | null;
  /** The usage of the current or last run. */
  readonly usage: Usage;
  readonly queued: readonly QueuedRun[];
  /** How many agents work in the background. */
  readonly agentsAtWork: number;
};
