/**
 * A call to decide about, and the test of the rules against one kind of call.
 */
import type { Json } from "../../index.js";
import type { Rule } from "./rule.js";

export type ToolVersion = {
  /** SHA-256 of the tool's description, input schema and annotations, in hexadecimal. */
  readonly hash: string;
  /** Whether the server has changed the tool since it was started. */
  readonly isChanged: boolean;
};

export type CallToDecide = {
  readonly tool: string;
  readonly readOnly: boolean;
  readonly input: Json;
  /** The version of an MCP server's tool, as the server lists it now. */
  readonly version?: ToolVersion | undefined;
  /** The question about this call of a tool whose calls otherwise need no rule. */
  readonly asks?: string | undefined;
};

/** A null rule means that the call needs none. `question`: what a person has to know to decide about the call. */
export type AllowResult =
  | { readonly rule: Rule | null }
  | {
      readonly why: string;
      readonly question?: string;
      /** Whether the call asks for more than the sandbox gives, which only a rule about that or a person allows. */
      readonly isBeyondSandbox?: true;
    };

export type RuleTest = {
  readonly catches: (rule: Rule) => boolean;
  readonly allowedBy: (rules: readonly Rule[]) => AllowResult | Promise<AllowResult>;
  readonly mayBeDenied: boolean;
  /** Whether the call asks for more than the sandbox gives. */
  readonly isBeyondSandbox?: boolean;
  /** The real path of a call of a path tool: it is resolved once, and every rule is tested against it. */
  readonly path?: string;
};
