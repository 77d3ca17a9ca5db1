/**
 * The answers to an interrupted call: done, failed, again. They have the same keys and words wherever pawl asks. "Yes" and "no"
 * are not among them, because they would mean opposite things for "Run it again?" and "Is it done?".
 */
import type { ApprovalDecision } from "../../index.js";

export type RecoveryChoice = {
  readonly key: string;
  readonly word: string;
  readonly label: string;
  /** @param text the person's text: the result of a call that is done, or the reason of a failure */
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
