/**
 * The rules that a person may pick at a question, each with the place where it is kept.
 */
import type { PendingApproval } from "../../index.js";
import type { Permissions } from "./permissions.js";
import { loadSessionData, type RuleSession, type StorageScope, saveRule } from "./save-rule.js";

export type RuleChoice = {
  /** The rule and its place, in words. */
  readonly label: string;
  readonly keep: () => Promise<void>;
};

export type RuleChoices = {
  readonly choices: readonly RuleChoice[];
  /** What the person should know of the rules; or why there are none. */
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
  /** Where rules may be kept. Default: wherever a person keeps rules. */
  readonly scopes?: readonly StorageScope[];
};

/** @param call one that asks, of this session or of a child */
export async function createRuleChoices(
  { name, input, callKey, sessionId: askingSessionId }: PendingApproval,
  { permissions, session, by, scopes = ["session", "project", "user"] }: RuleChoiceOptions,
): Promise<RuleChoices> {
  const offered = await permissions.offersFor(
    { name, input },
    { sessionId: session.id, data: (await loadSessionData(session)) ?? {} },
  );
  if ("why" in offered) return { choices: [], notes: [offered.why] };
  const choices = offered.offers.flatMap(({ rules, label, canPersist }) =>
    scopes
      // A child session has rules of its own.
      .filter((scope) => (scope === "session" ? askingSessionId === session.id : canPersist))
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
