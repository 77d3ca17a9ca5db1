/**
 * The hooks around a tool call: `beforeToolCall` and `afterToolCall`.
 */

import type { Json, ToolOutput } from "../../core/data/message.js";
import type { HookRecord } from "../../core/machine/event.js";
import { type CallRecord, toolNameOf } from "../../core/transcript/results.js";
import type { ToolCallSubject, ToolResultSubject } from "../../ports/hook.js";
import type { AnyTool } from "../../ports/tool.js";
import type { Cancellation } from "../lib/cancellation.js";
import { type Awaitable, type Coroutine, wait } from "../lib/coroutine.js";
import { toToolOutput } from "../tools/to-json.js";
import type { EffectContext } from "../work/effect-context.js";
import { callHooks, type HookCall, refuseAnswer } from "./call-hooks.js";
import { pickOnlyMember, readReason, toCheckedJson } from "./check-return.js";

export type BeforeToolCall = {
  readonly records: readonly HookRecord[];
  /** The input, if a hook changed it. */
  readonly input?: Json;
  /** Why the call is not run. */
  readonly block?: string;
  readonly stopRun?: boolean;
};

/** The size of a log entry is limited, and the entry contains more than the input. */
export const maxInputBytes = 900_000;

export function callBeforeToolCall(
  record: CallRecord,
  tool: AnyTool,
  context: EffectContext,
  cancellation: Cancellation,
): Awaitable<BeforeToolCall> {
  if (context.agent.hooks.beforeToolCall.length === 0) return wait(noHooks);
  return runBeforeHooks(createBeforeToolCall(record, tool), context, cancellation);
}

function* runBeforeHooks(
  call: HookCall<Omit<BeforeToolCall, "records">>,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<BeforeToolCall> {
  const { value, records, failure } = yield* callHooks(call, context, cancellation);
  return failure === undefined ? { records, ...value } : { records, block: failure };
}

/** The result for an agent without such hooks. */
export const noHooks: BeforeToolCall = { records: [] };

function createBeforeToolCall(record: CallRecord, tool: AnyTool): HookCall<Omit<BeforeToolCall, "records">> {
  const { callKey, part, edited } = record;
  const name = toolNameOf(record);
  return {
    point: "beforeToolCall",
    initial: {},
    toSubject: ({ input = record.input }): ToolCallSubject => ({
      callKey,
      toolCallId: part.toolCallId,
      name,
      readOnly: tool.readOnly === true,
      input,
      isEdited: edited,
    }),
    accept(answer) {
      const member = pickOnlyMember(answer, ["input", "block", "stop"]);
      if (member?.key === "input")
        return { type: "changed", to: { input: toCheckedJson(member.value, maxInputBytes) } };
      const reason = readReason(member?.value);
      if (member === undefined || reason === undefined)
        return refuseAnswer(answer, "{ input }, { block: reason } or { stop: reason }");
      return { type: "settled", to: member.key === "stop" ? { block: reason, stopRun: true } : { block: reason } };
    },
  };
}

/**
 * The result of a tool, before the output is truncated for the model or moved to a blob. `interrupted`: the tool could not
 * finish, and its outcome is unknown.
 */
export type ToolOutcome = { readonly outcome: "ok" | "error" | "interrupted"; readonly output: ToolOutput };
type FinalToolOutcome = ToolOutcome & { readonly isFinalText?: boolean };
export type AfterToolCall<Outcome extends FinalToolOutcome> = Outcome & { readonly records: readonly HookRecord[] };

/** An abort does not skip these hooks: an output that they would hide stays hidden when a run ends. */
export function callAfterToolCall<Outcome extends FinalToolOutcome>(
  outcome: Outcome,
  record: CallRecord,
  durationMs: number,
  context: EffectContext,
): Awaitable<AfterToolCall<Outcome>> {
  if (context.agent.hooks.afterToolCall.length === 0) return wait({ records: noHooks.records, ...outcome });
  return callAfterToolResult(outcome, { ...callOf(record), durationMs, source: "tool" }, context);
}

/** The same for a result that does not come from a tool of this process. */
export function callAfterToolResult<Outcome extends FinalToolOutcome>(
  outcome: Outcome,
  call: FinishedCall,
  context: EffectContext,
): Awaitable<AfterToolCall<Outcome>> {
  return runAfterHooks(outcome, createAfterToolCall(outcome, call), context);
}

/** The members of a hook's subject other than the result. */
export type FinishedCall = Omit<ToolResultSubject, "output" | "isError">;

export function callOf(
  record: Pick<CallRecord, "callKey" | "part" | "tool" | "input">,
): Pick<FinishedCall, "callKey" | "toolCallId" | "name" | "input"> {
  const { callKey, part, input } = record;
  return { callKey, toolCallId: part.toolCallId, name: toolNameOf(record), input };
}

function* runAfterHooks<Outcome extends FinalToolOutcome>(
  outcome: Outcome,
  call: HookCall<ToolOutput>,
  context: EffectContext,
): Coroutine<AfterToolCall<Outcome>> {
  const { value: output, records, failure } = yield* callHooks(call, context);
  if (failure === undefined) return { records, ...outcome, output };
  const withheld = `Error: The output is withheld: ${failure}. The call was run.`;
  return { records, ...outcome, outcome: "error", isFinalText: false, output: { type: "text", text: withheld } };
}

function createAfterToolCall({ outcome, output }: ToolOutcome, call: FinishedCall): HookCall<ToolOutput> {
  return {
    point: "afterToolCall",
    initial: output,
    toSubject: (present): ToolResultSubject => ({ ...call, output: present, isError: outcome === "error" }),
    accept(answer) {
      const replaced = pickOnlyMember(answer, ["output"]);
      if (replaced === undefined) return refuseAnswer(answer, "{ output }");
      return { type: "changed", to: toToolOutput(replaced.value) };
    },
  };
}
