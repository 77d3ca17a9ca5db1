/**
 * Runs one tool call. Whatever the tool does, exactly one result comes of it.
 */

import type { ToolOutput } from "../../core/data/message.js";
import type { EventBody, HookRecord, Timing } from "../../core/machine/event.js";
import { callOf } from "../../core/machine/state.js";
import { refusalText } from "../../core/transcript/loop-prompts.js";
import { type CallRecord, textOfOutput, toolOf } from "../../core/transcript/results.js";
import type { AnyTool, ToolContext } from "../../ports/tool.js";
import { type ChildAgent, childAgentOf } from "../agent/agent-family.js";
import { missingRunTools } from "../agent/parts-of-run.js";
import { hookRecords } from "../hooks/step-hooks.js";
import type { ToolOutcome } from "../hooks/tool-hooks.js";
import type { Cancellation } from "../lib/cancellation.js";
import { type Coroutine, wait } from "../lib/coroutine.js";
import { mostReasonCharacters, textOfError, truncate } from "../lib/error-text.js";
import { never } from "../lib/event-loop.js";
import { hashInput } from "../lib/hash.js";
import { type Done, doneIn } from "../tools/done.js";
import { StepError } from "../tools/step-error.js";
import { toToolOutput } from "../tools/to-json.js";
import { capResult } from "../work/cap-output.js";
import { dropChanges } from "../work/data-changes.js";
import type { EffectContext, EffectOf } from "../work/effect-context.js";
import { forgetInput, rawTextOf, type ValidatedInput, validatedInput } from "../work/tool-input.js";
import { startChild } from "./children.js";
import { mayStart } from "./may-start.js";
import { finalOutcome, type Raw } from "./model-output.js";
import { sentMessages } from "./permission-context.js";
import { doneOutput, errorOutput, inputNotApproved, missingTool, unknownTool } from "./prompts.js";
import { mismatchText } from "./step-host.js";
import { type ToolWork, toolContextOf } from "./tool-context.js";
import { withTimeout } from "./tool-timeout.js";
import { faultOf, type NextTry, nextTry } from "./try-again.js";

