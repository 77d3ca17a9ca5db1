/**
 * How protocols name a call that waits, or a question that its tool asks.
 */
import type { PendingApproval } from "../index.js";

/** The id has the hash of the input. So an answer counts for the input that the person saw. */
export function formatInterruptId({ callKey, questionId, inputHash }: PendingApproval): string {
  const question = questionId === undefined ? "" : `#${questionId}`;
  return inputHash === undefined ? `${callKey}${question}` : `${callKey}${question}@${inputHash.slice(0, 16)}`;
}

/** The call of an interrupt. */
export function parseCallKey(interruptId: string): string {
  return interruptId.split(/[#@]/, 1)[0] ?? interruptId;
}
