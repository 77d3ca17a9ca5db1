/**
 * The answers that a waiting call can be given, and how a run is aborted.
 */
import type { PendingApproval } from "../../core/view/outcome.js";

/**
 * A person's decision on a waiting call. `modify` runs the call with the edited input, unless the model's provider runs
 * it; `abort` ends the run.
 */
export type ApprovalDecision =
  | { readonly type: "approve" }
  | { readonly type: "deny"; readonly note?: string }
  | { readonly type: "modify"; readonly input: unknown }
  | { readonly type: "abort"; readonly note?: string }
  /** This decision and the next two answer only a call with `why: "recovery"`: nobody knows how it ended. */
  | { readonly type: "rerun" }
  | { readonly type: "result"; readonly output: unknown; readonly isError?: boolean }
  | { readonly type: "fail"; readonly note?: string }
  /** These two answer a question of a tool, a call with `why: "tool"`. */
  | { readonly type: "reply"; readonly value: unknown }
  | { readonly type: "decline"; readonly note?: string };

export type AnswerOptions = {
  /** The person who decides. The log records it. */
  readonly by?: string;
  /** The hash of the input that the person saw. If the input has changed since, the answer is refused. */
  readonly inputHash?: string;
  /** Which question of the tool is answered. It may be left out if one is open. */
  readonly questionId?: string;
};

export type Answers = {
  /**
   * Answers a waiting call of this session or of a child session. Resolves to `second` if somebody answered before, or
   * if the time to answer is over; the answer then has no effect.
   * @throws PawlError `no_such_call`; `bad_input` if the answer is to another input, or does not fit the question
   */
  readonly answer: (
    callKey: string,
    decision: ApprovalDecision,
    options?: AnswerOptions,
  ) => Promise<"first" | "second">;
  /** Gives the result of a call that runs outside of Pawl. @throws PawlError `no_such_call` */
  readonly provideResult: (
    callKey: string,
    output: unknown,
    options?: { readonly isError?: boolean },
  ) => Promise<"first" | "second">;
  /**
   * The calls that wait for a person or an outside program, those of child sessions included. Each names its session.
   */
  readonly pendingApprovals: () => Promise<readonly PendingApproval[]>;
};

export type AbortOptions = {
  /** The run to abort, which may still be queued. Default: the run under way. */
  readonly runId?: string;
  /** Why. The log records it, and tools and observers are told it. */
  readonly note?: string;
  /** The person who aborts. The log records it. */
  readonly by?: string;
};

/** `nothing`: the session has no such run, or it has ended. */
export type AbortMethod = (options?: AbortOptions) => Promise<"asked" | "nothing">;
