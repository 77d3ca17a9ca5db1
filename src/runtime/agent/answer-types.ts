/**
 * The answers that a waiting call can be given, and how a run is aborted.
 */
import type { PendingApproval } from "../../core/view/outcome.js";

/**
 * A person's decision on a waiting call. `modify` runs the call with the edited input, unless the model's provider runs
 * it; `abort` ends the run.
 */
export type ApprovalDecision =
  /** The call runs as it is. */
  | { readonly type: "approve" }
  /** The call does not run. The model reads the note. */
  | { readonly type: "deny"; readonly note?: string }
  /** The call runs with another input. */
  | {
      readonly type: "modify";
      /** The input that the call runs with instead. */
      readonly input: unknown;
    }
  /** The call does not run, and the run ends. */
  | { readonly type: "abort"; readonly note?: string }
  /** This decision and the next two answer only a call with `why: "recovery"`: nobody knows how it ended. */
  | { readonly type: "rerun" }
  /** The call is not run again: it ended so. */
  | {
      readonly type: "result";
      /** The result, as the person knows it. */
      readonly output: unknown;
      readonly isError?: boolean;
    }
  /** The call is not run again, and the model is told that nobody knows how it ended. */
  | { readonly type: "fail"; readonly note?: string }
  /** These two answer a question of a tool, a call with `why: "tool"`. */
  | {
      readonly type: "reply";
      /** What the person answers. It fits the schema of the question, if it has one. */
      readonly value: unknown;
    }
  /** Nobody answers the question, and the tool is told. */
  | { readonly type: "decline"; readonly note?: string };

/** Who answers, and what exactly. */
export type AnswerOptions = {
  /** The person who decides. The log records it. */
  readonly by?: string;
  /** The hash of the input that the person saw. If the input has changed since, the answer is refused. */
  readonly inputHash?: string;
  /** Which question of the tool is answered. It may be left out if one is open. */
  readonly questionId?: string;
};

/**
 * Answering what a session waits for.
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
   * Answers a waiting call of this session or of a child session. Resolves to `second` if somebody answered before, or
   * if the time to answer is over; the answer then has no effect.
   * @throws PawlError `no_such_call`; `bad_input` if the answer is to another input, or does not fit the question
   *
   * @example
   * ```ts
   * // `callKey` and `inputHash` are those of the question that the person saw.
   * const place = await session.answer(callKey, { type: "deny", note: "Not this order." }, { by: "ada", inputHash });
   * if (place === "second") console.log("Somebody has answered before.");
   * ```
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

/** Which run is aborted, and why. */
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
