/**
 * Events as a list shows them, a line each: the beginnings of their texts. The whole event is among the session's events.
 */
import type { PublicEvent, UserMessage } from "../index.js";

const mostCharacters = 300;

export function shortened(event: PublicEvent): PublicEvent {
  switch (event.type) {
    case "run_queued":
    case "run_started":
    case "steered":
      return { ...event, input: beginningOf(event.input) };
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
        result: { ...result, text: cut(result.text), ...("output" in result ? { output: null } : {}) },
      };
    }
    default:
      return event;
  }
}

/** The text of a request in one part; what it attaches is named. */
function beginningOf(input: readonly UserMessage[]): readonly UserMessage[] {
  const texts = input
    .flatMap(({ parts }) => parts)
    .map((part) => (part.type === "text" ? part.text : `[${part.filename ?? part.mediaType}]`));
  return [{ role: "user", parts: [{ type: "text", text: cut(texts.join("\n")) }] }];
}

/** Not within a character that takes two units. */
function cut(text: string): string {
  if (text.length <= mostCharacters) return text;
  const isWithin = /[\uD800-\uDBFF]$/.test(text.slice(0, mostCharacters));
  return `${text.slice(0, mostCharacters - (isWithin ? 1 : 0))}…`;
}
