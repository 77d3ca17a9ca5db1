/**
 * The rules that a person may pick at a question, each with the place where it is kept.
 */
import type { PendingApproval } from "../../index.js";
import { dataOf, type KeptScope, keepRule, type RuleSession } from "./keep.js";
import type { Permissions } from "./permissions.js";

export type RulePick = {
  /** The rule and its place, in words. */
  readonly says: string;
  readonly keep: () => Promise<void>;
};

export type RulePicks = {
  readonly choices: readonly RulePick[];
  /** What the person should know of the rules; or why there are none. */
  readonly notes: readonly string[];
};

const places: { readonly [Scope in KeptScope]: string } = {
  session: "in this session",
  project: "in this folder",
  user: "everywhere",
};

export type PickOptions = {
  readonly permissions: Permissions;
  /** The session that the person works in. */
  readonly session: RuleSession;
  readonly by: string;
  /** Where rules may be kept. Default: wherever a person keeps rules. */
  readonly scopes?: readonly KeptScope[];
};

/** @param call one that asks, of this session or of a child */
export async function picksFor(
  { name, input, callKey, sessionId: asking }: PendingApproval,
  { permissions, session, by, scopes = ["session", "project", "user"] }: PickOptions,
): Promise<RulePicks> {
  const offered = await permissions.offersFor(
    { name, input },
    { sessionId: session.id, data: (await dataOf(session)) ?? {} },
  );
  if ("why" in offered) return { choices: [], notes: [offered.why] };
  const choices = offered.offers.flatMap(({ rules, says, mayLast }) =>
    scopes
      // A child session has rules of its own.
      .filter((scope) => (scope === "session" ? asking === session.id : mayLast))
      .map((scope) => ({
        says: `${says}, ${places[scope]}`,
        async keep() {
          for (const rule of rules)
            await keepRule({ permissions, session, by }, scope, "allow", { rule, call: callKey });
        },
      })),
  );
  return { choices, notes: [...new Set(offered.offers.flatMap(({ note }) => note ?? []))] };
}
