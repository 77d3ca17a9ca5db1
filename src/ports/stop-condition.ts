/**
 * Stop conditions: when a run stops between two steps although nothing else ends it.
 *
 * 1. Conditions are checked after a step with all its calls, before the next model call. The first one that holds ends the run.
 * 2. The verdict of a condition is logged before it has any effect. A condition is checked again only if nothing was committed.
 */
import type { Message, Usage } from "../core/data/message.js";
import type { PlainCondition } from "../core/machine/stop-condition.js";
import type { StepResultSubject } from "./hook.js";
import type { SessionData } from "./session-data.js";

/** A run after a step, as the log shows it. Frozen. */
export type StepView = {
  readonly sessionId: string;
  readonly runId: string;
  /** How many of the run's model calls were committed. */
  readonly steps: number;
  /** The text of the last step. */
  readonly text: string;
  /** The calls of the last step, in order, with their results. */
  readonly calls: StepResultSubject["calls"];
  /** The usage of the run so far. */
  readonly usage: Usage;
  /** The conversation as the model sees it. */
  readonly messages: readonly Message[];
  /** The session's data. */
  readonly data: SessionData;
};

/** A condition as data, created by `stepCount`, `toolCalled` or `textMatches`. */
export type PlainStopCondition = PlainCondition;

/**
 * Your own condition: returning true stops the run. The function has 10 seconds. If it throws, takes longer or returns something else, it
 * counts as false, and events and traces report that.
 */
export type StopFunction = (view: StepView) => boolean | Promise<boolean>;

/** A condition that stops a run between two steps. */
export type StopCondition = PlainStopCondition | StopFunction;
