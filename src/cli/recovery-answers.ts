/**
 * The answers to a call that was interrupted: done, failed, again. They have the same keys and words wherever pawl asks.
 * "Yes" and "no" are not among them: to "Run it again?" and to "Is it done?" they would mean opposite things.
 */
import type { ApprovalDecision } from "../index.js";

export type RecoveryAnswer = {
  readonly key: string;
  readonly word: string;
  readonly says: string;
  /** @param text what the person adds: the result of a call that is done, or the reason why a call failed */
  readonly decisionOf: (text: string) => ApprovalDecision;
};

export const recoveryAnswers: readonly RecoveryAnswer[] = [
  {
    key: "d",
    word: "done",
    says: "it is done",
    decisionOf: (text) => ({ type: "result", output: text || "The person says that this call has done its work." }),
  },
  {
    key: "f",
    word: "failed",
    says: "it failed",
    decisionOf: (text) => ({ type: "fail", ...(text === "" ? {} : { note: text }) }),
  },
  { key: "a", word: "again", says: "run it again", decisionOf: () => ({ type: "rerun" }) },
];
