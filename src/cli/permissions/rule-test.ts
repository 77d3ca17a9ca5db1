/**
 * A call to decide, and what the rules of one kind of call have to say of it.
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
  /** Of a tool of an MCP server, as the server lists it now. */
  readonly version?: ToolVersion | undefined;
};

/** Null as a rule: the call needs none. `question`: what a person who is asked about the call has to know. */
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
  /** The real path of a call of a path tool: it is resolved once, and every rule is asked about this one. */
  readonly path?: string;
};
