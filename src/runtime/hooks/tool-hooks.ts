/**
 * The hooks around a tool call: `beforeToolCall` and `afterToolCall`.
 */

import type { Json, ToolOutput } from "../../core/data/message.js";
import type { HookRecord } from "../../core/machine/event.js";
import type { CallRecord } from "../../core/transcript/results.js";
import type { ToolCallSubject, ToolResultSubject } from "../../ports/hook.js";
import type { AnyTool } from "../../ports/tool.js";
import type { Cancellation } from "../lib/cancellation.js";
import { andThen } from "../lib/maybe-promise.js";
import { toToolOutput } from "../tools/to-json.js";
import type { EffectContext } from "../work/effect-context.js";
import { callHooks, type HookCall, refused } from "./call-hooks.js";
import { jsonIn, oneOf, reasonIn } from "./check-return.js";

export type BeforeToolCall = {
  readonly records: readonly HookRecord[];
  /** The input, where a hook changed it. */
  readonly input?: Json;
  /** Why the call is not run. */
  readonly block?: string;
  readonly stopRun?: boolean;
};

/** An entry of the log has a bound, and other things to hold. */
const mostInputBytes = 900_000;

export function callBeforeToolCall(
  record: CallRecord,
  tool: AnyTool,
  work: EffectContext,
  cancellation: Cancellation,
): BeforeToolCall | Promise<BeforeToolCall> {
  if (work.parts.hooks.beforeToolCall.length === 0) return noHooks;
  const { callKey, part, edited } = record;
  const asking: HookCall<Omit<BeforeToolCall, "records">> = {
    point: "beforeToolCall",
    first: {},
    show: ({ input = record.input }): ToolCallSubject => ({
      callKey,
      toolCallId: part.toolCallId,
      name: part.name,
      readOnly: tool.readOnly === true,
      input,
      isEdited: edited,
    }),
    take(answer) {
      const given = oneOf(answer, ["input", "block", "stop"]);
      if (given?.key === "input") return { type: "changed", to: { input: jsonIn(given.value, mostInputBytes) } };
      const reason = reasonIn(given?.value);
      if (given === undefined || reason === undefined)
        return refused(answer, "{ input }, { block: reason } or { stop: reason }");
      return { type: "settled", to: given.key === "stop" ? { block: reason, stopRun: true } : { block: reason } };
    },
  };
  return andThen(callHooks(asking, work, cancellation), ({ to, records, failure }) =>
    failure === undefined ? { records, ...to } : { records, block: failure },
  );
}

const noHooks: BeforeToolCall = { records: [] };

/** What a tool gave, before it is cut for the model or kept. */
export type ToolOutcome = { readonly outcome: "ok" | "error"; readonly output: ToolOutput };
type DoneToolOutcome = ToolOutcome & { readonly isSaid?: boolean };
export type AfterToolCall<What extends DoneToolOutcome> = What & { readonly records: readonly HookRecord[] };

/** An abort does not cut these off: what they hide must not come to light because a run ends. */
export function callAfterToolCall<What extends DoneToolOutcome>(
  given: What,
  record: CallRecord,
  durationMs: number,
  work: EffectContext,
): AfterToolCall<What> | Promise<AfterToolCall<What>> {
  if (work.parts.hooks.afterToolCall.length === 0) return { records: [], ...given };
  const { callKey, part, input } = record;
  const asking: HookCall<ToolOutput> = {
    point: "afterToolCall",
    first: given.output,
    show: (output): ToolResultSubject => ({
      callKey,
      toolCallId: part.toolCallId,
      name: part.name,
      input,
      output,
      isError: given.outcome === "error",
      durationMs,
    }),
    take(answer) {
      const replaced = oneOf(answer, ["output"]);
      if (replaced === undefined) return refused(answer, "{ output }");
      return { type: "changed", to: toToolOutput(replaced.value) };
    },
  };
  return andThen(callHooks(asking, work), ({ to: output, records, failure }) =>
    failure === undefined
      ? { records, ...given, output }
      : {
          records,
          ...given,
          outcome: "error" as const,
          isSaid: false,
          output: { type: "text", text: `Error: The output is withheld: ${failure}. The call was run.` },
        },
  );
}
