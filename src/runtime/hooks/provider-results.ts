/**
 * `afterToolCall` hooks for the results of calls that the model's provider ran. They come within the model's message, before it is
 * committed.
 *
 * A result that a hook replaces loses its provider's metadata: a signature there stands for the former content.
 */
import type { AssistantMessage, Json, ToolResultPart } from "../../core/data/message.js";
import type { HookRecord } from "../../core/machine/event.js";
import { byteLength } from "../../platform/bytes.js";
import { type Coroutine, type MaybePromise, runCoroutine } from "../lib/coroutine.js";
import type { EffectContext } from "../work/effect-context.js";
import type { SettledAttempt } from "./model-hooks.js";
import { hookRecords } from "./step-hooks.js";
import { callAfterResult } from "./tool-hooks.js";

/** @param maxBytes how long the message may be, as JSON: a result that makes it longer is withheld */
export function callForProviderResults(
  event: SettledAttempt,
  context: EffectContext,
  maxBytes: number,
): MaybePromise<SettledAttempt> {
  if (context.parts.hooks.afterToolCall.length === 0 || event.type !== "model_finished") return event;
  if (!event.message.parts.some(isProviders)) return event;
  return runCoroutine(askForEach(event, context, maxBytes));
}

type Finished = Extract<SettledAttempt, { readonly type: "model_finished" }>;
type MessagePart = AssistantMessage["parts"][number];

function isProviders(part: MessagePart): part is ToolResultPart {
  return part.type === "tool_result" && part.providerExecuted === true;
}

function* askForEach(event: Finished, context: EffectContext, maxBytes: number): Coroutine<SettledAttempt> {
  const parts: MessagePart[] = [];
  const records: HookRecord[] = [...(event.hooks ?? [])];
  let bytes = byteLength(JSON.stringify(event.message));
  for (const part of event.message.parts) {
    if (!isProviders(part)) {
      parts.push(part);
      continue;
    }
    const { toolCallId, name, output, isError } = part;
    const input = inputOf(toolCallId, event.message, context);
    const call = { callKey: toolCallId, toolCallId, name, input, durationMs: 0, source: "provider" } as const;
    const outcome = { outcome: isError === true ? "error" : "ok", output } as const;
    const after = yield* callAfterResult(outcome, call, context);
    records.push(...after.records);
    const replaced = after.output === output ? part : withOutput(part, after);
    const more = replaced === part ? 0 : byteLength(JSON.stringify(replaced)) - byteLength(JSON.stringify(part));
    const kept = bytes + more > maxBytes ? withOutput(part, tooLong) : replaced;
    bytes += kept === replaced ? more : 0;
    parts.push(kept);
  }
  return { ...event, message: { ...event.message, parts }, ...hookRecords(records) };
}

const tooLong = {
  outcome: "error",
  output: { type: "text", text: "Error: The output is withheld: what a hook made of it is too long to be stored." },
} as const;

function withOutput(
  { isError: _, providerMetadata: __, ...part }: ToolResultPart,
  { outcome, output }: { readonly outcome: string; readonly output: ToolResultPart["output"] },
): ToolResultPart {
  return { ...part, output, ...(outcome === "ok" ? {} : { isError: true }) };
}

/** A provider that paused its turn gives the result of a call in a later message. */
function inputOf(toolCallId: string, message: AssistantMessage, { transcript }: EffectContext): Json {
  for (const { role, parts } of [message, ...transcript.messages.toReversed()])
    if (role === "assistant")
      for (const part of parts) if (part.type === "tool_call" && part.toolCallId === toolCallId) return part.input;
  return null;
}
