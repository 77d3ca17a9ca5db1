/**
 * The rules that a person can choose at a question, each with the scope in which it is saved.
 */
import type { PendingApproval } from "../../index.js";
import type { Permissions } from "./permissions.js";
import { loadSessionData, type RuleSession, type StorageScope, saveRule } from "./save-rule.js";

export type RuleChoice = {
  /** Describes the rule and its scope. */
  readonly label: string;
  readonly keep: () => Promise<void>;
};

export type RuleChoices = {
  readonly choices: readonly RuleChoice[];
  /** Notes about the rules, or why there are none. */
  readonly notes: readonly string[];
};

const scopeTexts: { readonly [Scope in StorageScope]: string } = {
  session: "in this session",
  project: "in this folder",
  user: "everywhere",
};

export type RuleChoiceOptions = {
  readonly permissions: Permissions;
  /** The session that the person works in. */
  readonly session: RuleSession;
  readonly by: string;
  /** The scopes in which rules can be saved. Default: all. */
  readonly scopes?: readonly StorageScope[];
};

/** The first argument is the waiting call, of this session or of a child, to which the rules of this session apply as well. */
export async function createRuleChoices(
  { name, input, callKey }: PendingApproval,
  { permissions, session, by, scopes = ["session", "project", "user"] }: RuleChoiceOptions,
): Promise<RuleChoices> {
  const offered = await permissions.offersFor(
    { name, input },
    { sessionId: session.id, data: (await loadSessionData(session)) ?? {} },
  );
  if ("why" in offered) return { choices: [], notes: [offered.why] };
  const choices = offered.offers.flatMap(({ rules, label, canPersist }) =>
    scopes
      .filter((scope) => scope === "session" || canPersist)
      .map((scope) => ({
        label: `${label}, ${scopeTexts[scope]}`,
        async keep() {
          for (const rule of rules)
            await saveRule({ permissions, session, by }, scope, "allow", { rule, call: callKey });
        },
      })),
  );
  return { choices, notes: [...new Set(offered.offers.flatMap(({ note }) => note ?? []))] };
}
