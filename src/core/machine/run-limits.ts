/**
 * The limits of a run: the machine enforces them, and the log stores them with the start of the run.
 */

/** The limits of one run. Times are milliseconds. */
export type RunLimits = {
  /** The maximum number of model calls in a run. Default 200. */
  readonly maxSteps: number;
  /** The maximum number of failed model call attempts in a run. Default 20. */
  readonly maxErrors: number;
  /** What happens at `maxSteps`: one more model call for a summary, whose tool calls are not run (the default), or an immediate end. */
  readonly onMaxSteps: "summary" | "stop";
  /** The maximum number of input and output tokens of the run and its children together. Default: no limit. */
  readonly maxTokens?: number;
  /** The maximum cost of the run and its children in US dollars, as far as prices are known. Default: no limit. */
  readonly maxCostUsd?: number;
  /** The maximum time since the start of the run. Downtime counts; waiting for a person does not. Default: no limit. */
  readonly maxWallClockMs?: number;
  /** Whether waiting for a person counts towards `maxWallClockMs`. Default false. */
  readonly wallClockIncludesWaiting?: boolean;
  /** The maximum number of tool calls that run in one step. Further calls are blocked, and the model is told. Default: no limit. */
  readonly maxToolCallsPerStep?: number;
  /**
   * What happens at the third call in a row of the same tool with the same input. "stop" (the default): the model is warned once, and the
   * run stops if the model repeats the call again. "ask": a person is asked. "ignore": nothing happens.
   */
  readonly onRepeatedCall?: "stop" | "ask" | "ignore";
  /** The maximum number of tool calls of a step that run at the same time. Default 8. */
  readonly toolConcurrency: number;
  /** How long running tool calls may take to settle after an abort. Default 5 s. */
  readonly abortGraceMs: number;
  /** How often a model that reached its output limit is asked to continue. Default 2. */
  readonly maxContinuations: number;
  /** How often `beforeStop` hooks may continue a run. Default 3. */
  readonly maxStopPreventions: number;
  /** The maximum number of compactions in a run. A compaction that does not shrink the conversation counts twice. Default 20. */
  readonly maxCompactions: number;
  /** The maximum number of handoffs to another agent in a run. A call above the limit fails, and the run continues. Default 10. */
  readonly maxHandoffs?: number;
  /**
   * The maximum number of child sessions that the run may start with the tools of other agents. Calls above the limit are blocked, and the
   * model is told why. Unlimited unless set.
   */
  readonly maxChildren?: number;
  /**
   * The maximum number of child sessions that work in the background at the same time. Calls that would start another one are blocked.
   * Unlimited unless set. Calls that wait for their child count towards `toolConcurrency` instead.
   */
  readonly maxChildrenAtOnce?: number;
  /** If true, an answer without tool calls does not end the run: the model must call the done tool. Default false. */
  readonly requireDoneTool?: boolean;
};
