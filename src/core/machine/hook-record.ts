/**
 * What the log keeps of the hooks that were called.
 */

/** When a hook is called. */
export type HookPoint =
  | "beforeRun"
  | "beforeStep"
  | "beforeLLMCall"
  | "afterLLMCall"
  | "beforeToolCall"
  | "afterToolCall"
  | "afterStep"
  | "beforeStop"
  | "onError"
  | "onCompacted"
  | "afterRun";

/** The outcome of a hook. It is part of the event to which the hook contributed. */
export type HookRecord = {
  readonly name: string;
  readonly hook: HookPoint;
  /** How long the hook took, in milliseconds. */
  readonly ms: number;
  /**
   * `changed`: the loop took what the hook returned. `refused`: the hook returned what it may not return at this point.
   */
  readonly outcome: "ok" | "changed" | "threw" | "timed_out" | "refused";
  /** What went wrong. */
  readonly message?: string;
};
