/**
 * Omits the oldest tool results from the messages for a model if the agent sets a budget (CTX-8). The log keeps all results.
 *
 * 1. This is a view: the omitted results follow only from the messages and the budget in the log.
 * 2. The results of the last step are always shown, so the model sees each result at least once.
 * 3. Once the results exceed the budget, the oldest are omitted until half of the budget is used. The rest then stays unchanged for many
 *    steps, which providers' caches require.
 */
import { deepFreeze } from "../data/freeze.js";
import type { Message, ToolMessage, ToolOutput, ToolResultPart } from "../data/message.js";
import { omittedResultText } from "./loop-prompts.js";
import { findResultSeq, minOmittedBytes, textOfOutput } from "./results.js";
import type { Transcript } from "./transcript-record.js";

type ShownResult = { readonly message: ToolMessage; readonly part: ToolResultPart; readonly bytes: number };

/** The size in bytes that an image or another file counts as. */
const fileBytes = 6_400;

const sizes = new WeakMap<ToolResultPart, number>();
const views = new WeakMap<ToolMessage, { readonly omittedCount: number; readonly message: ToolMessage }>();

/** The messages for the model. This is the transcript's own array if no budget is set or the budget is not exceeded. */
export function trimMessages({
  messages,
  shownResults: { budget },
}: Pick<Transcript, "messages" | "shownResults">): readonly Message[] {
  if (budget === undefined) return messages;
  const omitted = selectOmitted(messages, budget);
  if (omitted.size === 0) return messages;
  return messages.map((message) => (message.role === "tool" ? omitResults(message, omitted) : message));
}

function selectOmitted(messages: readonly Message[], budget: number): ReadonlySet<ToolResultPart> {
  const omitted = new Set<ToolResultPart>();
  const shown: ShownResult[] = [];
  let [total, next] = [0, 0];
  for (const message of messages) {
    if (message.role !== "tool") continue;
    for (const part of message.parts) {
      const bytes = measureResult(part);
      if (bytes < minOmittedBytes) continue;
      shown.push({ message, part, bytes });
      total += bytes;
    }
    if (total <= budget) continue;
    for (
      let oldest = shown[next];
      oldest !== undefined && oldest.message !== message && total > budget / 2;
      oldest = shown[next]
    ) {
      omitted.add(oldest.part);
      total -= oldest.bytes;
      next += 1;
    }
  }
  return omitted;
}

function measureResult(part: ToolResultPart): number {
  let bytes = sizes.get(part);
  if (bytes === undefined) {
    bytes = measureOutput(part.output);
    sizes.set(part, bytes);
  }
  return bytes;
}

const encoder = new TextEncoder();

function measureOutput(output: ToolOutput): number {
  const files = output.type === "content" ? output.parts.filter((part) => part.type === "file").length : 0;
  return encoder.encode(textOfOutput(output)).length + files * fileBytes;
}

/** The message without these results. The same object as long as the same results are omitted. */
function omitResults(message: ToolMessage, omitted: ReadonlySet<ToolResultPart>): ToolMessage {
  const omittedCount = message.parts.filter((part) => omitted.has(part)).length;
  if (omittedCount === 0) return message;
  const cached = views.get(message);
  if (cached?.omittedCount === omittedCount) return cached.message;
  const parts = message.parts.map((part) => (omitted.has(part) ? toOmittedPart(part) : part));
  const view: ToolMessage = deepFreeze({ role: "tool", parts });
  views.set(message, { omittedCount, message: view });
  return view;
}

function toOmittedPart(part: ToolResultPart): ToolResultPart {
  return { ...part, output: { type: "text", text: omittedResultText(measureResult(part), findResultSeq(part)) } };
}