export function* runTool(
  effect: EffectOf<"run_tool">,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<EventBody | undefined> {
  const record = context.transcript.calls.get(effect.callKey);
  if (record === undefined) return undefined;
  const child = childAgentOf(toolOf(record), context.parts.family);
  if (child !== undefined) return yield* askChild(effect, record, child, context, cancellation);
  const { runId, callKey, attempt } = effect;
  const startedAt = context.now();
  const returned = yield* outcomeOf(effect, record, context, cancellation);
  if (returned === null) return notStarted(effect, cancellation);
  const timing: Timing = { startedAt, durationMs: Math.max(0, context.now() - startedAt) };
  const final = yield* finalOutcome(returned, record, timing.durationMs, context);
  const again =
    returned.thrown === undefined ? undefined : triedAgain(returned.thrown, effect, record, context, cancellation);
  const isPlain = again === undefined && returned.left === undefined;
  const records = isPlain
    ? final.records
    : [...final.records, ...(again?.records ?? []), ...(returned.left ?? []).map(leftBehind)];
  if (again?.next !== undefined) {
    const fault = faultOf(truncate(textOfOutput(final.output), mostReasonCharacters));
    return { type: "tool_failed", runId, callKey, attempt, fault, ...again.next, timing, ...hookRecords(records) };
  }
  const { outcome, output, returned: kept, done } = yield* capped(final, record, context);
  if (outcome !== "ok" && context.memory.changes !== null && !keepsData(record, context))
    dropChanges(context.memory, callKey);
  return {
    type: "tool_finished",
    runId,
    callKey,
    attempt,
    timing,
    outcome,
    output,
    ...(kept === undefined ? {} : { returned: kept }),
    ...(done === undefined ? {} : { done }),
    ...hookRecords(records),
  };
}

/** Whether what a call changed holds although the call ended in an error. */
function keepsData(record: CallRecord, { parts }: EffectContext): boolean {
  return parts.tools.get(toolOf(record))?.tool.keepDataOnError === true;
}

/** The tool has ended without this step, so the log cannot keep what it gives. */
function leftBehind(step: string): HookRecord {
  const message = "The tool ended without waiting for this step, so what it gives is not kept. Await it.";
  return { name: `tool step ${step}`, hook: "afterToolCall", ms: 0, outcome: "refused", message };
}

/** The model cannot help it that a tool asks without being durable: its author is told, by a `hook_failed` event and in traces. */
function isMisuse(error: unknown): error is StepError {
  try {
    return error instanceof StepError && error.code === "not_durable";
  } catch {
    // A tool may throw an object that cannot even be looked at.
    return false;
  }
}

function misused(tool: string, { message }: StepError): HookRecord {
  return { name: `tool ${tool}`, hook: "afterToolCall", ms: 0, outcome: "refused", message };
}

function triedAgain(
  { error }: { readonly error: unknown },
  effect: EffectOf<"run_tool">,
  record: CallRecord,
  context: EffectContext,
  cancellation: Cancellation,
): { readonly next: NextTry | undefined; readonly records: readonly HookRecord[] } {
  const records: HookRecord[] = isMisuse(error) ? [misused(toolOf(record), error)] : [];
  const tool = context.parts.tools.get(toolOf(record))?.tool;
  return { next: nextTry(error, tool, effect, context, cancellation, records), records };
}

/** The run stops, and says that this call did not start. If the session is lost, its next holder runs the call. */
function notStarted(
  { runId, callKey, attempt }: EffectOf<"run_tool">,
  { isCancelled }: Cancellation,
): EventBody | undefined {
  if (!isCancelled) return undefined;
  const output = { type: "text", text: refusalText("aborted") } as const;
  return { type: "tool_finished", runId, callKey, attempt, outcome: "aborted", output };
}

/** Another agent does the work, in a session of its own. */
function* askChild(
  effect: EffectOf<"run_tool">,
  record: CallRecord,
  child: ChildAgent,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<EventBody | undefined> {
  const { runId, callKey, attempt } = effect;
  const compiled = context.parts.tools.get(toolOf(record));
  if (compiled === undefined)
    return { type: "tool_finished", runId, callKey, attempt, ...failed(unknownTool(toolOf(record))) };
  const input = yield* wait(validatedInput(compiled, record, context, cancellation));
  if (cancellation.isCancelled) return notStarted(effect, cancellation);
  if (!input.ok) return { type: "tool_finished", runId, callKey, attempt, ...failed(input.message) };
  if (!(yield* mayStart(context, cancellation))) return notStarted(effect, cancellation);
  return yield* wait(startChild(effect, child, input.value, context));
}

type Finished = ToolOutcome & {
  readonly done?: { readonly message?: string };
  /** What the tool returned, if the model reads something else. */
  readonly returned?: ToolOutput;
};

/** How a call ended, with the whole output. `isFinalText`: the run is to end with this output as its text. */
type Outcome = Finished & {
  readonly isFinalText?: boolean;
  /** What the tool returned, if its `toModelOutput` makes what the model reads of it. */
  readonly raw?: Raw;
  /** What the tool threw. */
  readonly thrown?: { readonly error: unknown };
  /** The tool steps that had begun and were not over. */
  readonly left?: readonly string[];
};

/** The output as the log keeps it. */
function* capped(
  { outcome, output, returned, done, isFinalText }: Outcome,
  record: CallRecord,
  { sessionId, parts }: EffectContext,
): Coroutine<Finished> {
  try {
    const cut = yield* wait(capResult({ output, returned }, toolOf(record), sessionId, parts));
    if (done === undefined) return { outcome, ...cut };
    return { outcome, ...cut, done: isFinalText === true ? { message: textOfOutput(cut.output) } : {} };
  } catch (error) {
    return failed(textOfError(error));
  }
}

/** Null if the tool may not start any more. */
function* outcomeOf(
  effect: EffectOf<"run_tool">,
  record: CallRecord,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<Outcome | null> {
  const compiled = context.parts.tools.get(toolOf(record));
  if (compiled === undefined) return failed(withoutTool(toolOf(record), context));
  if (!isAsApproved(record, context)) return failed(inputNotApproved);
  const { tool } = compiled;
  const input = yield* wait(validatedInput(compiled, record, context, cancellation));
  forgetInput(context, effect.callKey);
  if (cancellation.isCancelled) return null;
  if (!input.ok) return failed(input.message);
  const sent = context.transcript.sentList === null ? null : yield* sentMessages(context);
  if (!(yield* mayStart(context, cancellation))) return null;
  if (context.memory.changes !== null) dropChanges(context.memory, effect.callKey);
  const work: ToolWork = { steps: null, data: null, sent, fail: null, askedMs: 0, asking: null };
  const outcome = yield* ranTool(tool, effect, record, input, context, cancellation, work);
  // Its time may be up while its questions are being committed. Then they count, and nobody is told of this end.
  const asking = work.steps?.asking() ?? null;
  if (asking !== null) yield* wait(asking);
  // A tool that begins no step any more has not taken those that are recorded.
  const [untaken] = work.steps === null && !cancellation.isCancelled ? (record.steps?.done ?? []) : [];
  if (untaken !== undefined) return failed(mismatchText(untaken.step, "nothing more"));
  const left = work.steps === null || cancellation.isCancelled ? [] : work.steps.underWay();
  const ending = work.steps?.end();
  if (ending === undefined) return left.length === 0 ? outcome : { ...outcome, left };
  // The tool was let go: it runs again, here or in another process.
  if (ending.type === "let_go") return yield* wait(never());
  return ending.type === "error"
    ? failed(ending.message)
    : { outcome: "interrupted", output: errorOutput(ending.message) };
}

function withoutTool(name: string, { parts, transcript }: EffectContext): string {
  return missingRunTools(parts, transcript.run).includes(name) ? missingTool(name) : unknownTool(name);
}

function* ranTool(
  tool: AnyTool,
  effect: EffectOf<"run_tool">,
  record: CallRecord,
  input: Extract<ValidatedInput, { ok: true }>,
  context: EffectContext,
  cancellation: Cancellation,
  work: ToolWork,
): Coroutine<Outcome> {
  try {
    const run = (signal: () => AbortSignal) =>
      execute(tool, record, input, toolContextOf({ tool, effect, record, context, cancellation, signal }, work));
    const value = yield* wait(withTimeout(tool, effect.callKey, context, cancellation, run, work));
    const done = doneIn(value);
    if (done !== undefined) return doneOutcome(done);
    const outcome: Outcome = { outcome: "ok", output: toToolOutput(value) };
    return tool.toModelOutput === undefined ? outcome : { ...outcome, raw: { input: input.value, output: value } };
  } catch (error) {
    const done = doneIn(error);
    return done === undefined ? { ...failed(textOfError(error)), thrown: { error } } : doneOutcome(done);
  }
}

/** What was approved is what runs: the log is checked once more, at the last moment (SEC-6). */
function isAsApproved({ callKey, input }: CallRecord, { state }: EffectContext): boolean {
  const call = callOf(state, callKey);
  return call?.inputHash === undefined || call.inputHash === hashInput(input);
}

function execute(
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

function failed(message: string): Finished {
  return { outcome: "error", output: errorOutput(message) };
}

function doneOutcome({ message }: Done): Outcome {
  if (message === undefined) return { outcome: "ok", output: doneOutput, done: {} };
  return { outcome: "ok", output: { type: "text", text: message }, done: {}, isFinalText: true };
}
