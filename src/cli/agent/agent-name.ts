/**
 * The names of the command line's agents.
 */

/** The agent that sessions of the command line belong to. */
export const agentName = "pawl";

/** Whether sessions of this agent are children of sessions of the folder's agent. */
export function isFolderChild(name: string): boolean {
  return name.startsWith(`${agentName}/`);
}
