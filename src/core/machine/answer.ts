/**
 * What a person may answer.
 */
import type { Json, ToolOutput } from "../data/message.js";

/** A person's answer to a call that asks. `rerun`, `result` and `fail` answer a question of recovery. */
export type Answer =
  /** The call runs as it is. */
  | { readonly type: "approve" }
  /** The call does not run. */
  | { readonly type: "deny"; readonly note?: string }
  /** The call runs with another input. */
  | {
      readonly type: "modify";
      /** The input that the call runs with instead. */
      readonly input: Json;
      readonly inputHash: string;
    }
  /** The call, which is in doubt, runs again. */
  | { readonly type: "rerun" }
  /** The call, which is in doubt, ended so. */
  | {
      readonly type: "result";
      /** The result, as the person knows it. */
      readonly output: ToolOutput;
      readonly isError?: boolean;
    }
  /** The call, which is in doubt, counts as failed. */
  | { readonly type: "fail"; readonly note?: string }
  /** Answers a question that a tool asked. */
  | {
      readonly type: "reply";
      /** What the person answered. */
      readonly value: Json;
    }
  /** Nobody answers the question. */
  | { readonly type: "decline"; readonly note?: string };
