/**
 * Ends a run when the model or the done tool has finished it. An answer that does not match the requested schema goes back to
 * the model.
 */
import type { EventBody } from "../../core/machine/event.js";
import type { Preparing } from "../../core/machine/state.js";
import { maxOutputRetries } from "../../core/machine/transition.js";
import { checkAnswer, findOwnSchema, formatRepairRequest } from "../agent/structured-output.js";
import { callAfterRun, callBeforeStop } from "../hooks/end-hooks.js";
import { pickHookRecords } from "../hooks/step-hooks.js";
import type { Cancellation } from "../lib/cancellation.js";
import { type Coroutine, wait } from "../lib/coroutine.js";
import type { EffectContext, EffectOf } from "../work/effect-context.js";

export function* prepareEnd(context: EffectContext, cancellation: Cancellation): Coroutine<EventBody | undefined> {
  const { state } = context;
  if (state.status !== "preparing" || state.for !== "finish") return undefined;
  const stop = yield* callBeforeStop(state, context, cancellation);
  if (stop.type === "instead") return stop.event;
  const event = yield* checkOutput(state, context);
  return { ...event, ...pickHookRecords(stop.records) };
}

type FinishingState = Extract<Preparing, { for: "finish" }>;

function* checkOutput(
  { runId, reason, counters }: FinishingState,
  { sessionId, transcript, agent }: EffectContext,
): Coroutine<EventBody> {
  const schema = transcript.run?.options.output;
  if (schema === undefined) return { type: "run_finished", runId, reason };
  const answer = transcript.run?.doneMessage ?? transcript.run?.answer ?? "";
  const checked = yield* wait(checkAnswer(answer, schema, findOwnSchema(sessionId, runId, schema, agent), agent.clock));
  if (checked.ok) return { type: "run_finished", runId, reason, output: checked.value };
  if (counters.outputRetries < maxOutputRetries) {
    const text = formatRepairRequest(checked.message);
    return { type: "steered", source: "output", input: [{ role: "user", parts: [{ type: "text", text }] }] };
  }
  const fault = { code: "invalid_output", message: `The answer cannot be used: ${checked.message}`, retryable: false };
  return { type: "run_finished", runId, reason: "invalid_output", fault };
}

/** Calls the hooks of a run that has ended. */
export function* runAfterRunHooks(
  { runId }: EffectOf<"call_after_run_hooks">,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<EventBody> {
  const records = yield* callAfterRun(context, cancellation);
  return { type: "after_run_hooks_called", runId, ...pickHookRecords(records) };
}
