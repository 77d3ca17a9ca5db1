/**
 * "Always" as an answer to a question: which rules are offered, and what follows when one is kept.
 *
 * 1. The rule is durable before the call is approved.
 * 2. Other questions that the rule answers are answered with it.
 */
import type { Agent } from "../../index.js";
import { dataOf, type KeptScope, keepRule } from "../permissions/keep.js";
import type { Offer } from "../permissions/offers.js";
import type { Permissions } from "../permissions/permissions.js";
import type { SessionRules } from "../permissions/session-rules.js";
import { shortRule } from "../permissions/tool-version.js";
import { visible } from "../text.js";
import type { OpenQuestion } from "./questions.js";
import { reasonOf } from "./questions.js";
import type { SessionControl } from "./session-control.js";
import { wrappedNote } from "./view-lines.js";

/** What fails, and what cannot be offered, is said in the conversation. */
export type TalkRules = {
  /** Shows the rules that are offered for a call that asks. */
  readonly offer: (question: OpenQuestion, show: (offers: readonly Offer[]) => void) => void;
  /** Keeps the rules, and lets the call run. */
  readonly keep: (question: OpenQuestion, offer: Offer, scope: KeptScope) => void;
  /** Says why a call asks. */
  readonly explain: (question: OpenQuestion) => void;
};

export type TalkRulesParts = {
  readonly agent: Agent;
  readonly permissions: Permissions;
  readonly control: Pick<SessionControl, "sessionId" | "answer" | "say" | "fail" | "view">;
  readonly columns: () => number;
  readonly by: string;
};

export function createTalkRules({ agent, permissions, control, columns, by }: TalkRulesParts): TalkRules {
  const session = agent.session(control.sessionId);
  const say = (text: string) => control.say(wrappedNote(visible(text), columns(), "dim"));
  const act = (work: Promise<void>) => void work.catch(control.fail);
  const rulesOfSession = async (): Promise<SessionRules> => ({
    sessionId: session.id,
    data: (await dataOf(session)) ?? {},
  });

  async function offer(question: OpenQuestion, show: (offers: readonly Offer[]) => void): Promise<void> {
    const offered = await permissions.offersFor(question, await rulesOfSession());
    if ("why" in offered) say(offered.why);
    else show(offered.offers);
  }

  async function keep(question: OpenQuestion, { rules }: Offer, scope: KeptScope): Promise<void> {
    for (const rule of rules)
      await keepRule({ permissions, session, by }, scope, "allow", { rule, call: question.callKey });
    say(`From now on ${places[scope]}: ${rules.map(shortRule).join(", ")}. /permissions takes it back.`);
    control.answer(question, { type: "approve" });
    const present = await rulesOfSession();
    for (const other of control.view.questions.all()) {
      const isLike = other.why === "policy" && other.callKey !== question.callKey && other.childId === undefined;
      if (isLike && (await permissions.isAllowed(other, present))) control.answer(other, { type: "approve" });
    }
  }

  async function explain(question: OpenQuestion): Promise<void> {
    const call = { tool: question.name, readOnly: false, input: question.input };
    const decided = question.why === "policy" ? await permissions.decide(call, await rulesOfSession()) : undefined;
    say([reasonOf(question), decided?.why].filter((one) => one !== undefined).join(" "));
  }

  return {
    offer: (question, show) => act(offer(question, show)),
    keep: (question, offered, scope) => act(keep(question, offered, scope)),
    explain: (question) => act(explain(question)),
  };
}

const places: { readonly [Scope in KeptScope]: string } = {
  session: "in this session",
  project: "in this folder",
  user: "everywhere",
};
