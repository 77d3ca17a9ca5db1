/**
 * The log's record of the hooks that were called.
 */

/** When a hook is called. */
export type HookPoint =
  | "beforeRun"
  | "beforeStep"
  | "beforeLLMCall"
  | "besideLLMCall"
  | "afterLLMCall"
  | "beforeToolCall"
  | "afterToolCall"
  | "afterStep"
  | "beforeStop"
  | "onError"
  | "beforeCompaction"
  | "onCompacted"
  | "afterRun";

/** The outcome of a hook. It is part of the event to which the hook contributed. */
export type HookRecord = {
  /** The name of the hook. */
  readonly name: string;
  /** The point of the run at which it was called. */
  readonly hook: HookPoint;
  /** How long the hook took, in milliseconds. */
  readonly ms: number;
  /**
   * `changed`: the loop used the hook's return value. `tripped`: the hook ended the model call. `refused`: the hook returned something that
   * is not allowed at this point.
   */
  readonly outcome: "ok" | "changed" | "tripped" | "threw" | "timed_out" | "refused";
  /** The error message. */
  readonly message?: string;
};
