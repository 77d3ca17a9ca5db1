/**
 * Repairs tool calls that are unusable as the model wrote them.
 */
import type { ToolCallPart } from "../core/data/message.js";
import type { ToolSpecification } from "./model.js";
import type { PermissionContext } from "./tool.js";

/** A call that is unusable as the model wrote it. */
export type RepairRequest = {
  /** The call as the model wrote it. */
  readonly call: ToolCallPart;
  /** Why the call is unusable. */
  readonly problem: {
    /** The kind of problem. */
    readonly kind: "unknown_tool" | "invalid_json" | "invalid_input";
    /** A description of the problem. */
    readonly message: string;
  };
  /** The tool's specification, as it was sent to the model. Absent if the model did not name a tool that this run may use. */
  readonly specification?: ToolSpecification;
};

/**
 * Repairs a call. Returns another name, another input, or both; undefined or null leaves the call unchanged. The result is checked like any
 * other call, once. A function that throws or takes more than 10 s repairs nothing.
 */
export type RepairToolCall = (request: RepairRequest, context: PermissionContext) => Repaired | Promise<Repaired>;
/** The replacement for an unusable call; undefined or null if it cannot be repaired. */
export type Repaired =
  | {
      /** The tool to call. Default: the tool that the model named. */
      readonly name?: string;
      /** The input of the call. Default: the input that the model wrote. */
      readonly input?: unknown;
    }
  | null
  | undefined
  // biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing repairs nothing.
  | void;
