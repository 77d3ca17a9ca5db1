/**
 * Shortens the texts of events for lists. The whole events are available among the session's events.
 */
import type { PublicEvent, UserMessage } from "../index.js";

const maxCharacters = 300;

export function shortenEvent(event: PublicEvent): PublicEvent {
  switch (event.type) {
    case "run_queued":
    case "run_started":
    case "steered":
      return { ...event, input: shortenInput(event.input) };
    case "compacted": {
      const { summary: _summary, retained: _retained, ...rest } = event;
      return rest;
    }
    case "late_result": {
      const { output: _output, returned: _returned, ...rest } = event;
      return rest;
    }
    case "final": {
      const { result } = event;
      return {
        ...event,
        result: { ...result, text: truncate(result.text), ...("output" in result ? { output: null } : {}) },
      };
    }
    default:
      return event;
  }
}

/** Joins the text of a request into one part, and replaces attachments with their names. */
function shortenInput(input: readonly UserMessage[]): readonly UserMessage[] {
  const texts = input
    .flatMap(({ parts }) => parts)
    .map((part) => (part.type === "text" ? part.text : `[${part.filename ?? part.mediaType}]`));
  return [{ role: "user", parts: [{ type: "text", text: truncate(texts.join("\n")) }] }];
}

/** Truncates a string, but never within a surrogate pair. */
function truncate(text: string): string {
  if (text.length <= maxCharacters) return text;
  const splitsSurrogatePair = /[\uD800-\uDBFF]$/.test(text.slice(0, maxCharacters));
  return `${text.slice(0, maxCharacters - (splitsSurrogatePair ? 1 : 0))}…`;
}
