/**
 * Finds the agent of a child session among the agents that are used as tools.
 */
import { callOf } from "../../core/machine/state.js";
import { type ChildAgent, findAgentByName, findChildAgent } from "../agent/agent-family.js";
import { type CompiledAgent, listFamilies, reaches } from "../agent/compiled-agent.js";
import { findBinding } from "./session-beginning.js";

/**
 * The agent that a child session belongs to, found through the chain of its parents. Null if the chain does not begin with a
 * session of the given agent, or if a tool on the way no longer exists.
 */
export async function findAgentOfChild(sessionId: string, agent: AncestorDeps): Promise<ChildAgent | null> {
  return resolveChildAgent(sessionId, agent, new Set());
}

type AncestorDeps = Pick<CompiledAgent, "name" | "store" | "family" | "graph">;

async function resolveChildAgent(
  sessionId: string,
  agent: AncestorDeps,
  seen: Set<string>,
): Promise<ChildAgent | null> {
  if (seen.has(sessionId)) return null;
  seen.add(sessionId);
  const { store } = agent;
  const binding = await findBinding(store, sessionId);
  const parent = binding?.parent;
  if (parent === undefined) return null;
  const parentAgent = (await findBinding(store, parent.sessionId))?.agent;
  const families =
    parentAgent !== undefined && reaches(agent, parentAgent)
      ? listFamilies(agent, parentAgent)
      : await resolveChildAgent(parent.sessionId, agent, seen).then((child) => child?.families(parentAgent) ?? []);
  const [family] = families;
  if (family === undefined) return null;
  const state = (await store.load(parent.sessionId))?.state;
  const call = state === undefined ? undefined : callOf(state, parent.callKey);
  const byTool = call === undefined ? undefined : findChildAgent(call.name, family);
  // The parent may have continued without the child's result, for example after an abort. The child still has to end.
  return byTool ?? findAgentByName(binding?.agent, families) ?? null;
}
