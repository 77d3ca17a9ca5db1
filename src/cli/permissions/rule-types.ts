/**
 * The words of permission rules: what they do, where they are kept, and how they are kept.
 */
import type { PawlError, PermissionRule } from "../../index.js";

export const verdicts = ["allow", "ask", "deny"] as const;
export type Verdict = (typeof verdicts)[number];

/** Where a rule is kept. `option`: of this process. `folder`: in the folder's own configuration. */
export type RuleScope = PermissionRule["scope"];

/** A rule as it is kept, with who made it, when, and for which call. */
export type StoredRule = {
  readonly rule: string;
  readonly by?: string;
  /** ISO 8601. */
  readonly at?: string;
  readonly call?: string;
};

export type RuleLists = { readonly [Name in Verdict]?: readonly StoredRule[] };

/** Makes the error that says why a rule cannot be read. */
export type CreateRuleError = (why: string) => PawlError;
