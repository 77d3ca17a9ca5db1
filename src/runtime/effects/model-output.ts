/**
 * Creates the output for the model if the tool has `toModelOutput`. The tool's own return value is stored with it, for people, hooks and
 * the log.
 *
 * 1. `afterToolCall` hooks first see the tool's return value, and `toModelOutput` gets the value that they return. The hooks then also see
 *    the output of `toModelOutput`. So a hook that masks secrets sees everything, and need not know about `toModelOutput`.
 * 2. Both outputs are in the event that ends the call, so a crash loses both or neither.
 */
import type { Json, ToolOutput } from "../../core/data/message.js";
import type { HookRecord } from "../../core/machine/event.js";
import { type CallRecord, toolNameOf } from "../../core/transcript/results.js";
import type { AnyTool, ToolResult } from "../../ports/tool.js";
import {
  type AfterToolCall,
  callAfterToolCall,
  callAfterToolResult,
  callOf,
  type FinishedCall,
  type ToolOutcome,
} from "../hooks/tool-hooks.js";
import { type Coroutine, wait } from "../lib/coroutine.js";
import { formatError } from "../lib/error-text.js";
import { callInTime } from "../lib/time-limit.js";
import { errorTextIn } from "../tools/error-for-model.js";
import { toToolOutput } from "../tools/to-json.js";
import type { EffectContext } from "../work/effect-context.js";
import { errorOutput, modelOutputFailed } from "./prompts.js";

/** In milliseconds. */
const toModelOutputTimeoutMs = 60_000;

/** A tool's return value, before its conversion to plain JSON. */
export type Raw = Pick<ToolResult, "input" | "output">;

/** A result in the form in which it is committed. */
type ModelOutcome = ToolOutcome & {
  readonly records: readonly HookRecord[];
  /** The tool's return value, if the model reads something else. */
  readonly returned?: ToolOutput;
};

/** Runs the hooks on a result, and creates its output for the model. */
export function* createFinalOutcome<Given extends ToolOutcome & { readonly raw?: Raw; readonly returned?: ToolOutput }>(
  given: Given,
  record: CallRecord,
  durationMs: number,
  context: EffectContext,
): Coroutine<AfterToolCall<Given>> {
  const whole = yield* callAfterToolCall(given, record, durationMs, context);
  const { raw } = given;
  const tool = context.agent.tools.get(toolNameOf(record))?.tool;
  if (raw === undefined || tool?.toModelOutput === undefined) return whole;
  const call: FinishedCall = { ...callOf(record), durationMs, source: "tool" };
  return { ...whole, ...(yield* createModelOutcome(tool, { ...given, raw }, whole, call, context)) };
}

/**
 * @param given the tool's result
 * @param whole the result after the hooks
 */
function* createModelOutcome(
  tool: AnyTool,
  given: ToolOutcome & { readonly raw: Raw },
  whole: ToolOutcome & { readonly records: readonly HookRecord[] },
  call: FinishedCall,
  context: EffectContext,
): Coroutine<ModelOutcome> {
  const { output: returned, records } = whole;
  if (whole.outcome !== "ok") return { outcome: whole.outcome, output: returned, records };
  const isChanged = returned !== given.output;
  const { input, output } = given.raw;
  const result = { toolCallId: call.toolCallId, input, output: isChanged ? toPlainValue(returned) : output };
  // `toModelOutput` may fail on a value that a hook has changed. The model may then read the changed value.
  const shown = yield* createShownOutput(tool, result, context, isChanged ? returned : undefined);
  const final =
    context.agent.hooks.afterToolCall.length === 0
      ? { ...shown, records: [] }
      : yield* callAfterToolResult(shown, { ...call, source: "toModelOutput" }, context);
  const both = { outcome: final.outcome, output: final.output, records: [...records, ...final.records] };
  // If a hook withholds the output, the return value is not stored either.
  return final.outcome !== shown.outcome ? both : { ...both, ...pickReturned(final.output, returned) };
}

/** The same for an outside result, which hooks do not see. */
export function* createOutsideOutput(
  tool: AnyTool,
  returned: ToolOutput,
  call: Omit<ToolResult, "output">,
  context: EffectContext,
): Coroutine<Omit<ModelOutcome, "records">> {
  const shown = yield* createShownOutput(tool, { ...call, output: toPlainValue(returned) }, context);
  return { ...shown, ...pickReturned(shown.output, returned) };
}

/** Empty if the model reads the tool's return value unchanged. */
function pickReturned(output: ToolOutput, returned: ToolOutput): Pick<ModelOutcome, "returned"> {
  const isSame = output.type === returned.type && JSON.stringify(output) === JSON.stringify(returned);
  return isSame ? {} : { returned };
}

/** @param otherwise what the model reads if `toModelOutput` fails. Default: an error */
function* createShownOutput(
  tool: AnyTool,
  result: ToolResult,
  context: EffectContext,
  otherwise?: ToolOutput,
): Coroutine<ToolOutcome> {
  const made = yield* callToModelOutput(tool, result, context);
  if (made.type === "made") return { outcome: "ok", output: made.output };
  if (made.type === "failed" && otherwise !== undefined) return { outcome: "ok", output: otherwise };
  return { outcome: "error", output: errorOutput(made.type === "error" ? made.text : modelOutputFailed(made.message)) };
}

type Made =
  | { readonly type: "made"; readonly output: ToolOutput }
  /** The tool has returned an error for the model. */
  | { readonly type: "error"; readonly text: string }
  | { readonly type: "failed"; readonly message: string };

function* callToModelOutput(tool: AnyTool, result: ToolResult, { agent: { clock } }: EffectContext): Coroutine<Made> {
  const settled = yield* wait(
    callInTime(() => tool.toModelOutput?.(result), { timeoutMs: toModelOutputTimeoutMs, clock }),
  );
  if (settled.type !== "returned") return { type: "failed", message: settled.message };
  const text = errorTextIn(settled.value);
  if (text !== undefined) return { type: "error", text };
  try {
    return { type: "made", output: toToolOutput(settled.value) };
  } catch (error) {
    return { type: "failed", message: formatError(error) };
  }
}

/** The value that a tool would have returned for this output. */
function toPlainValue(output: ToolOutput): Json {
  if (output.type === "text") return output.text;
  return output.type === "json" ? output.value : { type: output.type, parts: output.parts };
}
