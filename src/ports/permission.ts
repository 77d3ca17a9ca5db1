/**
 * The permission check: whether a call may run, and the facts that the check receives.
 */
import type { Json, ToolCallPart } from "../core/data/message.js";
import type { PermissionRule } from "../core/machine/reserved-events.js";
import type { PermissionContext } from "./tool.js";

/** The call that needs permission, with the input that it would run with. */
export type PermissionRequest = {
  readonly callKey: string;
  /** The call as the model asked for it. */
  readonly toolCall: ToolCallPart;
  /** The tool. */
  readonly tool: {
    readonly name: string;
    /** Whether the tool is declared read-only. */
    readonly readOnly: boolean;
  };
  readonly input: Json;
};

/** Whether a call may run. A verdict given as an object may name the rule that it is based on. */
export type Permission =
  | "allow"
  | "ask"
  | "deny"
  /** The call runs. */
  | ({ readonly verdict: "allow" } & ByRule)
  /** A person is asked. */
  | ({
      readonly verdict: "ask";
      /** The question for the person. Default: a sentence that names the tool. */
      readonly question?: string;
      /** Milliseconds until the question expires and the call is denied. Default: it does not expire. */
      readonly expiresInMs?: number;
    } & ByRule)
  /** The call does not run. */
  | ({
      readonly verdict: "deny";
      /** Why the call may not run. The model reads this. */
      readonly reason: string;
      /** If true, the run also ends. Default: false. */
      readonly stopRun?: boolean;
    } & ByRule);

/** The rule behind a verdict. The log keeps it with the decision, to show why a call ran without a question. */
type ByRule = {
  /** The rule that the verdict is based on. It is recorded. */
  readonly rule?: PermissionRule;
};

/** Decides whether a call may run. If the function throws, takes more than 10 s, or returns an invalid value, the call is denied. */
export type CanExecuteTool<Deps = unknown, Params = unknown> = (
  call: PermissionRequest,
  context: PermissionContext<Deps, Params>,
) => Permission | Promise<Permission>;
