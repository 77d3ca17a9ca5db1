/**
 * Facts about the run under way, from the log, that are neither messages nor calls.
 */

import type { Json, Usage, UserMessage } from "../data/message.js";
import type { EventOf, HookRecord, RunOptions } from "../machine/event.js";
import type { RunLimits } from "../machine/run-limits.js";
import type { Purpose } from "../machine/state.js";
import type { LastCall } from "./call-records.js";

/** Facts about the run under way, or the last run. */
export type RunRecord = {
  readonly runId: string;
  readonly startedAt: number;
  readonly startSeq: number;
  input: readonly UserMessage[];
  readonly options: RunOptions;
  readonly limits: RunLimits;
  /** What hooks chose for the present step instead of the run's options. */
  choices: Choices;
  /** The last step after which the `afterStep` hooks were called. */
  leftSteps: number;
  /** A compaction for which the `onCompacted` hooks have not been called yet. */
  compacted: EventOf<"compacted"> | null;
  purpose: Purpose;
  /** The last prompt to continue an answer or to call the done tool: its step and its entry. */
  lastPrompt: { readonly modelCallIndex: number; readonly seq: number } | null;
  /** The entry with the first part of the present answer: a model's message, or the start of the run. */
  answerSeq: number;
  /** The text of the present answer, untrimmed: of the present step, and of the answers that it continues. */
  answer: string;
  /** The message of the done tool in the present step. */
  doneMessage: string | undefined;
  /** The usage of the present step so far, with its failed attempts. */
  stepUsage: { readonly modelCallIndex: number; readonly usage: Usage };
  steps: number;
  /** The last call that the model asked for, and how often in a row it did so. */
  lastCall: LastCall | null;
  /** The step in which the model was warned that it repeats itself. */
  repeatWarningStep: number | null;
  /** The answer as data, if the run asked for a shape. */
  output?: Json;
};

export type Choices = Pick<EventOf<"prepared">, "activeTools" | "toolChoice" | "providerOptions">;

export function noteHooks(run: RunRecord, hooks: readonly HookRecord[]): void {
  if (hooks.some(({ hook }) => hook === "afterStep")) run.leftSteps = run.steps;
  if (hooks.some(({ hook }) => hook === "onCompacted")) run.compacted = null;
}
