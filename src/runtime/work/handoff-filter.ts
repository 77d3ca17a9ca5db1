/**
 * Applies the filter of a handoff, which selects what the next agent sees of the conversation, and references the result for
 * the log.
 *
 * 1. A filter may omit messages, shorten them, and put others in front. It must not change their order.
 * 2. The log stores the added messages inline, so their size is bounded. The others are references.
 * 3. A list that ends with an assistant's text gets a short user message, because providers would refuse it otherwise.
 * 4. A filter that fails ends the run: otherwise the next agent could see what the filter hides.
 */
import { defined } from "../../core/data/defined.js";
import { deepFreeze } from "../../core/data/freeze.js";
import type { AssistantPart, Message, UserMessage } from "../../core/data/message.js";
import type { MessageRef } from "../../core/machine/message-ref.js";
import type { Preparing } from "../../core/machine/state.js";
import { handedOverPrompt } from "../../core/transcript/loop-prompts.js";
import { createReferences } from "../../core/transcript/message-references.js";
import { byteLength } from "../../platform/bytes.js";
import { defaultHookTimeoutMs } from "../agent/compile-hooks.js";
import type { HandoffFilter, HandoffView } from "../agent/handoffs.js";
import type { Cancellation } from "../lib/cancellation.js";
import { type Coroutine, wait } from "../lib/coroutine.js";
import { callInTime } from "../lib/time-limit.js";
import { toRunData } from "./build-context.js";
import type { EffectContext } from "./effect-context.js";
import { toTexts } from "./handoff-texts.js";
import { checkList } from "./message-lists.js";

/** The maximum size of all messages that a filter adds, in bytes of JSON. They are stored in one entry of the log. */
const maxAddedBytes = 512 * 1024;

export type FilterResult =
  | { readonly ok: true; readonly messages?: readonly MessageRef[] }
  | { readonly ok: false; readonly outcome: "threw" | "timed_out" | "refused"; readonly message: string };

type HandoffState = Extract<Preparing, { readonly for: "handoff" }>;

/** The list that the log records; absent if the next agent sees everything. */
export function* applyHandoffFilter(
  filter: HandoffFilter | undefined,
  state: HandoffState,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<FilterResult> {
  if (filter === undefined || filter === "all") return { ok: true };
  if (filter === "last_turn") return checkAndReference(sliceLastTurn(state, context), context);
  if (filter === "text") return referenceTexts(context);
  const view = createView(state, context);
  const { clock } = context.agent;
  const settled = yield* wait(callInTime(() => filter(view), { timeoutMs: defaultHookTimeoutMs, clock, cancellation }));
  if (settled.type !== "returned") return { ok: false, outcome: settled.type, message: settled.message };
  return checkAndReference(settled.value, context);
}

/** Each text belongs to the entry of the message that it replaces. */
function referenceTexts(context: EffectContext): FilterResult {
  const { messages, seqs } = context.transcript;
  const texts = toTexts(messages, maxAddedBytes);
  return checkAndReference(
    texts.filter((text) => text !== null),
    context,
    texts.flatMap((text, index) => (text === null ? [] : [seqs[index] ?? 0])),
  );
}

/** The messages since the run began. If a compaction has removed the run's input, the messages begin with the summary. */
function sliceLastTurn({ startSeq }: HandoffState, { transcript }: EffectContext): readonly Message[] {
  const { messages, seqs } = transcript;
  const since = seqs.findIndex((seq) => seq >= startSeq);
  const first = messages.findLastIndex(({ role }, index) => role === "user" && index <= since);
  return messages.slice(Math.max(0, messages[since]?.role === "user" ? since : first));
}

function createView(state: HandoffState, context: EffectContext): HandoffView {
  const { transcript } = context;
  const { handoff, session } = state;
  return deepFreeze({
    messages: Object.freeze(transcript.messages.slice()),
    input: transcript.calls.get(handoff?.callKey ?? "")?.input ?? {},
    from: session?.agent ?? "",
    to: handoff?.to ?? "",
    run: toRunData(state, context),
    data: transcript.data,
  });
}

/**
 * Adds a short user message to a list that ends with an assistant's text, as a filter that drops tool calls may produce.
 * Providers answer a user message, but not the model's own text.
 */
function ensureUserEnd(list: unknown): unknown {
  if (!Array.isArray(list)) return list;
  const last: unknown = list.at(-1);
  if (typeof last !== "object" || last === null || !("role" in last) || last.role !== "assistant") return list;
  const parts: unknown = "parts" in last ? last.parts : undefined;
  const hasCalls =
    !Array.isArray(parts) || parts.some((part) => (part as Partial<AssistantPart> | null)?.type === "tool_call");
  return hasCalls ? list : [...list, createGoOnMessage()];
}

/** A new object each time, because an object that is already in the conversation would count as that message. */
function createGoOnMessage(): UserMessage {
  return deepFreeze({ role: "user", parts: [{ type: "text", text: handedOverPrompt }] });
}

/**
 * Checks a list, and creates its references.
 * @param ownerSeqs the entry that each message belongs to, if it is known for added messages
 */
function checkAndReference(list: unknown, { transcript }: EffectContext, ownerSeqs?: readonly number[]): FilterResult {
  const { messages, seqs } = transcript;
  const checked = checkList(ensureUserEnd(list), { known: messages });
  if (!checked.ok) return refuse(checked.reason);
  const positions = new Map(messages.map((message, index) => [message, index]));
  let last = -1;
  let bytes = 0;
  for (const [index, message] of checked.messages.entries()) {
    const position = positions.get(message);
    if (position === undefined) {
      bytes += byteLength(JSON.stringify(message));
      if (bytes > maxAddedBytes)
        return refuse(`messages[${index}]: the added and changed messages take more than ${maxAddedBytes} bytes`);
      continue;
    }
    if (position <= last)
      return refuse(`messages[${index}]: it comes before messages[${index - 1}] in the conversation`);
    last = position;
  }
  const seqOf = new Map(checked.messages.map((message, index) => [message, ownerSeqs?.[index]]));
  const keep = (message: Message) => ({ message, ...defined({ seq: seqOf.get(message) }) });
  return { ok: true, messages: createReferences(checked.messages, { messages, seqs }, keep, { acrossEntries: false }) };
}

function refuse(message: string): FilterResult {
  return { ok: false, outcome: "refused", message };
}
