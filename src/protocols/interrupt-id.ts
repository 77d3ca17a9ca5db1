/**
 * The ids that protocols use for a waiting call, or for a question of its tool.
 */
import type { PendingApproval } from "../index.js";

/** The id contains a hash of the input, so an answer applies only to the input that the person saw. */
export function formatInterruptId({ callKey, questionId, inputHash }: PendingApproval): string {
  const question = questionId === undefined ? "" : `#${questionId}`;
  return inputHash === undefined ? `${callKey}${question}` : `${callKey}${question}@${inputHash.slice(0, 16)}`;
}

/** Returns the call key. */
export function parseInterruptId(interruptId: string): string {
  return interruptId.split(/[#@]/, 1)[0] ?? interruptId;
}
