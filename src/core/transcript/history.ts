/**
 * Shows an imported conversation before everything else.
 */
import type { Message } from "../data/message.js";
import type { EventOf } from "../machine/event.js";
import { blobOf } from "./blob-references.js";
import { addWithUniqueIds, alignResultIds } from "./compaction.js";
import type { Transcript } from "./transcript-record.js";

export function addHistory(transcript: Transcript, seq: number, { messages }: EventOf<"history_added">): void {
  for (const message of messages) {
    transcript.messages.push(toShownMessage(transcript, message));
    transcript.seqs.push(seq);
    transcript.origins.push(seq);
    if (hasFiles(message)) transcript.shownResults.hasFiles = true;
  }
}

function toShownMessage(transcript: Transcript, message: Message): Message {
  if (message.role === "assistant") return addWithUniqueIds(transcript, message);
  const last = transcript.messages.at(-1);
  return message.role === "tool" && last?.role === "assistant" ? alignResultIds(last, message) : message;
}

/** Whether the message must be converted before a model can see it: blobs are replaced by their bytes, or files by a description. */
export function hasFiles(message: Message): boolean {
  return message.role === "tool"
    ? message.parts.some(({ output }) => output.type === "content")
    : message.parts.some((part) => part.type === "file" && blobOf(part) !== undefined);
}
