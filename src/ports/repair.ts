/**
 * Repairs of tool calls that cannot be used as the model wrote them.
 */
import type { ToolCallPart } from "../core/data/message.js";
import type { ToolSpecification } from "./model.js";
import type { PermissionContext } from "./tool.js";

/** A call that cannot be used as the model wrote it. */
export type RepairRequest = {
  /** The call as the model wrote it. */
  readonly call: ToolCallPart;
  /** Why it cannot be used. */
  readonly problem: {
    /** The kind of the problem. */
    readonly kind: "unknown_tool" | "invalid_json" | "invalid_input";
    /** The problem in words. */
    readonly message: string;
  };
  /** The specification of the tool, as the model was sent it; absent if the model named no tool that this run may use. */
  readonly specification?: ToolSpecification;
};

/**
 * Repairs a call: returns another name, another input, or both; nothing or null leaves the call as it is. The result is
 * checked like any other call, once. A function that throws, or takes more than 10 s, repairs nothing.
 */
export type RepairToolCall = (request: RepairRequest, context: PermissionContext) => Repaired | Promise<Repaired>;
/** Replaces a call that cannot be used; nothing if it cannot be repaired. */
export type Repaired =
  | {
      /** The tool that is called. Default: the one that the model named. */
      readonly name?: string;
      /** The input of the call. Default: the one that the model wrote. */
      readonly input?: unknown;
    }
  | null
  | undefined
  // biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing repairs nothing.
  | void;
