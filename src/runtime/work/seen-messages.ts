/**
 * Returns the messages that the model saw when it requested the calls of the current step, for code that decides about the calls or runs
 * them.
 */
import { deepFreeze } from "../../core/data/freeze.js";
import type { Message } from "../../core/data/message.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import { trimMessages } from "../../core/transcript/trim-results.js";
import { PawlError } from "../../errors.js";
import type { ResolvedList } from "./message-lists.js";

/**
 * Returns the messages, frozen, without the answer that requests the calls.
 * @param sent the list that was sent instead of the conversation; null if the conversation was sent
 * @throws PawlError `store_corrupt` if the store has lost a part of the list
 */
export function listSeenMessages(transcript: Transcript, sent: ResolvedList | null): readonly Message[] {
  if (sent?.type === "missing") throw new PawlError("store_corrupt", `${sent.message}: it cannot be shown.`);
  if (sent !== null) return deepFreeze(sent.messages.slice());
  const messages = trimMessages(transcript);
  const answerIndex = messages.findLastIndex(({ role }) => role === "assistant");
  return deepFreeze(messages.slice(0, answerIndex === -1 ? messages.length : answerIndex));
}
