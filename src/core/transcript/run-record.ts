/**
 * What the log says of the run under way, beside its messages and calls.
 */

import type { Json, Usage, UserMessage } from "../data/message.js";
import type { EventOf, HookRecord, RunOptions } from "../machine/event.js";
import type { RunLimits } from "../machine/run-limits.js";
import type { Purpose } from "../machine/state.js";
import type { LastCall } from "./call-records.js";

export type RunRecord = {
  readonly runId: string;
  readonly startedAt: number;
  readonly startSeq: number;
  input: readonly UserMessage[];
  readonly options: RunOptions;
  readonly limits: RunLimits;
  /** What hooks chose for the present step in the place of options. */
  choices: Choices;
  /** Steps after which the hooks were called. */
  leftSteps: number;
  /** A compaction that the hooks have not been told of. */
  compacted: EventOf<"compacted"> | null;
  purpose: Purpose;
  /** Where the model was told that its answer was no end: in which step, and the entry. */
  told: { readonly modelCallIndex: number; readonly seq: number } | null;
  /** The entry that the answer so far begins with: a model's message, or the start of the run. */
  answerSeq: number;
  /** The text of the answer so far, untrimmed: of the present step, and of the answers that it continues. */
  answer: string;
  /** What the done tool said in the present step. */
  doneMessage: string | undefined;
  /** What the present step used so far, its failed attempts included. */
  stepUsage: { readonly modelCallIndex: number; readonly usage: Usage };
  steps: number;
  /** The last call that the model asked for, and how often it did so in a row (TOOL-10). */
  lastCall: LastCall | null;
  /** The step in which the model was told that it repeats itself. */
  toldOfRepeat: number | null;
  /** The answer as data, where a shape was asked for. */
  output?: Json;
};

export type Choices = Pick<EventOf<"prepared">, "activeTools" | "toolChoice" | "providerOptions">;

export function noteHooks(run: RunRecord, hooks: readonly HookRecord[]): void {
  if (hooks.some(({ hook }) => hook === "afterStep")) run.leftSteps = run.steps;
  if (hooks.some(({ hook }) => hook === "onCompacted")) run.compacted = null;
}
