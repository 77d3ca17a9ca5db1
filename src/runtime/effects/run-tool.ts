/**
 * Runs one tool call. Whatever the tool does, exactly one result comes of it.
 */

import type { ToolOutput } from "../../core/data/message.js";
import type { EventBody, HookRecord, Timing } from "../../core/machine/event.js";
import { hasCalls } from "../../core/machine/state.js";
import { type CallRecord, textOfOutput } from "../../core/transcript/results.js";
import type { AnyTool, ToolContext } from "../../ports/tool.js";
import { type ChildAgent, childAgentOf } from "../agent/agent-family.js";
import { depsOf } from "../agent/local-run-options.js";
import { hookRecords } from "../hooks/step-hooks.js";
import { callAfterToolCall, type ToolOutcome } from "../hooks/tool-hooks.js";
import { type Cancellation, onCancel, signalOf } from "../lib/cancellation.js";
import { textOfError } from "../lib/error-text.js";
import { hashInput } from "../lib/hash.js";
import { andThen, attempted, isThenable } from "../lib/maybe-promise.js";
import { publishProgress } from "../subscribers/broadcast.js";
import { type Done, doneIn } from "../tools/done.js";
import { toToolOutput } from "../tools/to-json.js";
import { capOutput } from "../work/cap-output.js";
import { type EffectContext, type EffectOf, forgetSpares, type Perform } from "../work/effect-context.js";
import { forgetInput, rawTextOf, type ValidatedInput, validatedInput } from "../work/tool-input.js";
import { startChild } from "./children.js";

const defaultTimeoutMs = 600_000;

export const runTool: Perform<EffectOf<"run_tool">> = (effect, work, cancellation) => {
  const record = work.transcript.calls.get(effect.callKey);
  if (record === undefined) return undefined;
  const child = childAgentOf(record.part.name, work.parts.family);
  return child === undefined ? attempt(effect, record, work, cancellation) : askChild(effect, record, child, work);
};

/** Another agent does the work, in a session of its own. */
async function askChild(
  effect: EffectOf<"run_tool">,
  record: CallRecord,
  child: ChildAgent,
  work: EffectContext,
): Promise<EventBody> {
  const compiled = work.parts.tools.get(record.part.name);
  const input = compiled === undefined ? unknownTool(record) : await validatedInput(compiled, record, work);
  if (input.ok) return startChild(effect, child, input.value, work);
  const { runId, callKey } = effect;
  return { type: "tool_finished", runId, callKey, attempt: effect.attempt, ...failed(input.message) };
}

function unknownTool(record: CallRecord): ValidatedInput {
  return { ok: false, message: `Unknown tool '${record.part.name}'` };
}

/** A promise is made only where something takes time: most of what a call goes through answers at once. */
function attempt(
  effect: EffectOf<"run_tool">,
  record: CallRecord,
  work: EffectContext,
  cancellation: Cancellation,
): EventBody | Promise<EventBody> {
  const startedAt = work.now();
  return andThen(outcomeOf(effect, record, work, cancellation), (given) => {
    const timing: Timing = { startedAt, durationMs: Math.max(0, work.now() - startedAt) };
    return andThen(callAfterToolCall(given, record, timing.durationMs, work), (after) =>
      andThen(kept(after, record, work), (finished) => finishedEvent(effect, timing, finished, after.records)),
    );
  });
}

function finishedEvent(
  { runId, callKey, attempt }: EffectOf<"run_tool">,
  timing: Timing,
  { outcome, output, done }: Finished,
  records: readonly HookRecord[],
): EventBody {
  const signalled = done === undefined ? {} : { done };
  return {
    type: "tool_finished",
    runId,
    callKey,
    attempt,
    timing,
    outcome,
    output,
    ...signalled,
    ...hookRecords(records),
  };
}

type Finished = ToolOutcome & { readonly done?: { readonly message?: string } };

/** What came of a call, whole. `isSaid`: the output is what the run is to end with. */
type Outcome = Finished & { readonly isSaid?: boolean };

function kept(
  { outcome, output, done, isSaid }: Outcome,
  { part }: CallRecord,
  { sessionId, parts }: EffectContext,
): Finished | Promise<Finished> {
  const finished = (cut: ToolOutput): Finished =>
    done === undefined
      ? { outcome, output: cut }
      : { outcome, output: cut, done: isSaid === true ? { message: textOfOutput(cut) } : {} };
  return attempted(
    () => capOutput(output, part.name, sessionId, parts),
    finished,
    (error) => failed(textOfError(error)),
  );
}

function outcomeOf(
  effect: EffectOf<"run_tool">,
  record: CallRecord,
  work: EffectContext,
  cancellation: Cancellation,
): Outcome | Promise<Outcome> {
  const compiled = work.parts.tools.get(record.part.name);
  if (compiled === undefined) return failed(`Unknown tool '${record.part.name}'`);
  if (!isAsApproved(record, work)) return failed("The input is not the one that was approved. The call was not run.");
  return andThen(validatedInput(compiled, record, work), (input) => {
    forgetInput(work, effect.callKey);
    return input.ok
      ? attempted(
          () =>
            withTimeout(compiled.tool, work, cancellation, (signal) =>
              execute(compiled.tool, record, input, contextOf(effect, record, work, signal)),
            ),
          returned,
          threw,
        )
      : failed(input.message);
  });
}

function returned(value: unknown): Outcome {
  const signalled = doneIn(value);
  return signalled === undefined ? { outcome: "ok", output: toToolOutput(value) } : doneResult(signalled);
}

function threw(error: unknown): Outcome {
  const signalled = doneIn(error);
  return signalled === undefined ? failed(textOfError(error)) : doneResult(signalled);
}

/** What was approved is what runs: the log is looked at once more, at the last moment (SEC-6). */
function isAsApproved({ callKey, input }: CallRecord, { state }: EffectContext): boolean {
  const call = hasCalls(state) ? state.calls.find((one) => one.callKey === callKey) : undefined;
  return call?.inputHash === undefined || call.inputHash === hashInput(input);
}

function execute(
  tool: AnyTool,
  record: CallRecord,
  input: Extract<ValidatedInput, { ok: true }>,
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
  work: EffectContext,
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
    progress: (note) => publishProgress(work.hearers, effect.callKey, note),
  };
}

/** Ends the wait, not the tool, when its time is up; a tool that looks at its signal ends too. */
function withTimeout(
  tool: AnyTool,
  work: EffectContext,
  cancellation: Cancellation,
  run: (signal: () => AbortSignal) => unknown,
): unknown {
  const timeoutMs = tool.timeoutMs ?? defaultTimeoutMs;
  let own: AbortController | undefined;
  let isOver = false;
  const signal = () => {
    own ??= followed(signalOf(cancellation));
    if (isOver) own.abort(new Error("timeout"));
    return own.signal;
  };
  const value = run(signal);
  if (!(value instanceof Promise) && !isThenable(value)) return value;
  forgetSpares(work.memory);
  return new Promise((resolve, reject) => {
    const stop = work.parts.clock.after(timeoutMs, () => {
      isOver = true;
      own?.abort(new Error("timeout"));
      reject(new Error(`Timed out after ${timeoutMs} ms. It may still be running; its outcome is unknown.`));
    });
    // What is cancelled has its grace instead, and a timer would keep the process.
    onCancel(cancellation, stop);
    const settled = Promise.resolve(value);
    settled.then(stop, stop);
    settled.then(resolve, reject);
  });
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
