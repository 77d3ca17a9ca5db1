/**
 * The answers to a waiting call, and the options of an abort.
 */
import type { PendingApproval } from "../../core/view/outcome.js";

/**
 * A person's decision on a waiting call. `modify` runs the call with the edited input; it is not available for calls that the model's
 * provider runs. `abort` ends the run.
 */
export type ApprovalDecision =
  /** The call runs unchanged. */
  | { readonly type: "approve" }
  /** The call does not run. The model reads the note. */
  | { readonly type: "deny"; readonly note?: string }
  /** The call runs with a different input. */
  | {
      readonly type: "modify";
      /** The input to run the call with. */
      readonly input: unknown;
    }
  /** The call does not run, and the run ends. */
  | { readonly type: "abort"; readonly note?: string }
  /** This decision and the next two answer only a call with `why: "recovery"`, whose outcome is unknown. */
  | { readonly type: "rerun" }
  /** The call does not run again. It gets this result. */
  | {
      readonly type: "result";
      /** The result, as the person knows it. */
      readonly output: unknown;
      readonly isError?: boolean;
    }
  /** The call does not run again, and the model reads that its outcome is unknown. */
  | { readonly type: "fail"; readonly note?: string }
  /** These two answer a question of a tool, a call with `why: "tool"`. */
  | {
      readonly type: "reply";
      /** The person's answer. It must match the question's schema, if the question has one. */
      readonly value: unknown;
    }
  /** The question stays unanswered, and the tool is notified. */
  | { readonly type: "decline"; readonly note?: string };

/** Who answers, and which input and question the answer refers to. */
export type AnswerOptions = {
  /** The person who decides. The log records it. */
  readonly by?: string | undefined;
  /** The hash of the input that the person saw. If the input has changed since, the answer is refused. */
  readonly inputHash?: string | undefined;
  /** Which question of the tool is answered. It may be omitted if only one is open. */
  readonly questionId?: string | undefined;
  /**
   * The id of the request that carries the answer, at most 200 characters. The log records it, so `hasAnswerFrom` of a client's
   * session recognizes a request that is sent again: what it answered may be over, and another call may wait by now.
   */
  readonly requestId?: string | undefined;
};

/**
 * Methods to answer the calls that a session waits for.
 *
 * @example
 * ```ts
 * for (const { callKey, why, name, input, inputHash } of await session.pendingApprovals()) {
 *   if (why !== "policy" || inputHash === undefined) continue;
 *   console.log(name, input); // show the person what would run
 *   await session.answer(callKey, { type: "approve" }, { by: "ada", inputHash });
 * }
 * ```
 */
export type Answers = {
  /**
   * Answers a waiting call of this session or of a child session. Resolves to `second` if the call was already answered, or if its time
   * limit has passed; the answer then has no effect.
   * @throws PawlError `no_such_call`; `bad_input` if the answer is for another input, or does not match the question
   *
   * @example
   * ```ts
   * // `callKey` and `inputHash` are those of the question that the person saw.
   * const outcome = await session.answer(callKey, { type: "deny", note: "Not this order." }, { by: "ada", inputHash });
   * if (outcome === "second") console.log("The call was already answered.");
   * ```
   */
  readonly answer: (
    callKey: string,
    decision: ApprovalDecision,
    options?: AnswerOptions,
  ) => Promise<"first" | "second">;
  /** Provides the result of a call that runs outside of Pawl. @throws PawlError `no_such_call` */
  readonly provideResult: (
    callKey: string,
    output: unknown,
    options?: { readonly isError?: boolean },
  ) => Promise<"first" | "second">;
  /**
   * The calls that wait for a person or an outside program, including those of child sessions. Each names its session.
   */
  readonly pendingApprovals: () => Promise<readonly PendingApproval[]>;
};

/** Which run to abort, and why. */
export type AbortOptions = {
  /** The run to abort, which may still be queued. Default: the current run. */
  readonly runId?: string | undefined;
  /** Why. The log records it, and tools and observers receive it. */
  readonly note?: string | undefined;
  /** The person who aborts. The log records it. */
  readonly by?: string | undefined;
};

/** Resolves to `nothing` if the session has no such run, or if the run has ended. */
export type AbortMethod = (options?: AbortOptions) => Promise<"asked" | "nothing">;
