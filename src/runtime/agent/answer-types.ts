/**
 * What can be said to a call that waits.
 */
import type { PendingApproval } from "../../core/view/outcome.js";

/** What a person decides on a call that waits. `modify` runs the edited input; `abort` ends the run. */
export type ApprovalDecision =
  | { readonly type: "approve" }
  | { readonly type: "deny"; readonly note?: string }
  | { readonly type: "modify"; readonly input: unknown }
  | { readonly type: "abort"; readonly note?: string }
  /** The last three answer a question of recovery. */
  | { readonly type: "rerun" }
  | { readonly type: "result"; readonly output: unknown; readonly isError?: boolean }
  | { readonly type: "fail"; readonly note?: string };

export type AnswerOptions = {
  /** Who decides; it is recorded. */
  readonly by?: string;
  /** The hash of the input that was shown: the answer counts for this input only. */
  readonly inputHash?: string;
};

export type Answers = {
  /**
   * Answers a call that waits, here or in a child session. `second` where somebody did before, or the time for it is over.
   * @throws PawlError `no_such_call`, and `bad_input` where the answer is to another input, or no answer to what is asked
   */
  readonly answer: (
    callKey: string,
    decision: ApprovalDecision,
    options?: AnswerOptions,
  ) => Promise<"first" | "second">;
  /** Gives the result of a call that runs elsewhere. @throws PawlError `no_such_call` */
  readonly provideResult: (
    callKey: string,
    output: unknown,
    options?: { readonly isError?: boolean },
  ) => Promise<"first" | "second">;
  /** What waits for somebody outside, children's calls included; each names the session that it belongs to. */
  readonly pendingApprovals: () => Promise<readonly PendingApproval[]>;
};
