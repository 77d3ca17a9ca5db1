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
  /** What the model was told of the tool; absent if it named none that this run may use. */
  readonly specification?: ToolSpecification;
};

/**
 * Repairs a call: gives another name, another input, or both; nothing or null leaves it as it is. What comes out is checked
 * like any other call, once. A function that throws, or takes more than 10 s, repairs nothing.
 */
export type RepairToolCall = (request: RepairRequest, context: PermissionContext) => Repaired | Promise<Repaired>;
/** What takes the place of a call that cannot be used; nothing if it cannot be repaired. */
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
