/**
 * Texts of effects for a model: results of calls that did not run as requested, and the reasons of refusals.
 *
 * A reason follows "Error: Denied: " or "Error: Blocked: " in the result of a call, so it begins in lower case and ends without a full
 * stop. Other texts for models: core/transcript/loop-prompts.ts, src/context/prompts.ts, runtime/agent/structured-output.ts.
 */
import type { ToolOutput } from "../../core/data/message.js";
import { nearestName } from "../../core/data/nearest-name.js";

export function errorOutput(message: string): ToolOutput {
  return { type: "text", text: `Error: ${message}` };
}

export function unknownTool(name: string): string {
  return `Unknown tool '${name}'`;
}

/** For a tool that only the run has, in a process that does not have it. */
export function missingTool(name: string): string {
  return `The tool '${name}' was given to this run alone, and the process that carries the run on does not have it. Go on without it`;
}

const maxListedTools = 60;
/** In characters. */
const maxToolList = 2_000;

/** The same with the known names, so that the model can choose another tool. The nearest name comes first. */
export function unknownToolWithNames(name: string, offered: readonly string[]): string {
  if (offered.length === 0) return `${unknownTool(name)}. There are no tools in this run.`;
  const nearest = nearestName(name, offered);
  const ordered = nearest === undefined ? offered : [nearest, ...offered.filter((one) => one !== nearest)];
  const listed: string[] = [];
  let length = 0;
  for (const one of ordered.slice(0, maxListedTools)) {
    length += one.length + 2;
    if (length > maxToolList) break;
    listed.push(one);
  }
  const more = ordered.length - listed.length;
  return `${unknownTool(name)}. The tools are: ${listed.join(", ")}${more === 0 ? "" : `, and ${more} more`}.`;
}

export const inputNotApproved = "The input is not the one that was approved. The call was not run.";

export function toolTimedOut(timeoutMs: number): string {
  return `Timed out after ${timeoutMs} ms. It may still be running; its outcome is unknown.`;
}

/** Says that the tool did its work, so that the model does not call it again. */
export function modelOutputFailed(message: string): string {
  return `The tool ran, and what it returned could not be prepared for you: ${message}`;
}

/** For a tool that yields its results and was stopped before the last one. */
export const stoppedBeforeResult = "The call was stopped before it had its result.";

/** The output of a done tool without a message. */
export const doneOutput: ToolOutput = { type: "text", text: "Done." };

export const budgetUsedUp = "The run's budget is used up; nothing is left for another agent.";

export function childLimitReached(limit: number): string {
  return `This run has started as many other agents as it may (limits.maxChildren: ${limit}). The call was not run. Go on with what you have.`;
}

export function childrenAtOnceReached(limit: number): string {
  return `As many agents as may are at work in the background (limits.maxChildrenAtOnce: ${limit}). The call was not run. Wait until one has ended, or stop one with ${stopAgentToolName}.`;
}

/** The tools of an agent that can start other agents in the background. */
export const readAgentToolName = "read_agent";
export const stopAgentToolName = "stop_agent";

export function startedInBackground(agent: string, id: string): string {
  return `The agent "${agent}" works in the background as ${id}. Go on with other work: a message tells you when it has ended. ${readAgentToolName} shows its state, and ${stopAgentToolName} stops it.`;
}

/** @param how the status and the reason of its run */
export function endedInBackground(agent: string, id: string, how: string): string {
  return `[Note, not from the user: the agent "${agent}", which you started in the background as ${id}, has ended (${how}). ${readAgentToolName} gives its answer.]`;
}

/** Sent in place of `endedInBackground` if the agent's session was deleted before it ended. */
export function lostInBackground(agent: string, id: string): string {
  return `[Note, not from the user: the session of the agent "${agent}", which you started in the background as ${id}, was deleted before the agent ended. There is no answer.]`;
}

export function childLost(agent: string): string {
  return `The session of the agent "${agent}" was deleted before the agent ended. There is no answer.`;
}

/** @param why the status and the reason of the child's run, or that it did not end */
export function childNotFinished(agent: string, why: string, text: string): string {
  return `The agent "${agent}" did not finish (${why}): ${text}`;
}

export const repetitionEndsRun = "the same call was asked for again and again, which ended the run";

export function repeatedCall(timesInRow: number): string {
  return `you have asked for this same call ${timesInRow} times in a row, and it was not run again. Go by the results that you have, or do something else; asking for a call over and over once more ends the run`;
}

export const nobodyCanApprove = "it needs an approval, and nobody can be asked";

/** The same with the question, which says why the call needs an approval. */
export const whyNobodyApproves = (question: string) => `${nobodyCanApprove}: ${question.replace(/\.$/, "")}`;

/** The note of a tool's question that is declined automatically. */
export const nobodyCanAnswer = "nobody can be asked in this run";

export const toolNotAllowed = "this tool may not be used";

export function permissionCheckFailed(why: string): string {
  return `the permission check failed (${why})`;
}

/** The question to a person if the tool's `needsApproval` failed. */
export function approvalCheckFailed(why: string): string {
  return `The tool could not tell whether this call needs an approval: ${why}`;
}

/** @param why the reason why the outcome of an interrupted call is unknown */
export function nobodyKnowsOutcome(why: string): string {
  return `${why}, and nobody can be asked`;
}
