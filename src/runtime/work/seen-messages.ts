/**
 * What the model saw when it asked for the calls of the present step, for code that decides about them or runs them.
 */
import { deepFreeze } from "../../core/data/freeze.js";
import type { Message } from "../../core/data/message.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import { trimMessages } from "../../core/transcript/trim-results.js";
import { PawlError } from "../../errors.js";
import type { ResolvedList } from "./message-lists.js";

/**
 * The messages, frozen, without the answer that asks for the calls.
 * @param sent what the model was sent instead of the conversation; null if it was sent the conversation
 * @throws PawlError `store_corrupt` if the store has lost a part of what was sent
 */
export function listSeenMessages(transcript: Transcript, sent: ResolvedList | null): readonly Message[] {
  if (sent?.type === "missing") throw new PawlError("store_corrupt", `${sent.message}: it cannot be shown.`);
  if (sent !== null) return deepFreeze(sent.messages.slice());
  const messages = trimMessages(transcript);
  const answerIndex = messages.findLastIndex(({ role }) => role === "assistant");
  return deepFreeze(messages.slice(0, answerIndex === -1 ? messages.length : answerIndex));
}
