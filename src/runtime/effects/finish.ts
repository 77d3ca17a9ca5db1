/**
 * The end of a run that the model or the done tool chose: the answer has the shape that was asked for, or is sent back once.
 */
import type { EventBody } from "../../core/machine/event.js";
import type { Preparing } from "../../core/machine/state.js";
import { maxOutputRetries } from "../../core/machine/transition.js";
import { type CheckedAnswer, checkAnswer, repairText } from "../agent/structured-output.js";
import { callBeforeStop } from "../hooks/end-hooks.js";
import { hookRecords } from "../hooks/step-hooks.js";
import { andThen } from "../lib/maybe-promise.js";
import type { EffectContext, EffectOf, Perform } from "../work/effect-context.js";

export const finish: Perform<EffectOf<"finish">> = (_effect, work, cancellation) => {
  const { state } = work;
  if (state.status !== "preparing" || state.for !== "finish") return undefined;
  return andThen(callBeforeStop(state, work, cancellation), (asked) => {
    if (asked.type === "instead") return asked.event;
    return andThen(checkedEnd(state, work), (event): EventBody => ({ ...event, ...hookRecords(asked.records) }));
  });
};

type Finishing = Extract<Preparing, { for: "finish" }>;

function checkedEnd(state: Finishing, { transcript, parts }: EffectContext): EventBody | Promise<EventBody> {
  const { runId, reason } = state;
  const schema = transcript.run?.options.output;
  if (schema === undefined) return { type: "run_finished", runId, reason };
  const answer = transcript.run?.doneMessage ?? transcript.run?.answer ?? "";
  return andThen(checkAnswer(answer, schema, parts.locals.get(runId)?.output), (result) => endOf(state, result));
}

function endOf({ runId, reason, counters }: Finishing, checked: CheckedAnswer): EventBody {
  if (checked.ok) return { type: "run_finished", runId, reason, output: checked.value };
  if (counters.outputRetries < maxOutputRetries) {
    const text = repairText(checked.message);
    return { type: "steered", source: "output", input: [{ role: "user", parts: [{ type: "text", text }] }] };
  }
  const fault = { code: "invalid_output", message: `The answer cannot be used: ${checked.message}`, retryable: false };
  return { type: "run_finished", runId, reason: "invalid_output", fault };
}
