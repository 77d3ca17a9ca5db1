/**
 * A conversation without calls: what an agent did, written as text. A provider may want the tools of calls that it is
 * sent, and the next agent does not have them.
 */
import { freeze } from "../../core/data/freeze.js";
import type { AssistantMessage, AssistantPart, Message, ToolMessage, UserMessage } from "../../core/data/message.js";
import { textOfOutput } from "../../core/transcript/results.js";
import { byteLength } from "../../platform/bytes.js";

/**
 * Characters of an input or an output: the most that fits is taken. The log holds the whole, and what is sent is a
 * sketch of it.
 */
const mostCharacters = [4_000, 1_000, 200] as const;

/**
 * The messages, each with its calls and results as text; null in the place of one that has nothing else to say. A
 * message without any stays the same object.
 * @param mostBytes of the messages that are not the same, as far as shorter inputs and outputs help
 */
export function asTexts(messages: readonly Message[], mostBytes: number): readonly (Message | null)[] {
  let texts: readonly (Message | null)[] = messages;
  for (const most of mostCharacters) {
    texts = messages.map((message) => messageAsText(message, most));
    const bytes = texts.reduce(
      (sum, text, index) => (text === messages[index] ? sum : sum + byteLength(JSON.stringify(text))),
      0,
    );
    if (bytes <= mostBytes) break;
  }
  return texts;
}

function messageAsText(message: Message, most: number): Message | null {
  switch (message.role) {
    case "user":
      return message;
    case "tool":
      return resultsAsText(message, most);
    case "assistant":
      return withoutCalls(message, most);
  }
}

function resultsAsText({ parts }: ToolMessage, most: number): UserMessage {
  const texts = parts.map(
    ({ name, output }) => `[Note, not from the user: result of ${name}: ${cut(textOfOutput(output), most)}]`,
  );
  return freeze({ role: "user", parts: [{ type: "text", text: texts.join("\n") }] });
}

/** Thoughts are left out: their signatures belong to the model that had them. */
function withoutCalls(message: AssistantMessage, most: number): AssistantMessage | null {
  if (message.parts.every(({ type }) => type === "text" || type === "file" || type === "source")) return message;
  const parts = message.parts.flatMap((part) => asText(part, most));
  return parts.length === 0 ? null : freeze({ role: "assistant", parts });
}

function asText(part: AssistantPart, most: number): readonly AssistantPart[] {
  switch (part.type) {
    case "reasoning":
      return [];
    case "tool_call":
      return [{ type: "text", text: `[Called ${part.name}: ${cut(JSON.stringify(part.input), most)}]` }];
    case "tool_result":
      return [{ type: "text", text: `[Result of ${part.name}: ${cut(textOfOutput(part.output), most)}]` }];
    case "text":
    case "file":
    case "source":
      return [part];
  }
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)} … (${text.length} characters)`;
}
