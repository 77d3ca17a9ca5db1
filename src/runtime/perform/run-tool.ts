/**
 * Runs one tool call. Whatever the tool does, exactly one result comes of it.
 */
import type { EventBody, Timing } from "../../core/event.js";
import { type CallRecord, textOfOutput } from "../../core/results.js";
import { hasCalls } from "../../core/state.js";
import type { AnyTool, ToolContext } from "../../ports/tool.js";
import type { Cancellation } from "../cancellation.js";
import { startChild } from "../children.js";
import { type Done, doneIn } from "../done.js";
import { textOfError } from "../error-text.js";
import { type ChildAgent, childOf } from "../family.js";
import { hashInput } from "../hash.js";
import { riding } from "../hooks/around-step.js";
import { askAfterCall, type Given } from "../hooks/tool-call.js";
import { type FoundInput, inputAsFound, rawTextOf } from "../input.js";
import { keepOutput } from "../keep-output.js";
import { toToolOutput } from "../normalise.js";
import { depsOf } from "../run-locals.js";
import { isThenable } from "../thenable.js";
import type { EffectOf, Perform, Work } from "../work.js";

const defaultTimeoutMs = 600_000;

export const runTool: Perform<EffectOf<"run_tool">> = (effect, work, cancellation) => {
  const record = work.transcript.calls.get(effect.callKey);
  if (record === undefined) return undefined;
  const child = childOf(record.part.name, work.parts.family);
  return child === undefined ? attempt(effect, record, work, cancellation) : ask(effect, record, child, work);
};

/** Another agent does the work, in a session of its own. */
async function ask(
  effect: EffectOf<"run_tool">,
  record: CallRecord,
  child: ChildAgent,
  work: Work,
): Promise<EventBody> {
  const compiled = work.parts.tools.get(record.part.name);
  const input = compiled === undefined ? unknownTool(record) : await inputAsFound(compiled, record, work);
  if (input.ok) return startChild(effect, child, input.value, work);
  const { runId, callKey } = effect;
  return { type: "tool_finished", runId, callKey, attempt: effect.attempt, ...failed(input.message) };
}

function unknownTool(record: CallRecord): FoundInput {
  return { ok: false, message: `Unknown tool '${record.part.name}'` };
}

async function attempt(
  effect: EffectOf<"run_tool">,
  record: CallRecord,
  work: Work,
  cancellation: Cancellation,
): Promise<EventBody> {
  const startedAt = work.now();
  const given = await outcomeOf(effect, record, work, cancellation);
  const timing: Timing = { startedAt, durationMs: Math.max(0, work.now() - startedAt) };
  work.memory.validated.delete(effect.callKey);
  const after = await askAfterCall(given, record, timing.durationMs, work);
  const { callKey, runId } = effect;
  const finished = await kept(after, record, work);
  return {
    type: "tool_finished",
    runId,
    callKey,
    attempt: effect.attempt,
    timing,
    ...finished,
    ...riding(after.records),
  };
}

type Finished = Given & { readonly done?: { readonly message?: string } };

/** What came of a call, whole. `isSaid`: the output is what the run is to end with. */
type Outcome = Finished & { readonly isSaid?: boolean };

async function kept(
  { outcome, output, done, isSaid }: Outcome,
  { part }: CallRecord,
  { sessionId, parts }: Work,
): Promise<Finished> {
  try {
    const cut = await keepOutput(output, part.name, sessionId, parts);
    if (done === undefined) return { outcome, output: cut };
    return { outcome, output: cut, done: isSaid === true ? { message: textOfOutput(cut) } : {} };
  } catch (error) {
    return failed(textOfError(error));
  }
}

