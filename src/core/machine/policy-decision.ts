/**
 * The decision about a tool call before it runs.
 */
import type { Json } from "../data/message.js";
import type { PermissionRule } from "./reserved-events.js";
import type { CallPolicy } from "./state.js";

/** How a call that could not be used was repaired: what was wrong with it, and the tool that is called instead. */
export type Repair = {
  /**
   * `input`: the arguments were fitted to the schema of a tool with `lenientInput`. `call_tool`: nothing was wrong; the model
   * called a deferred tool through `call_tool`, as it should.
   */
  readonly by: "near_name" | "json" | "input" | "custom" | "call_tool";
  /** What was wrong with the call. */
  readonly problem: string;
  /** The tool that is called instead, if it is another one. */
  readonly name?: string;
  /** What was changed in the arguments to fit the schema, in words: `offset is read as 1`. */
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
      /** If true, the run ends as well. */
      readonly stopRun?: boolean;
    }
  /** The call is blocked. */
  | {
      readonly verdict: "block";
      /** Why the call is blocked. The model reads it. */
      readonly reason: string;
      /** If true, the run ends as well. */
      readonly stopRun?: boolean;
      /** The model requests the same call again and again. */
      readonly repeated?: boolean;
    }
  /** The call cannot run: the tool is unknown, or the arguments do not parse or do not fit. */
  | {
      readonly verdict: "reject";
      /** Why the call cannot run. The model reads it. */
      readonly message: string;
    }
) & {
  /** How the call was repaired. Its `input` is then the repaired one. */
  readonly repair?: Repair;
  /** The rule that decided, as the permission check names it. */
  readonly rule?: PermissionRule;
};
