/**
 * The types of permission rules: their verdicts, their scopes, and how they are stored.
 */
import type { PermissionRule } from "../../core/index.js";
import type { PawlError } from "../../index.js";

export const verdicts = ["allow", "ask", "deny"] as const;
export type Verdict = (typeof verdicts)[number];

/** Where a rule is stored. `option`: only in this process. `folder`: in the folder's own configuration. */
export type RuleScope = PermissionRule["scope"];

/** A stored rule, with who made it, when, and for which call. */
export type StoredRule = {
  readonly rule: string;
  readonly by?: string;
  /** ISO 8601. */
  readonly at?: string;
  readonly call?: string;
};

export type RuleLists = { readonly [Name in Verdict]?: readonly StoredRule[] };

/** Creates the error for an invalid rule. */
export type CreateRuleError = (why: string) => PawlError;
