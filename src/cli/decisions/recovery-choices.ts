/**
 * The answers to a call that was interrupted: done, failed, again. They have the same keys and words wherever pawl asks.
 * "Yes" and "no" are not among them: to "Run it again?" and to "Is it done?" they would mean opposite things.
 */
import type { ApprovalDecision } from "../../index.js";

export type RecoveryChoice = {
  readonly key: string;
  readonly word: string;
  readonly label: string;
  /** @param text what the person adds: the result of a call that is done, or the reason why a call failed */
  readonly toDecision: (text: string) => ApprovalDecision;
};

export const recoveryChoices: readonly RecoveryChoice[] = [
  {
    key: "d",
    word: "done",
    label: "it is done",
    toDecision: (text) => ({ type: "result", output: text || "The person says that this call has done its work." }),
  },
  {
    key: "f",
    word: "failed",
    label: "it failed",
    toDecision: (text) => ({ type: "fail", ...(text === "" ? {} : { note: text }) }),
  },
  { key: "a", word: "again", label: "run it again", toDecision: () => ({ type: "rerun" }) },
];
