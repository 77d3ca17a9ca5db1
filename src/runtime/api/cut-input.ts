/**
 * Truncates an input for lists of scheduled messages.
 */
import type { UserMessage, UserPart } from "../../core/data/message.js";

/** An input in a list. */
export type ListedInput = {
  readonly input: readonly UserMessage[];
  /** Present if `input` is truncated: the size of the whole input as JSON, in characters. */
  readonly inputSize?: number;
};

const maxListedCharacters = 1_000;

export function cutInput(input: readonly UserMessage[]): ListedInput {
  const inputSize = JSON.stringify(input).length;
  if (inputSize <= maxListedCharacters) return { input };
  const messages: UserMessage[] = [];
  let room = maxListedCharacters;
  for (const message of input) {
    const parts: UserPart[] = [];
    for (const part of message.parts) {
      const cut = cutPart(part, room);
      if (cut === null) {
        room = 0;
        break;
      }
      parts.push(cut);
      room -= JSON.stringify(cut).length;
    }
    if (parts.length > 0) messages.push({ ...message, parts });
    if (room <= 0) break;
  }
  return { input: messages, inputSize };
}

/** Null if nothing of the part fits. */
function cutPart(part: UserPart, room: number): UserPart | null {
  if (JSON.stringify(part).length <= room) return part;
  if (part.type !== "text") return null;
  const text = cutText(part.text, room);
  return text === "" ? null : { type: "text", text };
}

/** Truncates between two words: code that masks secrets could not recognize a secret that is split. */
function cutText(text: string, room: number): string {
  if (text.length <= room) return text;
  const end = text.slice(0, Math.max(0, room)).search(/\s\S*$/);
  return end <= 0 ? "" : `${text.slice(0, end)} …`;
}