async function outcomeOf(
  effect: EffectOf<"run_tool">,
  record: CallRecord,
  work: Work,
  cancellation: Cancellation,
): Promise<Outcome> {
  const compiled = work.parts.tools.get(record.part.name);
  if (compiled === undefined) return failed(`Unknown tool '${record.part.name}'`);
  if (!isAsApproved(record, work)) return failed("The input is not the one that was approved. The call was not run.");
  const input = await inputAsFound(compiled, record, work);
  if (!input.ok) return failed(input.message);
  try {
    const value = await withTimeout(compiled.tool, work, cancellation, (signal) =>
      execute(compiled.tool, record, input, contextOf(effect, record, work, signal)),
    );
    const signalled = doneIn(value);
    return signalled === undefined ? { outcome: "ok", output: toToolOutput(value) } : doneResult(signalled);
  } catch (error) {
    const signalled = doneIn(error);
    return signalled === undefined ? failed(textOfError(error)) : doneResult(signalled);
  }
}

/** What was approved is what runs: the log is looked at once more, at the last moment (SEC-6). */
function isAsApproved({ callKey, input }: CallRecord, { state }: Work): boolean {
  const call = hasCalls(state) ? state.calls.find((one) => one.callKey === callKey) : undefined;
  return call?.inputHash === undefined || call.inputHash === hashInput(input);
}

function execute(
  tool: AnyTool,
  record: CallRecord,
  input: Extract<FoundInput, { ok: true }>,
  context: ToolContext,
): unknown {
  const { invalid, input: asked } = record.part;
  if (invalid !== undefined && !record.changed && tool.executeRaw !== undefined)
    return tool.executeRaw(rawTextOf(asked) ?? "", context);
  if (tool.execute !== undefined) return tool.execute(input.value, context);
  return tool.executeRaw?.(JSON.stringify(record.input), context);
}

function contextOf(
  effect: EffectOf<"run_tool">,
  record: CallRecord,
  work: Work,
  signal: () => AbortSignal,
): ToolContext {
  return {
    get signal() {
      return signal();
    },
    toolCallId: record.part.toolCallId,
    idempotencyKey: effect.callKey,
    attempt: effect.attempt,
    sessionId: work.sessionId,
    runId: effect.runId,
    deps: depsOf(work.parts, effect.runId),
    services: work.parts.services,
    progress: (note) => work.publishProgress(effect.callKey, note),
  };
}

/** Ends the wait, not the tool, when its time is up; a tool that looks at its signal ends too. */
async function withTimeout(
  tool: AnyTool,
  work: Work,
  cancellation: Cancellation,
  run: (signal: () => AbortSignal) => unknown,
): Promise<unknown> {
  const timeoutMs = tool.timeoutMs ?? defaultTimeoutMs;
  let own: AbortController | undefined;
  let isOver = false;
  const signal = () => {
    own ??= followed(cancellation.signal());
    if (isOver) own.abort(new Error("timeout"));
    return own.signal;
  };
  const value = run(signal);
  if (!(value instanceof Promise) && !isThenable(value)) return value;
  let cancel = () => {};
  const expired = new Promise<never>((_, reject) => {
    cancel = work.parts.clock.after(timeoutMs, () => {
      isOver = true;
      own?.abort(new Error("timeout"));
      reject(new Error(`Timed out after ${timeoutMs} ms. It may still be running; its outcome is unknown.`));
    });
  });
  // What is cancelled has its grace instead, and a timer would keep the process.
  cancellation.onCancel(() => cancel());
  try {
    return await Promise.race([value, expired]);
  } finally {
    cancel();
  }
}

function followed(signal: AbortSignal): AbortController {
  const controller = new AbortController();
  if (signal.aborted) controller.abort(signal.reason);
  else signal.addEventListener("abort", () => controller.abort(signal.reason), { once: true });
  return controller;
}

function failed(message: string): Finished {
  return { outcome: "error", output: { type: "text", text: `Error: ${message}` } };
}

function doneResult({ message }: Done): Outcome {
  if (message === undefined) return { outcome: "ok", output: { type: "text", text: "Done." }, done: {} };
  return { outcome: "ok", output: { type: "text", text: String(message) }, done: {}, isSaid: true };
}
