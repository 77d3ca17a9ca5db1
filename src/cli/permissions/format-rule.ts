/**
 * Formats rules, and the verdict of the rules on a command line, for `/permissions` and `pawl permissions`.
 */
import type { Permissions } from "./permissions.js";
import { formatRuleSource, type Rule } from "./rule.js";
import type { SessionRules } from "./session-rules.js";
import { shortenRule } from "./tool-version.js";

/** A rule as a line: `allow  shell(npm test *)  yours, for this folder; ada, 2026-11-23`. */
export function formatRule({
  verdict,
  rule,
  by,
  at,
  ...other
}: Pick<Rule, "verdict" | "rule" | "by" | "at" | "scope">): string {
  const origin = [by, at?.slice(0, 10)].filter((one) => one !== undefined).join(", ");
  return `${verdict.padEnd(5)}  ${shortenRule(rule)}  (${formatRuleSource(other)}${origin === "" ? "" : `; ${origin}`})`;
}

/** Describes the verdict of the rules on a shell line. */
export async function formatTestedLine(
  permissions: Permissions,
  line: string,
  session?: SessionRules,
): Promise<string> {
  const call = { tool: "shell", readOnly: false, input: { command: line } };
  const { verdict, rule, why } = await permissions.decide(call, session);
  const verdictText = { allow: "This runs without a question.", ask: "This asks.", deny: "This is denied." }[verdict];
  return `${verdictText} ${rule === undefined ? (why ?? "") : `The rule ${rule.rule} (${formatRuleSource(rule)}) says so.`}`.trim();
}
