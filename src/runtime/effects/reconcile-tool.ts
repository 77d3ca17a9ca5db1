/**
 * Asks the outside world what became of a call whose process died (REC-4).
 */
import type { EventBody } from "../../core/machine/event.js";
import { callOf } from "../../core/machine/state.js";
import type { CallRecord } from "../../core/transcript/results.js";
import type { Reconciled } from "../../ports/tool.js";
import { depsOf } from "../agent/local-run-options.js";
import { hookRecords } from "../hooks/step-hooks.js";
import { callAfterToolCall, type ToolOutcome } from "../hooks/tool-hooks.js";
import { type Cancellation, signalOf } from "../lib/cancellation.js";
import { type Coroutine, wait } from "../lib/coroutine.js";
import { textOfError } from "../lib/error-text.js";
import { hashInput } from "../lib/hash.js";
import { toToolOutput } from "../tools/to-json.js";
import { capOutput } from "../work/cap-output.js";
import { type EffectContext, type EffectOf, isInteractive } from "../work/effect-context.js";
import { validatedInput } from "../work/tool-input.js";
import { mayStart } from "./may-start.js";
import { nobodyKnowsOutcome } from "./prompts.js";

export function* reconcileTool(
  effect: EffectOf<"reconcile">,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<EventBody | undefined> {
  const { runId, callKey } = effect;
  const record = context.transcript.calls.get(callKey);
  const call = callOf(context.state, callKey);
  if (record === undefined || call?.status !== "reconciling") return undefined;
  const ask = (why: string): EventBody => ({
    type: "tool_decided",
    runId,
    callKey,
    decision: !isInteractive(context)
      ? { verdict: "deny", reason: nobodyKnowsOutcome(why) }
      : {
          verdict: "ask",
          policy: call.policy,
          inputHash: hashInput(record.input),
          question: `It had started, and its outcome is unknown (${why}). Run it again, give its result, or count it as failed?`,
        },
  });
  const compiled = context.parts.tools.get(call.name);
  const recover = compiled?.tool.recover;
  if (compiled === undefined || typeof recover !== "object") return ask("its tool can no longer tell");
  const input = yield* wait(validatedInput(compiled, record, context));
  if (!input.ok) return ask(input.message);
  if (!(yield* mayStart(context, cancellation))) return undefined;
  try {
    const found = yield* wait<Reconciled>(
      recover.reconcile({
        input: input.value,
        idempotencyKey: callKey,
        signal: signalOf(cancellation),
        sessionId: context.sessionId,
        runId,
        deps: depsOf(context.parts, runId),
      }),
    );
    switch (found.status) {
      case "finished":
        return yield* finished(found, effect, record, context);
      case "not_started":
        return { type: "tool_decided", runId, callKey, decision: { verdict: "allow", policy: call.policy } };
      case "unknown":
        return ask("its tool does not know");
    }
  } catch (error) {
    return ask(textOfError(error));
  }
}

/** A result that was found goes the way of every result: through hooks, then cut for the model. */
function* finished(
  found: Extract<Reconciled, { status: "finished" }>,
  { runId, callKey }: EffectOf<"reconcile">,
  record: CallRecord,
  context: EffectContext,
): Coroutine<EventBody> {
  const reported: ToolOutcome = {
    outcome: found.isError === true ? "error" : "ok",
    output: toToolOutput(found.output),
  };
  const { outcome, output, records } = yield* callAfterToolCall(reported, record, 0, context);
  const cut = yield* wait(capOutput(output, record.part.name, context.sessionId, context.parts));
  return { type: "tool_finished", runId, callKey, outcome, output: cut, ...hookRecords(records) };
}
