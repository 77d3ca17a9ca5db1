/**
 * Old results of tools left out of what a model sees, oldest first, where the agent says so (CTX-8). The log keeps all.
 *
 * 1. It is a view: what is left out follows from the messages and the budget that the log names, and from nothing else.
 * 2. The results of the last step are always shown, so that each result is seen once.
 * 3. Once over the budget, results go until half of it is left: what stays is the same for many steps, for providers' caches.
 */
import type { Message, ToolMessage, ToolOutput, ToolResultPart } from "../data/message.js";
import { seqOfShown, textOfOutput } from "./results.js";
import type { Transcript } from "./transcript.js";

type Shown = { readonly message: ToolMessage; readonly part: ToolResultPart; readonly bytes: number };

/** Bytes that an image or another file counts as. */
const fileBytes = 6_400;

/** Below it a note in the place of a result saves nothing. */
const leastBytes = 400;

const sizes = new WeakMap<ToolResultPart, number>();
const views = new WeakMap<ToolMessage, { readonly left: number; readonly message: ToolMessage }>();

/** The transcript's own messages where no budget is set, or it is kept. */
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
      if (bytes < leastBytes) continue;
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

/** The same object for as long as the same results are left out of it. */
function without(message: ToolMessage, left: ReadonlySet<ToolResultPart>): ToolMessage {
  const count = message.parts.filter((part) => left.has(part)).length;
  if (count === 0) return message;
  const known = views.get(message);
  if (known?.left === count) return known.message;
  const parts = message.parts.map((part) => (left.has(part) ? leftOutPart(part) : part));
  const view: ToolMessage = { role: "tool", parts };
  views.set(message, { left: count, message: view });
  return view;
}

function leftOutPart(part: ToolResultPart): ToolResultPart {
  const seq = seqOfShown(part);
  const kept = seq === undefined ? "" : ` It is kept as output ${seq}: read_output and search_output show it.`;
  const text = `[This result, of ${sizeOf(part)} bytes, is left out here by now.${kept}]`;
  return { ...part, output: { type: "text", text } };
}
