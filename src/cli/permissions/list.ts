/**
 * The rules in force as lines, and what the rules say of a command line: for `/permissions` and `pawl permissions`.
 */
import type { Permissions } from "./permissions.js";
import { type Rule, sourceOf } from "./rule.js";
import type { SessionRules } from "./session-rules.js";
import { shortRule } from "./tool-version.js";

/** A rule as a line: `allow  shell(npm test *)  yours, for this folder; ada, 2026-11-23`. */
export function ruleText({ verdict, rule, by, at, ...other }: Rule): string {
  const origin = [by, at?.slice(0, 10)].filter((one) => one !== undefined).join(", ");
  return `${verdict.padEnd(5)}  ${shortRule(rule)}  (${sourceOf(other)}${origin === "" ? "" : `; ${origin}`})`;
}

/** What the rules say of a line of the shell, in words. */
export async function testedLine(permissions: Permissions, line: string, session?: SessionRules): Promise<string> {
  const call = { tool: "shell", readOnly: false, input: { command: line } };
  const { verdict, rule, why } = await permissions.decide(call, session);
  const says = { allow: "This runs without a question.", ask: "This asks.", deny: "This is denied." }[verdict];
  return `${says} ${rule === undefined ? (why ?? "") : `The rule ${rule.rule} (${sourceOf(rule)}) says so.`}`.trim();
}
