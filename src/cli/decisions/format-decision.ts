/**
 * Describes a person's answer.
 */
import type { PublicEventOf } from "../../index.js";

const decisionWords: { readonly [answer: string]: string | undefined } = {
  approve: "approved",
  deny: "denied",
  modify: "approved with changes",
  rerun: "runs again",
  result: "counted as done",
  fail: "counted as failed",
  reply: "answered",
  decline: "declined",
  expired: "not answered in time",
};

export function formatDecisionType(answer: string): string {
  return decisionWords[answer] ?? answer;
}

/** The answer, who gave it, and the note; for an approval that the permissions overruled, also the outcome. */
export function formatDecision({
  answer,
  by,
  note,
  overruled,
}: Pick<PublicEventOf<"approval_answered">, "answer" | "by" | "note" | "overruled">): string {
  const formatPerson = (person: string | undefined) => (person === undefined ? "" : ` by ${person}`);
  const noteText = note === undefined || note === "" ? "" : `: ${note}`;
  if (overruled === undefined) return `${formatDecisionType(answer)}${formatPerson(by)}${noteText}`;
  return `${formatDecisionType(overruled.answer)}${formatPerson(overruled.by)}, but ${formatDecisionType(answer)} by the permissions${noteText}`;
}
