/**
 * Formats the conversation of a session as Markdown of bounded size.
 */
import type { Message, ToolOutput } from "../../index.js";

const maxCharacters = 256 * 1024;
const maxPartCharacters = 8_192;

/** Keeps the end of a long conversation. Its lines are quoted, so that none can pass for a heading of the transcript. */
export function formatTranscript(messages: readonly Message[]): string {
  const sections = messages.map(formatMessage);
  const kept: string[] = [];
  let remaining = maxCharacters;
  for (const section of sections.toReversed()) {
    remaining -= section.length;
    if (remaining < 0) break;
    kept.unshift(section);
  }
  const omitted = sections.length - kept.length;
  return [...(omitted === 0 ? [] : [`(${omitted} earlier messages omitted.)`]), ...kept].join("\n\n");
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
