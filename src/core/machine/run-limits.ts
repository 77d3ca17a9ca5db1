/**
 * The limits of a run: the machine enforces them, and the log stores them with the start of the run.
 */

/** The limits of one run. Times are milliseconds. */
export type RunLimits = {
  /** Model calls in a run. Default 200. */
  readonly maxSteps: number;
  /** Failed attempts of model calls in a run. Default 20. */
  readonly maxErrors: number;
  /** What happens at `maxSteps`: one more model call for a summary (the default), whose tool calls are not run, or an end at once. */
  readonly onMaxSteps: "summary" | "stop";
  /** Input and output tokens of the run and its children together. Not limited unless set. */
  readonly maxTokens?: number;
  /** US dollars that the run and its children cost, as far as prices are known. Not limited unless set. */
  readonly maxCostUsd?: number;
  /** Time from the start of the run. Downtime counts; waiting for a person does not. Not limited unless set. */
  readonly maxWallClockMs?: number;
  /** Whether waiting for a person counts for `maxWallClockMs`. Default false. */
  readonly wallClockIncludesWaiting?: boolean;
  /**
   * The maximum number of tool calls that run in one step. Further calls are blocked, and the model is told so. Not
   * limited unless set.
   */
  readonly maxToolCallsPerStep?: number;
  /**
   * What happens at the third call in a row of the same tool with the same input. The model is warned once, and the run
   * stops if the model repeats itself again (the default); or a person is asked; or nothing happens.
   */
  readonly onRepeatedCall?: "stop" | "ask" | "ignore";
  /** Tool calls of a step that run at the same time. Default 8. */
  readonly toolConcurrency: number;
  /** How long running tool calls may take to settle after an abort. Default 5 s. */
  readonly abortGraceMs: number;
  /** How often a model that reached its output limit is asked to continue. Default 2. */
  readonly maxContinuations: number;
  /** How often `beforeStop` hooks may keep a run going. Default 3. */
  readonly maxStopPreventions: number;
  /** Compactions in a run. A compaction that does not shrink the conversation counts twice. Default 20. */
  readonly maxCompactions: number;
  /** How often the run may be handed over to another agent. A call above it fails, and the run continues. Default 10. */
  readonly maxHandoffs?: number;
  /**
   * How many child sessions the run may start with the tools of other agents. Further calls are blocked, and the model is told so.
   * Not limited unless set.
   */
  readonly maxChildren?: number;
  /**
   * How many child sessions may work in the background at the same time. Further calls that would start one are blocked. Not limited
   * unless set; calls that wait for their child count for `toolConcurrency`.
   */
  readonly maxChildrenAtOnce?: number;
  /** An answer without tool calls does not end the run: the model must call the done tool. Default false. */
  readonly requireDoneTool?: boolean;
};
