/**
 * A conversation without calls: what an agent did, written as text. A provider may want the tools of calls that it is
 * sent, and the next agent does not have them.
 */
import { freeze } from "../../core/data/freeze.js";
import type { AssistantMessage, AssistantPart, Message, ToolMessage, UserMessage } from "../../core/data/message.js";
import { textOfOutput } from "../../core/transcript/results.js";

/** Characters of an input or an output. The log holds the whole, and what is sent is a sketch of it. */
const mostCharacters = 4_000;

/** The messages, each with its calls and results as text. A message without any stays the same object. */
export function asTexts(messages: readonly Message[]): readonly Message[] {
  return messages.flatMap(messageAsText);
}

function messageAsText(message: Message): readonly Message[] {
  switch (message.role) {
    case "user":
      return [message];
    case "tool":
      return [resultsAsText(message)];
    case "assistant":
      return withoutCalls(message);
  }
}

function resultsAsText({ parts }: ToolMessage): UserMessage {
  const texts = parts.map(
    ({ name, output }) => `[Note, not from the user: result of ${name}: ${cut(textOfOutput(output))}]`,
  );
  return freeze({ role: "user", parts: [{ type: "text", text: texts.join("\n") }] });
}

/** Thoughts are left out: their signatures belong to the model that had them. */
function withoutCalls(message: AssistantMessage): readonly AssistantMessage[] {
  if (message.parts.every(({ type }) => type === "text" || type === "file" || type === "source")) return [message];
  const parts = message.parts.flatMap(asText);
  return parts.length === 0 ? [] : [freeze({ role: "assistant", parts })];
}

function asText(part: AssistantPart): readonly AssistantPart[] {
  switch (part.type) {
    case "reasoning":
      return [];
    case "tool_call":
      return [{ type: "text", text: `[Called ${part.name}: ${cut(JSON.stringify(part.input))}]` }];
    case "tool_result":
      return [{ type: "text", text: `[Result of ${part.name}: ${cut(textOfOutput(part.output))}]` }];
    case "text":
    case "file":
    case "source":
      return [part];
  }
}

function cut(text: string): string {
  return text.length <= mostCharacters ? text : `${text.slice(0, mostCharacters)} … (${text.length} characters)`;
}
