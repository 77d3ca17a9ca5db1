/**
 * Asks a tool for the outcome of a call whose process died (REC-4).
 */
import type { ToolOutput } from "../../core/data/message.js";
import type { EventBody } from "../../core/machine/event.js";
import { pickPrincipal } from "../../core/machine/session-info.js";
import { callOf } from "../../core/machine/state.js";
import { type CallRecord, toolNameOf } from "../../core/transcript/results.js";
import type { FinishedToolStep, Reconciled, RecoverOption } from "../../ports/tool.js";
import { resolveDeps } from "../agent/local-run-options.js";
import { pickHookRecords } from "../hooks/step-hooks.js";
import type { ToolOutcome } from "../hooks/tool-hooks.js";
import { abort, type Cancellation, createCancellation, getSignal, onCancel } from "../lib/cancellation.js";
import { type Coroutine, type MaybePromise, wait } from "../lib/coroutine.js";
import { formatError } from "../lib/error-text.js";
import { hashInput } from "../lib/hash.js";
import { callInTime, type SettledCall } from "../lib/time-limit.js";
import type { CompiledTool } from "../tools/compile-tools.js";
import { toToolOutput } from "../tools/to-json.js";
import { capResult } from "../work/cap-output.js";
import { type EffectContext, type EffectOf, isInteractive } from "../work/effect-context.js";
import { getParams } from "../work/run-params.js";
import { validateInput } from "../work/tool-input.js";
import { canStart } from "./can-start.js";
import { createIdempotencyKey } from "./idempotency-key.js";
import { createFinalOutcome, type Raw } from "./model-output.js";
import { nobodyKnowsOutcome } from "./prompts.js";
import { loadFinishedSteps } from "./step-values.js";
import { defaultToolTimeoutMs } from "./tool-timeout.js";

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
  const compiled = context.agent.tools.get(call.name);
  const recover = compiled?.tool.recover;
  if (compiled === undefined || typeof recover !== "object") return ask("its tool can no longer tell");
  const input = yield* wait(validateInput(compiled, record, context, cancellation));
  if (!input.ok) return ask(input.message);
  const steps = yield* wait(loadFinishedSteps(record, context));
  if (!(yield* canStart(context, cancellation))) return undefined;
  const asked = { input: input.value, steps };
  const settled = yield* wait(callReconcile(effect, recover.reconcile, asked, compiled, context, cancellation));
  if (settled.type !== "returned") return ask(settled.message);
  try {
    const { status, ...rest } = settled.value as Reconciled;
    if (status === "finished")
      return yield* toFinishedEvent(rest as ReconciledResult, input.value, effect, record, context);
    if (status === "not_started")
      return { type: "tool_decided", runId, callKey, decision: { verdict: "allow", policy: call.policy } };
    return ask(status === "unknown" ? "its tool does not know" : "its tool gave no answer");
  } catch (error) {
    return ask(formatError(error));
  }
}

type Reconcile = Extract<RecoverOption, object>["reconcile"];
type ReconciledResult = Pick<Extract<Reconciled, { status: "finished" }>, "output" | "isError">;

/** Calls the tool's `reconcile`, with the time limit of a call. An abort signals the tool, and waits for its reply. */
function callReconcile(
  { runId, callKey }: EffectOf<"reconcile">,
  reconcile: Reconcile,
  { input, steps }: { readonly input: unknown; readonly steps: readonly FinishedToolStep[] },
  { tool }: CompiledTool,
  context: EffectContext,
  cancellation: Cancellation,
): MaybePromise<SettledCall> {
  const { sessionId, agent, state } = context;
  const ownCancellation = createCancellation();
  const stopListening = onCancel(cancellation, () => abort(ownCancellation));
  const request = {
    input,
    callKey,
    idempotencyKey: createIdempotencyKey(callKey, context),
    signal: getSignal(ownCancellation),
    sessionId,
    runId,
    ...pickPrincipal(state),
    deps: resolveDeps(agent, sessionId, runId),
    params: getParams(context),
    steps,
  };
  const { timeoutMs = defaultToolTimeoutMs } = tool;
  const onGivenUp = () => abort(ownCancellation);
  const called = callInTime(() => reconcile(request), { timeoutMs, clock: agent.clock, onGivenUp });
  if (!(called instanceof Promise)) {
    stopListening();
    return called;
  }
  return called.finally(stopListening);
}

/** A reconciled result is processed like every result: by hooks, and then truncated for the model. */
function* toFinishedEvent(
  found: ReconciledResult,
  input: unknown,
  { runId, callKey }: EffectOf<"reconcile">,
  record: CallRecord,
  context: EffectContext,
): Coroutine<EventBody> {
  const reported = {
    outcome: found.isError === true ? "error" : "ok",
    output: toToolOutput(found.output),
    raw: { input, output: found.output },
  } as const;
  const { outcome, output, returned, records } = yield* createFinalOutcome<Reported>(reported, record, 0, context);
  const cut = yield* wait(capResult({ output, returned }, toolNameOf(record), context.sessionId, context.agent));
  return { type: "tool_finished", runId, callKey, outcome, ...cut, ...pickHookRecords(records) };
}

type Reported = ToolOutcome & { readonly raw: Raw; readonly returned?: ToolOutput };
