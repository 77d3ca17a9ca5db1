/**
 * Formats the conversation of a session as Markdown of bounded size.
 */
import type { Message, ToolOutput } from "../../index.js";

const maxCharacters = 256 * 1024;
const maxPartCharacters = 8_192;

/** Keeps the end of a long conversation. Messages are quoted, so that no line can pass for a heading of the transcript. */
export function formatTranscript(messages: readonly Message[]): string {
  /** Newest first. */
  const kept: string[] = [];
  let remaining = maxCharacters;
  for (const message of messages.toReversed()) {
    const text = formatMessage(message);
    remaining -= text.length;
    if (remaining >= 0) kept.push(text);
    else if (kept.length === 0) kept.push(keepEnd(text));
    if (remaining < 0) break;
  }
  const omitted = messages.length - kept.length;
  return [...(omitted === 0 ? [] : [`(${omitted} earlier messages omitted.)`]), ...kept.reverse()].join("\n\n");
}

/** Keeps the end of a single message that is too long, from the start of a line. */
function keepEnd(text: string): string {
  const end = text.slice(-maxCharacters);
  return `(The beginning of this message is omitted.)\n\n${end.slice(end.indexOf("\n") + 1)}`;
}

function formatMessage(message: Message): string {
  switch (message.role) {
    case "user":
      return section(
        "User",
        message.parts.map((part) => (part.type === "text" ? part.text : `[${part.mediaType}]`)),
      );
    case "assistant":
      return section(
        "Assistant",
        message.parts.flatMap((part) => {
          if (part.type === "text") return [part.text];
          return part.type === "tool_call" ? [`Calls ${part.name}: ${JSON.stringify(part.input)}`] : [];
        }),
      );
    case "tool":
      return section(
        "Results",
        message.parts.map(({ output }) => formatOutput(output)),
      );
  }
}

function formatOutput(output: ToolOutput): string {
  switch (output.type) {
    case "text":
      return output.text;
    case "json":
      return JSON.stringify(output.value);
    case "content":
      return output.parts.map((part) => (part.type === "text" ? part.text : `[${part.mediaType}]`)).join("\n");
  }
}

function section(title: string, texts: readonly string[]): string {
  const quoted = texts.map((text) => {
    const cut = text.length > maxPartCharacters ? `${text.slice(0, maxPartCharacters)} … (cut)` : text;
    return cut.replace(/^/gm, "> ");
  });
  return [`## ${title}`, ...quoted].join("\n\n");
}
