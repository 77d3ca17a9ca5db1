/**
 * The end of a run that the model or the done tool chose: the answer has the shape that was asked for, or is sent back once.
 */
import type { EventBody } from "../../core/event.js";
import type { Preparing } from "../../core/state.js";
import { maxOutputRetries } from "../../core/transition.js";
import { type CheckedAnswer, checkAnswer, repairText } from "../output.js";
import type { EffectOf, Perform } from "../work.js";

export const finish: Perform<EffectOf<"finish">> = (_effect, { state, transcript, parts }) => {
  if (state.status !== "preparing" || state.for !== "finish") return undefined;
  const { runId, reason } = state;
  const schema = transcript.run?.options.output;
  if (schema === undefined) return { type: "run_finished", runId, reason };
  const answer = transcript.run?.doneMessage ?? transcript.run?.answer ?? "";
  const checked = checkAnswer(answer, schema, parts.locals.get(runId)?.output);
  return checked instanceof Promise ? checked.then((result) => endOf(state, result)) : endOf(state, checked);
};

function endOf({ runId, reason, counters }: Extract<Preparing, { for: "finish" }>, checked: CheckedAnswer): EventBody {
  if (checked.ok) return { type: "run_finished", runId, reason, output: checked.value };
  if (counters.outputRetries < maxOutputRetries) {
    const text = repairText(checked.message);
    return { type: "steered", by: "output", input: [{ role: "user", parts: [{ type: "text", text }] }] };
  }
  const fault = { code: "invalid_output", message: `The answer cannot be used: ${checked.message}`, retryable: false };
  return { type: "run_finished", runId, reason: "invalid_output", fault };
}
