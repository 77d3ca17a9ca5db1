/**
 * Converts the calls and results of a conversation to text. A provider may require the tools of all calls in a request, and
 * the next agent does not have them.
 */
import { deepFreeze } from "../../core/data/freeze.js";
import type { AssistantMessage, AssistantPart, Message, ToolMessage, UserMessage } from "../../core/data/message.js";
import { textOfOutput } from "../../core/transcript/results.js";
import { byteLength } from "../../platform/bytes.js";

/**
 * The limits on the characters of an input or an output. The largest limit that fits is used. The log has the full text; the request only
 * needs an outline.
 */
const maxCharacters = [4_000, 1_000, 200] as const;

/**
 * The messages with their calls and results as text; null for a message without any other content. A message without calls
 * and results stays the same object.
 * @param maxBytes the limit for all changed messages, which shorter inputs and outputs may still exceed
 */
export function toTexts(messages: readonly Message[], maxBytes: number): readonly (Message | null)[] {
  let texts: readonly (Message | null)[] = messages;
  for (const limit of maxCharacters) {
    texts = messages.map((message) => convertMessage(message, limit));
    const bytes = texts.reduce(
      (sum, text, index) => (text === messages[index] ? sum : sum + byteLength(JSON.stringify(text))),
      0,
    );
    if (bytes <= maxBytes) break;
  }
  return texts;
}

function convertMessage(message: Message, limit: number): Message | null {
  switch (message.role) {
    case "user":
      return message;
    case "tool":
      return convertResults(message, limit);
    case "assistant":
      return convertCalls(message, limit);
  }
}

function convertResults({ parts }: ToolMessage, limit: number): UserMessage {
  const texts = parts.map(
    ({ name, output }) => `[Note, not from the user: result of ${name}: ${shorten(textOfOutput(output), limit)}]`,
  );
  return deepFreeze({ role: "user", parts: [{ type: "text", text: texts.join("\n") }] });
}

/** Reasoning is omitted: its signatures are valid only for the model that produced it. */
function convertCalls(message: AssistantMessage, limit: number): AssistantMessage | null {
  if (message.parts.every(({ type }) => type === "text" || type === "file" || type === "source")) return message;
  const parts = message.parts.flatMap((part) => convertPart(part, limit));
  return parts.length === 0 ? null : deepFreeze({ role: "assistant", parts });
}

function convertPart(part: AssistantPart, limit: number): readonly AssistantPart[] {
  switch (part.type) {
    case "reasoning":
      return [];
    case "tool_call":
      return [{ type: "text", text: `[Called ${part.name}: ${shorten(JSON.stringify(part.input), limit)}]` }];
    case "tool_result":
      return [{ type: "text", text: `[Result of ${part.name}: ${shorten(textOfOutput(part.output), limit)}]` }];
    case "text":
    case "file":
    case "source":
      return [part];
  }
}

function shorten(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit)} … (${text.length} characters)`;
}
