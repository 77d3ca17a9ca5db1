/**
 * A person's answers about tool calls.
 */
import type { Json, ToolOutput } from "../data/message.js";
import type { PermissionRule } from "./reserved-events.js";

/** A person's answer about a tool call. `rerun`, `result` and `fail` resolve a call that is in doubt. */
export type Answer =
  /** The call runs unchanged. */
  | { readonly type: "approve" }
  /** The call does not run. */
  | { readonly type: "deny"; readonly note?: string }
  /** The call runs with another input. */
  | {
      readonly type: "modify";
      /** The new input of the call. */
      readonly input: Json;
      readonly inputHash: string;
    }
  /** The call, which is in doubt, runs again. */
  | { readonly type: "rerun" }
  /** The call, which is in doubt, ended with this result. */
  | {
      readonly type: "result";
      /** The result, as far as the person knows it. */
      readonly output: ToolOutput;
      readonly isError?: boolean;
    }
  /** The call, which is in doubt, counts as failed. */
  | { readonly type: "fail"; readonly note?: string }
  /** Answers a question that a tool asked. */
  | {
      readonly type: "reply";
      /** The person's reply. */
      readonly value: Json;
    }
  /** The person declines to answer the question. */
  | { readonly type: "decline"; readonly note?: string };

/** A person's answer that was overruled, because the permission check denied the call. */
export type Overruled = {
  /** `approve` or `rerun`. */
  readonly answer: Answer["type"];
  /** Who answered, according to the caller. */
  readonly by?: string;
  /** The rule that denied the call, as reported by the permission check. */
  readonly rule?: PermissionRule;
};
