/**
 * Saves and removes rules.
 */
import { PawlError, type Session, type SessionData } from "../../index.js";
import { userHome } from "./path-pattern.js";
import type { Permissions } from "./permissions.js";
import { parseRule, type Rule } from "./rule.js";
import { type RuleLists, type RuleScope, type StoredRule, type Verdict, verdicts } from "./rule-types.js";
import { readSessionRules, sessionRulesKey } from "./session-rules.js";

/** The scopes in which a person can save rules. */
export type StorageScope = Extract<RuleScope, "session" | "project" | "user">;

export type RuleSession = Pick<Session, "id" | "data" | "setData">;

type RuleStorageDeps = {
  readonly permissions: Pick<Permissions, "files">;
  readonly session: RuleSession | null;
  readonly by: string;
};

/** @throws PawlError `bad_configuration` if the rule is invalid, or if there is no session yet */
export async function saveRule(
  { permissions, session, by }: RuleStorageDeps,
  scope: StorageScope,
  verdict: Verdict,
  { rule, call }: Pick<StoredRule, "rule" | "call">,
): Promise<Rule> {
  const stored: StoredRule = {
    rule: rule.trim(),
    by,
    at: new Date().toISOString(),
    ...(call === undefined ? {} : { call }),
  };
  const compiledRule = parseRule(verdict, stored, scope, userHome);
  const add = (lists: RuleLists): RuleLists => {
    const list = lists[verdict] ?? [];
    if (list.some((one) => one.rule === stored.rule)) return lists;
    const others =
      compiledRule.version === undefined ? list : list.filter((one) => toolNameOf(one.rule) !== compiledRule.tool);
    return { ...lists, [verdict]: [...others, stored] };
  };
  await updateRules({ permissions, session, by }, scope, add);
  return compiledRule;
}

/** The tool of a rule without its version, because a rule for the current version replaces the earlier ones. */
const toolNameOf = (rule: string) => rule.trim().replace(/@[0-9a-f]*$/, "");

/** Removes a rule from its scope. @returns whether there was one */
export async function removeRule(
  deps: RuleStorageDeps,
  { rule, verdict, scope }: Pick<Rule, "rule" | "verdict" | "scope">,
): Promise<boolean> {
  if (scope === "option" || scope === "folder") return false;
  let isRemoved = false;
  await updateRules(deps, scope, (lists) => {
    const remaining = (lists[verdict] ?? []).filter((one) => one.rule !== rule);
    isRemoved = remaining.length !== (lists[verdict] ?? []).length;
    return { ...lists, [verdict]: remaining };
  });
  return isRemoved;
}

async function updateRules(
  { permissions, session, by }: RuleStorageDeps,
  scope: StorageScope,
  update: (lists: RuleLists) => RuleLists,
) {
  if (scope !== "session") return await permissions.files[scope].change(update);
  const data = await loadSessionData(session);
  if (session === null || data === null)
    throw new PawlError(
      "bad_configuration",
      "The session has not started yet, so it cannot store rules. Send a message first.",
    );
  const lists = update(readSessionRules({ sessionId: session.id, data }));
  const plain = Object.fromEntries(verdicts.map((verdict) => [verdict, lists[verdict] ?? []]));
  await session.setData({ set: { [sessionRulesKey]: { session: session.id, ...plain } } }, { by });
}

/** The data of a session; null if it has not begun. */
export async function loadSessionData(session: RuleSession | null): Promise<SessionData | null> {
  try {
    return (await session?.data()) ?? null;
  } catch (error) {
    if (error instanceof PawlError && error.code === "no_session") return null;
    throw error;
  }
}
