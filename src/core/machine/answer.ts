/**
 * What a person may answer.
 */
import type { Json, ToolOutput } from "../data/message.js";

/** A person's answer to a call that asks. `rerun`, `result` and `fail` answer a question of recovery. */
export type Answer =
  | { readonly type: "approve" }
  | { readonly type: "deny"; readonly note?: string }
  | { readonly type: "modify"; readonly input: Json; readonly inputHash: string }
  | { readonly type: "rerun" }
  | { readonly type: "result"; readonly output: ToolOutput; readonly isError?: boolean }
  | { readonly type: "fail"; readonly note?: string }
  /** Answers a question that a tool asked. */
  | { readonly type: "reply"; readonly value: Json }
  | { readonly type: "decline"; readonly note?: string };
