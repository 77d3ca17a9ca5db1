/**
 * Keeps a rule, and takes one away.
 */
import { PawlError, type Session, type SessionData } from "../../index.js";
import { personalFolder } from "./path-pattern.js";
import type { Permissions } from "./permissions.js";
import { type Rule, readRule } from "./rule.js";
import { type KeptRule, type RuleLists, type RuleScope, type Verdict, verdicts } from "./rule-text.js";
import { readSessionRules, sessionRulesKey } from "./session-rules.js";

/** The scopes in which a person keeps rules. */
export type KeptScope = Extract<RuleScope, "session" | "project" | "user">;

export type RuleSession = Pick<Session, "id" | "data" | "setData">;

type Place = { readonly permissions: Permissions; readonly session: RuleSession | null; readonly by: string };

/** @throws PawlError `bad_configuration` if the rule cannot be read, or if there is no session yet */
export async function keepRule(
  { permissions, session, by }: Place,
  scope: KeptScope,
  verdict: Verdict,
  { rule, call }: Pick<KeptRule, "rule" | "call">,
): Promise<Rule> {
  const kept: KeptRule = {
    rule: rule.trim(),
    by,
    at: new Date().toISOString(),
    ...(call === undefined ? {} : { call }),
  };
  const made = readRule(verdict, kept, scope, personalFolder);
  const add = (lists: RuleLists): RuleLists => {
    const list = lists[verdict] ?? [];
    if (list.some((one) => one.rule === kept.rule)) return lists;
    const others = made.version === undefined ? list : list.filter((one) => nameIn(one.rule) !== made.tool);
    return { ...lists, [verdict]: [...others, kept] };
  };
  await changeRules({ permissions, session, by }, scope, add);
  return made;
}

/** The tool of a rule, without its version: a rule for the present version takes the place of the earlier ones. */
const nameIn = (rule: string) => rule.trim().replace(/@[0-9a-f]*$/, "");

/** Takes the rule away wherever a person keeps it. @returns whether there was one */
export async function dropRule(
  place: Place,
  { rule, verdict, scope }: Pick<Rule, "rule" | "verdict" | "scope">,
): Promise<boolean> {
  if (scope === "option" || scope === "folder") return false;
  let isFound = false;
  await changeRules(place, scope, (lists) => {
    const left = (lists[verdict] ?? []).filter((one) => one.rule !== rule);
    isFound = left.length !== (lists[verdict] ?? []).length;
    return { ...lists, [verdict]: left };
  });
  return isFound;
}

async function changeRules(
  { permissions, session, by }: Place,
  scope: KeptScope,
  make: (lists: RuleLists) => RuleLists,
) {
  if (scope !== "session") return await permissions.files[scope].change(make);
  const data = await dataOf(session);
  if (session === null || data === null)
    throw new PawlError(
      "bad_configuration",
      "The session has not begun yet, so it keeps no rules. Send a message first.",
    );
  const lists = make(readSessionRules({ sessionId: session.id, data }));
  const plain = Object.fromEntries(verdicts.map((verdict) => [verdict, lists[verdict] ?? []]));
  await session.setData({ set: { [sessionRulesKey]: { session: session.id, ...plain } } }, { by });
}

/** The data of a session; null if it has not begun. */
export async function dataOf(session: RuleSession | null): Promise<SessionData | null> {
  try {
    return (await session?.data()) ?? null;
  } catch (error) {
    if (error instanceof PawlError && error.code === "no_session") return null;
    throw error;
  }
}
