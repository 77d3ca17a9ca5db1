/**
 * Runs one tool call. Whatever the tool does, there is exactly one result.
 */

import type { ToolOutput } from "../../core/data/message.js";
import type { EventBody, HookRecord, Timing } from "../../core/machine/event.js";
import { callOf } from "../../core/machine/state.js";
import { refusalText } from "../../core/transcript/loop-prompts.js";
import { type CallRecord, textOfOutput, toolNameOf } from "../../core/transcript/results.js";
import type { AnyTool, ToolContext } from "../../ports/tool.js";
import { type ChildAgent, findChildAgent } from "../agent/agent-family.js";
import { listMissingRunTools } from "../agent/agent-with-run-tools.js";
import { pickHookRecords } from "../hooks/step-hooks.js";
import type { ToolOutcome } from "../hooks/tool-hooks.js";
import type { Cancellation } from "../lib/cancellation.js";
import { type Coroutine, wait } from "../lib/coroutine.js";
import { formatError, maxReasonCharacters, truncate } from "../lib/error-text.js";
import { hashInput } from "../lib/hash.js";
import { type Done, findDone } from "../tools/done.js";
import { StepError } from "../tools/step-error.js";
import { toToolOutput } from "../tools/to-json.js";
import { capResult } from "../work/cap-output.js";
import { dropChanges } from "../work/data-changes.js";
import type { EffectContext, EffectOf } from "../work/effect-context.js";
import { forgetValidatedInput, rawTextOf, type ValidatedInput, validateInput } from "../work/tool-input.js";
import { canStart } from "./can-start.js";
import { startChild } from "./children.js";
import { createIdempotencyKey } from "./idempotency-key.js";
import { createFinalOutcome, type Raw } from "./model-output.js";
import { resolveSentMessages } from "./permission-context.js";
import { doneOutput, errorOutput, inputNotApproved, missingTool, unknownTool } from "./prompts.js";
import { createToolFault, findNextAttempt, type NextAttempt } from "./retry-tool.js";
import { mismatchText } from "./step-host.js";
import { createToolContext, type ToolWork } from "./tool-context.js";
import { withTimeout } from "./tool-timeout.js";

