/**
 * The text of messages as the conversation shows it: without the content of attached files.
 */
import type { StreamItem, UserMessage } from "../../../index.js";
import { summarizeMessage } from "../../agent/attachments.js";

/** The message that a person has written; null if the item brings none. */
export function findMessage(item: StreamItem): string | null {
  const isFromPerson = item.type === "run_started" || (item.type === "steered" && item.source === "user");
  return isFromPerson && item.finishedChild === undefined ? joinInput(item.input) : null;
}

export function joinInput(input: readonly UserMessage[]): string {
  return input.map((message) => summarizeMessage(message).text).join("\n");
}
