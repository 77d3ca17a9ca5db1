/**
 * A person's answer in words.
 */
import type { PublicEventOf } from "../index.js";

const words: { readonly [answer: string]: string | undefined } = {
  approve: "approved",
  deny: "denied",
  modify: "approved with changes",
  rerun: "runs again",
  result: "counted as done",
  fail: "counted as failed",
  reply: "answered",
  decline: "declined",
  expired: "nobody answered in time",
};

export function answerWord(answer: string): string {
  return words[answer] ?? answer;
}

/** The answer, who gave it, and the note; for an approval that the permissions overruled, also what came of it. */
export function answerText({
  answer,
  by,
  note,
  overruled,
}: Pick<PublicEventOf<"approval_answered">, "answer" | "by" | "note" | "overruled">): string {
  const who = (person: string | undefined) => (person === undefined ? "" : ` by ${person}`);
  const said = note === undefined || note === "" ? "" : `: ${note}`;
  if (overruled === undefined) return `${answerWord(answer)}${who(by)}${said}`;
  return `${answerWord(overruled.answer)}${who(overruled.by)}, but ${answerWord(answer)} by the permissions${said}`;
}
