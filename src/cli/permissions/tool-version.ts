/**
 * Versions of the tools of MCP servers. A server may change a tool's description and input, so a stored rule is for the version
 * that a person has allowed: `mcp__docs__search@<SHA-256>`.
 *
 * 1. An allowing rule without a version, as Pawl 0.1 stored them, counts only if it was given to this process (`--allow`). Then
 *    it is about the tools as they were when the server was started.
 * 2. Rules that deny or ask apply to every version.
 */

import { formatRuleSource, type Rule } from "./rule.js";
import type { CallToDecide, ToolVersion } from "./rule-test.js";

/** Returns the current version of a server's tool; undefined for all other tools. */
export type FindVersion = (tool: string) => ToolVersion | undefined;

export const isServerTool = (tool: string) => tool.startsWith("mcp__");

/** Whether a rule that names the tool is for its current version. */
export function coversVersion({ version, scope }: Rule, { tool, version: currentVersion }: CallToDecide): boolean {
  if (!isServerTool(tool)) return true;
  if (version !== undefined) return version === currentVersion?.hash;
  return scope === "option" && currentVersion?.isChanged !== true;
}

/** Explains, to the person who is asked, why a rule that names the tool does not allow the call. */
export function explainVersionMismatch(rule: Rule, { tool, version }: CallToDecide): string {
  const name = `${rule.tool} (${formatRuleSource(rule)})`;
  if (version === undefined) return `The rule ${name} does not apply, because no server lists ${tool} now.`;
  const [, server = ""] = /^mcp__(.+?)__/.exec(tool) ?? [];
  if (rule.version === undefined && rule.scope !== "option")
    return `The rule ${name} is not for a particular version of the tool. Answer "always" to store the rule for the current version.`;
  const since = rule.at === undefined ? "it was allowed" : `you allowed it on ${rule.at.slice(0, 10)}`;
  return `${tool} has changed since ${since}. Review it before you allow it again: pawl mcp test ${server}`;
}

/** Shortens the version in a rule for display. */
export function shortenRule(rule: string): string {
  return rule.replace(/^(mcp__[\w-]+@[0-9a-f]{8})[0-9a-f]{56}$/, "$1…");
}
