/**
 * Runs `afterToolCall` hooks on the results of calls that the model's provider ran. The results are part of the model's message, which is
 * not committed yet.
 *
 * A result that a hook replaces loses its provider metadata, because a signature in it is for the original content.
 */
import type { AssistantMessage, Json, ToolResultPart } from "../../core/data/message.js";
import type { HookRecord } from "../../core/machine/event.js";
import { byteLength } from "../../platform/bytes.js";
import { type Coroutine, type MaybePromise, runCoroutine } from "../lib/coroutine.js";
import type { EffectContext } from "../work/effect-context.js";
import type { SettledAttempt } from "./model-hooks.js";
import { pickHookRecords } from "./step-hooks.js";
import { callAfterToolResult } from "./tool-hooks.js";

/** @param maxBytes the limit of the message as JSON: a changed result that exceeds it is withheld */
export function runHooksOnProviderResults(
  event: SettledAttempt,
  context: EffectContext,
  maxBytes: number,
): MaybePromise<SettledAttempt> {
  if (context.agent.hooks.afterToolCall.length === 0 || event.type !== "model_finished") return event;
  if (!event.message.parts.some(isProviderResult)) return event;
  return runCoroutine(processResults(event, context, maxBytes));
}

type Finished = Extract<SettledAttempt, { readonly type: "model_finished" }>;
type MessagePart = AssistantMessage["parts"][number];

function isProviderResult(part: MessagePart): part is ToolResultPart {
  return part.type === "tool_result" && part.providerExecuted === true;
}

function* processResults(event: Finished, context: EffectContext, maxBytes: number): Coroutine<SettledAttempt> {
  const parts: MessagePart[] = [];
  const records: HookRecord[] = [...(event.hooks ?? [])];
  let bytes = byteLength(JSON.stringify(event.message));
  for (const part of event.message.parts) {
    if (!isProviderResult(part)) {
      parts.push(part);
      continue;
    }
    const { toolCallId, name, output, isError } = part;
    const input = findInput(toolCallId, event.message, context);
    const call = { callKey: toolCallId, toolCallId, name, input, durationMs: 0, source: "provider" } as const;
    const outcome = { outcome: isError === true ? "error" : "ok", output } as const;
    const after = yield* callAfterToolResult(outcome, call, context);
    records.push(...after.records);
    const replaced = after.output === output ? part : replaceOutput(part, after);
    const addedBytes = replaced === part ? 0 : byteLength(JSON.stringify(replaced)) - byteLength(JSON.stringify(part));
    const kept = bytes + addedBytes > maxBytes ? replaceOutput(part, tooLong) : replaced;
    bytes += kept === replaced ? addedBytes : 0;
    parts.push(kept);
  }
  return { ...event, message: { ...event.message, parts }, ...pickHookRecords(records) };
}

const tooLong = {
  outcome: "error",
  output: { type: "text", text: "Error: The output is withheld: a hook made it too long to be stored." },
} as const;

function replaceOutput(
  { isError: _, providerMetadata: __, ...part }: ToolResultPart,
  { outcome, output }: { readonly outcome: string; readonly output: ToolResultPart["output"] },
): ToolResultPart {
  return { ...part, output, ...(outcome === "ok" ? {} : { isError: true }) };
}

/** Also searches earlier messages, because a provider that paused its turn sends the result of a call in a later message. */
function findInput(toolCallId: string, message: AssistantMessage, { transcript }: EffectContext): Json {
  for (const { role, parts } of [message, ...transcript.messages.toReversed()])
    if (role === "assistant")
      for (const part of parts) if (part.type === "tool_call" && part.toolCallId === toolCallId) return part.input;
  return null;
}
