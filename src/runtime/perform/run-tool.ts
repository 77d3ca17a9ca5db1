/**
 * Runs one tool call. Whatever the tool does, exactly one result comes of it.
 */

import { assertStorable } from "../../context/tool-output.js";
import type { EventBody, Timing } from "../../core/event.js";
import type { ToolOutput } from "../../core/message.js";
import { type CallRecord, textOfOutput } from "../../core/results.js";
import { hasCalls } from "../../core/state.js";
import type { AnyTool, ToolContext } from "../../ports/tool.js";
import type { Cancellation } from "../cancellation.js";
import { startChild } from "../children.js";
import { type Done, doneIn } from "../done.js";
import { textOfError } from "../error-text.js";
import { type ChildAgent, childOf } from "../family.js";
import { hashInput } from "../hash.js";
import { type FoundInput, inputAsFound, rawTextOf } from "../input.js";
import { toToolOutput } from "../normalise.js";
import { depsOf } from "../run-locals.js";
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
  const finished = await outcomeOf(effect, record, work, cancellation);
  const timing: Timing = { startedAt, durationMs: Math.max(0, work.now() - startedAt) };
  work.memory.validated.delete(effect.callKey);
  const { callKey, runId } = effect;
  return { type: "tool_finished", runId, callKey, attempt: effect.attempt, timing, ...finished };
}

type Finished = {
  readonly outcome: "ok" | "error";
  readonly output: ToolOutput;
  readonly done?: { readonly message?: string };
};

async function outcomeOf(
  effect: EffectOf<"run_tool">,
  record: CallRecord,
  work: Work,
  cancellation: Cancellation,
): Promise<Finished> {
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
    if (signalled !== undefined) return await doneResult(signalled, compiled.tool, work);
    return { outcome: "ok", output: await capped(toToolOutput(value), compiled.tool, work) };
  } catch (error) {
    const signalled = doneIn(error);
    return signalled === undefined ? failed(textOfError(error)) : await doneResult(signalled, compiled.tool, work);
  }
}

/** What was approved is what runs: the log is looked at once more, at the last moment (SEC-6). */
function isAsApproved({ callKey, input }: CallRecord, { state }: Work): boolean {
  const call = hasCalls(state) ? state.calls.find((one) => one.callKey === callKey) : undefined;
  return call?.inputHash === undefined || call.inputHash === hashInput(input);
}

async function capped(output: ToolOutput, { maxOutputBytes: maxBytes }: AnyTool, work: Work): Promise<ToolOutput> {
  const { sessionId, parts } = work;
  const service = parts.services.output;
  const cut =
    service === null
      ? output
      : await service.cap(output, { sessionId, ...(maxBytes === undefined ? {} : { maxBytes }) });
  return assertStorable(cut);
}

function execute(
  tool: AnyTool,
  record: CallRecord,
  input: Extract<FoundInput, { ok: true }>,
  context: ToolContext,
): unknown {
  const { invalid, input: asked } = record.part;
  if (invalid !== undefined && !record.edited && tool.executeRaw !== undefined)
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
    own ??= followed(cancellation.signal);
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

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

function failed(message: string): Finished {
  return { outcome: "error", output: { type: "text", text: `Error: ${message}` } };
}

async function doneResult({ message }: Done, tool: AnyTool, work: Work): Promise<Finished> {
  if (message === undefined) return { outcome: "ok", output: { type: "text", text: "Done." }, done: {} };
  const output = await capped({ type: "text", text: String(message) }, tool, work);
  return { outcome: "ok", output, done: { message: textOfOutput(output) } };
}
