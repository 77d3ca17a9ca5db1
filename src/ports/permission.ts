/**
 * The permission check: whether a call may run, and what the check is told of it.
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
    /** Whether the tool says that it changes nothing. */
    readonly readOnly: boolean;
  };
  readonly input: Json;
};

/** Whether a call may run. A verdict as an object may name the rule that it goes by. */
export type Permission =
  | "allow"
  | "ask"
  | "deny"
  /** The call runs. */
  | ({ readonly verdict: "allow" } & ByRule)
  /** A person is asked. */
  | ({
      readonly verdict: "ask";
      /** What the person is asked. Default: a sentence that names the tool. */
      readonly question?: string;
      /** After so many milliseconds nobody can answer, and the call is denied. Default: it does not expire. */
      readonly expiresInMs?: number;
    } & ByRule)
  /** The call does not run. */
  | ({
      readonly verdict: "deny";
      /** Why it may not. The model reads it. */
      readonly reason: string;
      /** If true, the run ends as well. Default: false. */
      readonly stopRun?: boolean;
    } & ByRule);

/** The rule that decided. The log keeps it with the decision, so that it tells why a call ran without a question. */
type ByRule = {
  /** The rule by which it was decided. It is recorded. */
  readonly rule?: PermissionRule;
};

/**
 * Decides whether a call may run. If it throws, takes more than 10 s, or gives an answer that cannot be read, the call is
 * denied.
 */
export type CanExecuteTool<Deps = unknown, Params = unknown> = (
  call: PermissionRequest,
  context: PermissionContext<Deps, Params>,
) => Permission | Promise<Permission>;
