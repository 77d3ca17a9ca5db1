/**
 * A call to decide, and what the rules of one kind of call have to say of it.
 */
import type { Json } from "../../index.js";
import type { Rule } from "./rule.js";

export type CallToDecide = { readonly tool: string; readonly readOnly: boolean; readonly input: Json };

/** Null as a rule: the call needs none. */
export type AllowedBy = { readonly rule: Rule | null } | { readonly why: string };

export type CallTest = {
  readonly catches: (rule: Rule) => boolean;
  readonly allowedBy: (rules: readonly Rule[]) => AllowedBy | Promise<AllowedBy>;
  readonly mayBeDenied: boolean;
  /** The real path of a call of a path tool: it is resolved once, and every rule is asked about this one. */
  readonly path?: string;
};
