/**
 * Asks the outside world what became of a call whose process died (REC-4).
 */
import type { EventBody } from "../../core/machine/event.js";
import { hasCalls } from "../../core/machine/state.js";
import type { CallRecord } from "../../core/transcript/results.js";
import type { Reconciled } from "../../ports/tool.js";
import { depsOf } from "../agent/local-run-options.js";
import { hookRecords } from "../hooks/step-hooks.js";
import { callAfterToolCall, type ToolOutcome } from "../hooks/tool-hooks.js";
import { signalOf } from "../lib/cancellation.js";
import { hashInput } from "../lib/hash.js";
import { toToolOutput } from "../tools/to-json.js";
import { capOutput } from "../work/cap-output.js";
import { type EffectContext, type EffectOf, isInteractive, type Perform } from "../work/effect-context.js";
import { validatedInput } from "../work/tool-input.js";

export const reconcileTool: Perform<EffectOf<"reconcile">> = async (effect, work, cancellation) => {
  const record = work.transcript.calls.get(effect.callKey);
  const call = hasCalls(work.state) ? work.state.calls.find((one) => one.callKey === effect.callKey) : undefined;
  if (record === undefined || call?.status !== "reconciling") return undefined;
  const { runId, callKey } = effect;
  const ask = (why: string): EventBody => ({
    type: "tool_decided",
    runId,
    callKey,
    decision: !isInteractive(work)
      ? { verdict: "deny", reason: `${why}, and nobody can be asked` }
      : {
          verdict: "ask",
          policy: call.policy,
          inputHash: hashInput(record.input),
          question: `It had started, and its outcome is unknown (${why}). Run it again, give its result, or count it as failed?`,
        },
  });
  const compiled = work.parts.tools.get(call.name);
  const recover = compiled?.tool.recover;
  if (compiled === undefined || typeof recover !== "object") return ask("its tool can no longer tell");
  const input = await validatedInput(compiled, record, work);
  if (!input.ok) return ask(input.message);
  try {
    const found: Reconciled = await recover.reconcile({
      input: input.value,
      idempotencyKey: callKey,
      signal: signalOf(cancellation),
      sessionId: work.sessionId,
      runId,
      deps: depsOf(work.parts, runId),
    });
    switch (found.status) {
      case "finished":
        return await finished(found, effect, record, work);
      case "not_started":
        return { type: "tool_decided", runId, callKey, decision: { verdict: "allow", policy: call.policy } };
      case "unknown":
        return ask("its tool does not know");
    }
  } catch (error) {
    return ask(error instanceof Error ? error.message : String(error));
  }
};

/** A result that was found is a result as any other. */
async function finished(
  found: Extract<Reconciled, { status: "finished" }>,
  { runId, callKey }: EffectOf<"reconcile">,
  record: CallRecord,
  work: EffectContext,
): Promise<EventBody> {
  const given: ToolOutcome = { outcome: found.isError === true ? "error" : "ok", output: toToolOutput(found.output) };
  const { outcome, output, records } = await callAfterToolCall(given, record, 0, work);
  const kept = await capOutput(output, record.part.name, work.sessionId, work.parts);
  return { type: "tool_finished", runId, callKey, outcome, output: kept, ...hookRecords(records) };
}
