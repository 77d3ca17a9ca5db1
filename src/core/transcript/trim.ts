/**
 * Leaves the oldest tool results out of the messages for a model if the agent sets a budget (CTX-8). The log keeps all.
 *
 * 1. It is a view: the left out results follow from the messages and the budget in the log, and from nothing else.
 * 2. The results of the last step are always shown, so the model sees each result at least once.
 * 3. Once the results exceed the budget, the oldest are left out until half of it is used. The rest then stays the same
 *    for many steps, which providers' caches need.
 */
import { freeze } from "../data/freeze.js";
import type { Message, ToolMessage, ToolOutput, ToolResultPart } from "../data/message.js";
import { leftOutResultText } from "./loop-prompts.js";
import { leastLeftOutBytes, seqOfShown, textOfOutput } from "./results.js";
import type { Transcript } from "./transcript-record.js";

type Shown = { readonly message: ToolMessage; readonly part: ToolResultPart; readonly bytes: number };

/** The bytes that an image or another file counts for. */
const fileBytes = 6_400;

const sizes = new WeakMap<ToolResultPart, number>();
const views = new WeakMap<ToolMessage, { readonly left: number; readonly message: ToolMessage }>();

/** The messages for the model: the transcript's own array if no budget is set or the budget is not exceeded. */
export function trimmedMessages({
  messages,
  shownResults: { budget },
}: Pick<Transcript, "messages" | "shownResults">): readonly Message[] {
  if (budget === undefined) return messages;
  const left = leftOut(messages, budget);
  if (left.size === 0) return messages;
  return messages.map((message) => (message.role === "tool" ? without(message, left) : message));
}

function leftOut(messages: readonly Message[], budget: number): ReadonlySet<ToolResultPart> {
  const left = new Set<ToolResultPart>();
  const shown: Shown[] = [];
  let [total, next] = [0, 0];
  for (const message of messages) {
    if (message.role !== "tool") continue;
    for (const part of message.parts) {
      const bytes = sizeOf(part);
      if (bytes < leastLeftOutBytes) continue;
      shown.push({ message, part, bytes });
      total += bytes;
    }
    if (total <= budget) continue;
    for (let one = shown[next]; one !== undefined && one.message !== message && total > budget / 2; one = shown[next]) {
      left.add(one.part);
      total -= one.bytes;
      next += 1;
    }
  }
  return left;
}

function sizeOf(part: ToolResultPart): number {
  let bytes = sizes.get(part);
  if (bytes === undefined) {
    bytes = sizeOfOutput(part.output);
    sizes.set(part, bytes);
  }
  return bytes;
}

const encoder = new TextEncoder();

function sizeOfOutput(output: ToolOutput): number {
  const files = output.type === "content" ? output.parts.filter((part) => part.type === "file").length : 0;
  return encoder.encode(textOfOutput(output)).length + files * fileBytes;
}

/** The message without these results. The same object as long as the same results are left out. */
function without(message: ToolMessage, left: ReadonlySet<ToolResultPart>): ToolMessage {
  const count = message.parts.filter((part) => left.has(part)).length;
  if (count === 0) return message;
  const known = views.get(message);
  if (known?.left === count) return known.message;
  const parts = message.parts.map((part) => (left.has(part) ? leftOutPart(part) : part));
  const view: ToolMessage = freeze({ role: "tool", parts });
  views.set(message, { left: count, message: view });
  return view;
}

function leftOutPart(part: ToolResultPart): ToolResultPart {
  return { ...part, output: { type: "text", text: leftOutResultText(sizeOf(part), seqOfShown(part)) } };
}
