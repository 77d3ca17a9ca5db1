/**
 * Sends a person's answer to a waiting call. The answer is valid only for the input that was shown.
 */
import type { ApprovalDecision, ClientSession, PendingApproval } from "../../index.js";

type AnsweredCall = Pick<PendingApproval, "callKey" | "why" | "inputHash" | "questionId">;

/** @returns whether this answer is the first one */
export function sendDecision(
  session: Pick<ClientSession, "answer" | "provideResult">,
  { callKey, why, inputHash, questionId }: AnsweredCall,
  decision: ApprovalDecision,
  by: string,
) {
  // A call that runs elsewhere needs a result, not an approval.
  if (why === "external" && decision.type === "result")
    return session.provideResult(callKey, decision.output, { isError: decision.isError === true });
  const question = questionId === undefined ? {} : { questionId };
  return session.answer(callKey, decision, { by, ...question, ...(inputHash === undefined ? {} : { inputHash }) });
}

/** The confirmation of an answer that was sent. */
export const confirmationTexts: { readonly [type in ApprovalDecision["type"]]: string } = {
  approve: "Approved",
  modify: "Approved with changes:",
  deny: "Denied",
  rerun: "Will run again:",
  result: "Recorded the result of",
  fail: "Counted as failed:",
  abort: "Aborted",
  reply: "Answered",
  decline: "Declined",
};
