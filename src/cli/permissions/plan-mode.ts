/**
 * Plan mode: nothing changes before the person has accepted a plan.
 *
 * 1. It is a mode of the session at the top, so it also applies to the agents that the session calls.
 * 2. No rule that allows something, not even `--yes`, lets a call run that plan mode denies.
 * 3. Commands run only in a sandbox in which the folder is read-only. Without a sandbox, only commands that just read run.
 */
import { readSandboxRequest } from "./decide-sandbox.js";
import { modeOf } from "./mode.js";
import { isAgentTool, planTool, reminderTool } from "./rule.js";
import type { CallToDecide } from "./rule-test.js";
import type { SessionRules } from "./session-rules.js";

export function isPlanning(session: SessionRules | undefined): boolean {
  return session !== undefined && modeOf(session) === "plan";
}

/** Why plan mode denies a call, as part of a sentence. */
export const planReason = `plan mode: nothing is changed before the person has accepted a plan. Read and think, and show the plan with ${planTool} if you have that tool`;

/** These tools change nothing in the folder. The rules decide about their other effects as usual. */
const allowedTools: ReadonlySet<string> = new Set(["fetch_url", "stop_process", reminderTool]);

/**
 * Whether plan mode denies a call. `unless-it-reads`: only a command that just reads may run.
 * @param isSandboxed whether commands run in a sandbox
 */
export function findPlanVerdict(
  { tool, readOnly, input }: Pick<CallToDecide, "tool" | "readOnly" | "input">,
  isSandboxed: boolean,
): "allow" | "deny" | "unless-it-reads" {
  if (tool === "shell") {
    const { isOutside, hosts, problem } = readSandboxRequest(input);
    if (isOutside || hosts.length > 0 || problem !== null) return "deny";
    return isSandboxed ? "allow" : "unless-it-reads";
  }
  return readOnly || allowedTools.has(tool) || isAgentTool(tool) ? "allow" : "deny";
}
