/**
 * The answer "always" to a question: the rules that are offered, and the effects of saving one.
 *
 * 1. The rule is durable before the call is approved.
 * 2. Other open questions that the rule settles are answered by it as well.
 * 3. A session rule is stored in the session that the person sees, and also applies to the agents that the session calls.
 */
import type { Agent } from "../../index.js";
import type { Permissions } from "../permissions/permissions.js";
import type { RuleOffer } from "../permissions/rule-offers.js";
import { loadSessionData, type StorageScope, saveRule } from "../permissions/save-rule.js";
import type { SessionRules } from "../permissions/session-rules.js";
import { shortenRule } from "../permissions/tool-version.js";
import { sanitize } from "../terminal/text.js";
import { wrapNote } from "./lines/view-lines.js";
import type { SessionControl } from "./session-control.js";
import type { OpenQuestion } from "./view/questions.js";
import { explainQuestion } from "./view/questions.js";

/** Failures, and why no rule can be offered, are reported in the conversation. */
export type RuleActions = {
  /** Offers rules for the call of a question. */
  readonly offer: (question: OpenQuestion, show: (offers: readonly RuleOffer[]) => void) => void;
  /** Saves the rules, and lets the call run. */
  readonly keep: (question: OpenQuestion, offer: RuleOffer, scope: StorageScope) => void;
  /** Explains why a call needs an answer. */
  readonly explain: (question: OpenQuestion) => void;
};

export type RuleActionsDeps = {
  readonly agent: Agent;
  readonly permissions: Permissions;
  readonly control: Pick<SessionControl, "sessionId" | "answer" | "say" | "fail" | "view">;
  readonly columns: () => number;
  readonly by: string;
};

export function createRuleActions({ agent, permissions, control, columns, by }: RuleActionsDeps): RuleActions {
  const session = agent.session(control.sessionId);
  const say = (text: string) => control.say(wrapNote(sanitize(text), columns(), "dim"));
  const runInBackground = (work: Promise<void>) => void work.catch(control.fail);
  const loadSessionRules = async (): Promise<SessionRules> => ({
    sessionId: session.id,
    data: (await loadSessionData(session)) ?? {},
  });

  async function offer(question: OpenQuestion, show: (offers: readonly RuleOffer[]) => void): Promise<void> {
    const offered = await permissions.offersFor(question, await loadSessionRules());
    if ("why" in offered) say(offered.why);
    else show(offered.offers);
  }

  async function keep(question: OpenQuestion, { rules }: RuleOffer, scope: StorageScope): Promise<void> {
    for (const rule of rules)
      await saveRule({ permissions, session, by }, scope, "allow", { rule, call: question.callKey });
    say(`Allowed from now on ${scopeTexts[scope]}: ${rules.map(shortenRule).join(", ")}. /permissions removes rules.`);
    control.answer(question, { type: "approve" });
    const sessionRules = await loadSessionRules();
    for (const other of control.view.questions.all()) {
      const canBeAllowed = other.why === "policy" && other.callKey !== question.callKey;
      if (canBeAllowed && (await permissions.isAllowed(other, sessionRules)))
        control.answer(other, { type: "approve" });
    }
  }

  async function explain(question: OpenQuestion): Promise<void> {
    const call = { tool: question.name, readOnly: false, input: question.input };
    const decision = question.why === "policy" ? await permissions.decide(call, await loadSessionRules()) : undefined;
    say([explainQuestion(question), decision?.why].filter((reason) => reason !== undefined).join(" "));
  }

  return {
    offer: (question, show) => runInBackground(offer(question, show)),
    keep: (question, offered, scope) => runInBackground(keep(question, offered, scope)),
    explain: (question) => runInBackground(explain(question)),
  };
}

const scopeTexts: { readonly [Scope in StorageScope]: string } = {
  session: "in this session",
  project: "in this folder",
  user: "everywhere",
};