export function* runTool(
  effect: EffectOf<"run_tool">,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<EventBody | undefined> {
  const record = context.transcript.calls.get(effect.callKey);
  if (record === undefined) return undefined;
  const child = findChildAgent(toolNameOf(record), context.agent.family);
  if (child !== undefined) return yield* delegateToChild(effect, record, child, context, cancellation);
  const { runId, callKey, attempt } = effect;
  const startedAt = context.now();
  const returned = yield* runToCompletion(effect, record, context, cancellation);
  if (returned === null) return createNotStartedEvent(effect, cancellation);
  // The call runs again, here or in another process.
  if (returned === "suspended") return undefined;
  const timing: Timing = { startedAt, durationMs: Math.max(0, context.now() - startedAt) };
  const final = yield* createFinalOutcome(returned, record, timing.durationMs, context);
  const retryPlan =
    returned.thrown === undefined ? undefined : planRetry(returned.thrown, effect, record, context, cancellation);
  const isPlain = retryPlan === undefined && returned.unawaited === undefined;
  const records = isPlain
    ? final.records
    : [...final.records, ...(retryPlan?.records ?? []), ...(returned.unawaited ?? []).map(createUnawaitedRecord)];
  if (retryPlan?.next !== undefined) {
    const fault = createToolFault(truncate(textOfOutput(final.output), maxReasonCharacters));
    return {
      type: "tool_failed",
      runId,
      callKey,
      attempt,
      fault,
      ...retryPlan.next,
      timing,
      ...pickHookRecords(records),
    };
  }
  const { outcome, output, returned: cappedReturned, done } = yield* capOutcome(final, record, context);
  if (outcome !== "ok" && context.memory.changes !== null && !shouldKeepData(record, context))
    dropChanges(context.memory, callKey);
  return {
    type: "tool_finished",
    runId,
    callKey,
    attempt,
    timing,
    outcome,
    output,
    ...(cappedReturned === undefined ? {} : { returned: cappedReturned }),
    ...(done === undefined ? {} : { done }),
    ...pickHookRecords(records),
  };
}

/** Whether a call's changes of the data are kept although the call ended in an error. */
function shouldKeepData(record: CallRecord, { agent }: EffectContext): boolean {
  return agent.tools.get(toolNameOf(record))?.tool.keepDataOnError === true;
}

/** Records a step that the tool did not wait for: the log cannot store its result. */
function createUnawaitedRecord(step: string): HookRecord {
  const message = "The tool ended without waiting for this step, so the step's result is not stored. Await the step.";
  return { name: `tool step ${step}`, hook: "afterToolCall", ms: 0, outcome: "refused", message };
}

/**
 * A tool that asks without being durable is its author's mistake, not the model's, so the author is notified by a `hook_failed` event and
 * in traces.
 */
function isMisuse(error: unknown): error is StepError {
  try {
    return error instanceof StepError && error.code === "not_durable";
  } catch {
    // A tool may throw an object whose properties cannot even be read.
    return false;
  }
}

function createMisuseRecord(tool: string, { message }: StepError): HookRecord {
  return { name: `tool ${tool}`, hook: "afterToolCall", ms: 0, outcome: "refused", message };
}

function planRetry(
  { error }: { readonly error: unknown },
  effect: EffectOf<"run_tool">,
  record: CallRecord,
  context: EffectContext,
  cancellation: Cancellation,
): { readonly next: NextAttempt | undefined; readonly records: readonly HookRecord[] } {
  const records: HookRecord[] = isMisuse(error) ? [createMisuseRecord(toolNameOf(record), error)] : [];
  const tool = context.agent.tools.get(toolNameOf(record))?.tool;
  return { next: findNextAttempt(error, tool, effect, context, cancellation, records), records };
}

/** The run is stopping, and the event says that this call did not start. If the session was lost, its next holder runs the call. */
function createNotStartedEvent(
  { runId, callKey, attempt }: EffectOf<"run_tool">,
  { isCancelled }: Cancellation,
): EventBody | undefined {
  if (!isCancelled) return undefined;
  const output = { type: "text", text: refusalText("aborted") } as const;
  return { type: "tool_finished", runId, callKey, attempt, outcome: "aborted", output };
}

/** Delegates the work to another agent, in a separate session. */
function* delegateToChild(
  effect: EffectOf<"run_tool">,
  record: CallRecord,
  child: ChildAgent,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<EventBody | undefined> {
  const { runId, callKey, attempt } = effect;
  const compiled = context.agent.tools.get(toolNameOf(record));
  if (compiled === undefined)
    return { type: "tool_finished", runId, callKey, attempt, ...failedOutcome(unknownTool(toolNameOf(record))) };
  const input = yield* wait(validateInput(compiled, record, context, cancellation));
  if (cancellation.isCancelled) return createNotStartedEvent(effect, cancellation);
  if (!input.ok) return { type: "tool_finished", runId, callKey, attempt, ...failedOutcome(input.message) };
  if (!(yield* canStart(context, cancellation))) return createNotStartedEvent(effect, cancellation);
  return yield* wait(startChild(effect, child, input.value, context));
}

type FinishedOutcome = ToolOutcome & {
  readonly done?: { readonly message?: string };
  /** The tool's return value, if the model reads something else. */
  readonly returned?: ToolOutput;
};

/** How a call ended, with the whole output. `isFinalText`: the run ends with this output as its text. */
type Outcome = FinishedOutcome & {
  readonly isFinalText?: boolean;
  /** The tool's return value, if its `toModelOutput` creates what the model reads. */
  readonly raw?: Raw;
  /** The value that the tool threw. */
  readonly thrown?: { readonly error: unknown };
  /** The tool steps, questions and waits whose results the tool did not wait for. */
  readonly unawaited?: readonly string[];
};

/** The output in the form in which the log stores it. */
function* capOutcome(
  { outcome, output, returned, done, isFinalText }: Outcome,
  record: CallRecord,
  { sessionId, agent }: EffectContext,
): Coroutine<FinishedOutcome> {
  try {
    const cut = yield* wait(capResult({ output, returned }, toolNameOf(record), sessionId, agent));
    if (done === undefined) return { outcome, ...cut };
    return { outcome, ...cut, done: isFinalText === true ? { message: textOfOutput(cut.output) } : {} };
  } catch (error) {
    return failedOutcome(formatError(error));
  }
}

/**
 * Four stages, each of which can end the call: admit it, see that it may still start, execute the tool, settle its steps. Null if the tool
 * must not start any more.
 */
function* runToCompletion(
  effect: EffectOf<"run_tool">,
  record: CallRecord,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<Outcome | "suspended" | null> {
  const admitted = yield* admitCall(effect, record, context, cancellation);
  if (admitted === null) return null;
  if ("outcome" in admitted) return admitted;
  const sent = context.transcript.sentList === null ? null : yield* resolveSentMessages(context);
  if (!(yield* canStart(context, cancellation))) return null;
  if (context.memory.changes !== null) dropChanges(context.memory, effect.callKey);
  const work: ToolWork = { steps: null, data: null, sent, fail: null, askedMs: 0, asking: null };
  const outcome = yield* executeTool(admitted.tool, effect, record, admitted.input, context, cancellation, work);
  return yield* settleSteps(outcome, record, cancellation, work);
}

type AdmittedCall = { readonly tool: AnyTool; readonly input: Extract<ValidatedInput, { ok: true }> };

/** Finds the tool, and checks that its input is the approved one and valid. Null if the run stops meanwhile. */
function* admitCall(
  effect: EffectOf<"run_tool">,
  record: CallRecord,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<AdmittedCall | FinishedOutcome | null> {
  const compiled = context.agent.tools.get(toolNameOf(record));
  if (compiled === undefined) return failedOutcome(formatMissingTool(toolNameOf(record), context));
  if (!isApprovedInput(record, context)) return failedOutcome(inputNotApproved);
  const input = yield* wait(validateInput(compiled, record, context, cancellation));
  forgetValidatedInput(context, effect.callKey);
  if (cancellation.isCancelled) return null;
  return input.ok ? { tool: compiled.tool, input } : failedOutcome(input.message);
}

/** The outcome of the tool's code counts only if its steps do not say otherwise. */
function* settleSteps(
  outcome: Outcome,
  record: CallRecord,
  cancellation: Cancellation,
  { steps }: ToolWork,
): Coroutine<Outcome | "suspended"> {
  if (steps === null) {
    // A tool that begins no step has not requested the recorded ones.
    const [unrequested] = cancellation.isCancelled ? [] : (record.steps?.done ?? []);
    return unrequested === undefined ? outcome : failedOutcome(mismatchText(unrequested.step, "nothing more"));
  }
  // The tool's time may run out while its questions are being committed. The questions then count, and this end is not reported.
  const asking = steps.asking();
  if (asking !== null) yield* wait(asking);
  const unawaited = cancellation.isCancelled ? [] : steps.listPending();
  const ending = steps.end();
  if (ending === undefined) return unawaited.length === 0 ? outcome : { ...outcome, unawaited };
  if (ending.type === "suspended") return "suspended";
  return ending.type === "error"
    ? failedOutcome(ending.message)
    : { outcome: "interrupted", output: errorOutput(ending.message) };
}

function formatMissingTool(name: string, { agent, transcript }: EffectContext): string {
  return listMissingRunTools(agent, transcript.run).includes(name) ? missingTool(name) : unknownTool(name);
}

function* executeTool(
  tool: AnyTool,
  effect: EffectOf<"run_tool">,
  record: CallRecord,
  input: Extract<ValidatedInput, { ok: true }>,
  context: EffectContext,
  cancellation: Cancellation,
  work: ToolWork,
): Coroutine<Outcome> {
  try {
    const idempotencyKey = createIdempotencyKey(effect.callKey, context);
    const call = { tool, effect, record, idempotencyKey, context, cancellation };
    const run = (signal: () => AbortSignal) =>
      runInPlace(tool, record, input, createToolContext({ ...call, signal }, work), context);
    const value = yield* wait(withTimeout(tool, effect.callKey, context, cancellation, run, work));
    const done = findDone(value);
    if (done !== undefined) return toDoneOutcome(done);
    const outcome: Outcome = { outcome: "ok", output: toToolOutput(value) };
    return tool.toModelOutput === undefined ? outcome : { ...outcome, raw: { input: input.value, output: value } };
  } catch (error) {
    const done = findDone(error);
    return done === undefined ? { ...failedOutcome(formatError(error)), thrown: { error } } : toDoneOutcome(done);
  }
}

/** Only the approved input runs: the hash in the log is checked once more at the last moment (SEC-6). */
function isApprovedInput({ callKey, input }: CallRecord, { state }: EffectContext): boolean {
  const call = callOf(state, callKey);
  return call?.inputHash === undefined || call.inputHash === hashInput(input);
}

/** Runs a call through the agent's `runTool`, if it has one. Tools that Pawl adds read their own session, wherever calls run. */
function runInPlace(
  tool: AnyTool,
  record: CallRecord,
  validated: Extract<ValidatedInput, { ok: true }>,
  toolContext: ToolContext,
  { agent: { name, tools, runTool } }: EffectContext,
): unknown {
  const own = () => callExecute(tool, record, validated, toolContext);
  if (runTool === undefined || tools.get(tool.name)?.isBuiltIn === true) return own();
  return runTool({ agent: name, tool, input: validated.value, context: toolContext }, own);
}

function callExecute(
  tool: AnyTool,
  record: CallRecord,
  validated: Extract<ValidatedInput, { ok: true }>,
  toolContext: ToolContext,
): unknown {
  const { invalid, input } = record.part;
  if (invalid !== undefined && !record.changed && tool.executeRaw !== undefined)
    return tool.executeRaw(rawTextOf(input) ?? "", toolContext);
  if (tool.execute !== undefined) return tool.execute(validated.value, toolContext);
  return tool.executeRaw?.(JSON.stringify(record.input), toolContext);
}

function failedOutcome(message: string): FinishedOutcome {
  return { outcome: "error", output: errorOutput(message) };
}

function toDoneOutcome({ message }: Done): Outcome {
  if (message === undefined) return { outcome: "ok", output: doneOutput, done: {} };
  return { outcome: "ok", output: { type: "text", text: message }, done: {}, isFinalText: true };
}
