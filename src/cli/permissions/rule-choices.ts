/**
 * The rules that a person can choose at a question, each with the scope in which it is saved.
 */
import type { PendingApproval } from "../../index.js";
import type { Permissions } from "./permissions.js";
import { loadSessionData, type RuleSession, type StorageScope, saveRule } from "./save-rule.js";

export type RuleChoice = {
  readonly verdict: "allow" | "deny";
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
  /** Also offers to deny such calls for the rest of the session. Default: false. */
  readonly offersDenial?: boolean;
};

/** The first argument is the waiting call, of this session or of a child, to which the rules of this session apply as well. */
export async function createRuleChoices(
  { name, input, callKey }: PendingApproval,
  { permissions, session, by, scopes = ["session", "project", "user"], offersDenial = false }: RuleChoiceOptions,
): Promise<RuleChoices> {
  const offered = await permissions.offersFor(
    { name, input },
    { sessionId: session.id, data: (await loadSessionData(session)) ?? {} },
  );
  if ("why" in offered) return { choices: [], notes: [offered.why] };
  const keep = (rules: readonly string[], scope: StorageScope, verdict: RuleChoice["verdict"]) => async () => {
    for (const rule of rules) await saveRule({ permissions, session, by }, scope, verdict, { rule, call: callKey });
  };
  const choices: readonly RuleChoice[] = offered.offers.flatMap(({ rules, label, canPersist }) =>
    scopes
      .filter((scope) => scope === "session" || canPersist)
      .map((scope) => ({
        verdict: "allow",
        label: `${label}, ${scopeTexts[scope]}`,
        keep: keep(rules, scope, "allow"),
      })),
  );
  // An offer of several rules is about hosts as well: denying those would stop other commands.
  const [first] = offersDenial ? offered.offers.filter(({ rules }) => rules.length === 1) : [];
  const denials: readonly RuleChoice[] =
    first === undefined
      ? []
      : [
          {
            verdict: "deny",
            label: `${first.label}, ${scopeTexts.session}`,
            keep: keep(first.rules, "session", "deny"),
          },
        ];
  return { choices: [...choices, ...denials], notes: [...new Set(offered.offers.flatMap(({ note }) => note ?? []))] };
}
