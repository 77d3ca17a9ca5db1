/**
 * The decision about a tool call before it runs.
 */
import type { Json } from "../data/message.js";
import type { PermissionRule } from "./reserved-events.js";
import type { CallPolicy } from "./state.js";

/** How an unusable call was repaired: the problem, and the tool that is called instead. */
export type Repair = {
  /**
   * `input`: the arguments were fitted to the schema of a tool with `lenientInput`. `call_tool`: nothing was wrong; the model correctly
   * called a deferred tool through `call_tool`.
   */
  readonly by: "near_name" | "json" | "input" | "custom" | "call_tool";
  /** What was wrong with the call. */
  readonly problem: string;
  /** The tool that is called instead, if it is a different one. */
  readonly name?: string;
  /** The changes that made the arguments fit the schema, as text: `offset is read as 1`. */
  readonly changes?: readonly string[];
};

/**
 * The policy's decision about a call, after parsing and validation. `input` is present only if a hook or a person changed it.
 */
export type PolicyDecision = (
  | {
      /** The call runs. */
      readonly verdict: "allow";
      readonly policy: CallPolicy;
      readonly input?: Json;
      readonly inputHash?: string;
    }
  /** A person is asked. */
  | {
      readonly verdict: "ask";
      readonly policy: CallPolicy;
      readonly input?: Json;
      readonly inputHash: string;
      readonly question?: string;
      readonly expiresAt?: number;
    }
  /** The policy does not allow the call. */
  | {
      readonly verdict: "deny";
      /** Why the call is denied. The model reads it. */
      readonly reason: string;
      /** If true, the run also ends. */
      readonly stopRun?: boolean;
    }
  /** The call is blocked. */
  | {
      readonly verdict: "block";
      /** Why the call is blocked. The model reads it. */
      readonly reason: string;
      /** If true, the run also ends. */
      readonly stopRun?: boolean;
      /** Set if the model keeps requesting the same call. */
      readonly repeated?: boolean;
    }
  /** The call cannot run: the tool is unknown, or the arguments do not parse or do not fit the schema. */
  | {
      readonly verdict: "reject";
      /** Why the call cannot run. The model reads it. */
      readonly message: string;
    }
) & {
  /** How the call was repaired. `input` is then the repaired input. */
  readonly repair?: Repair;
  /** The rule that decided, as reported by the permission check. */
  readonly rule?: PermissionRule;
};
