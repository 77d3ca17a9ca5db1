/**
 * Finds the agent of a child session among the agents behind an agent's tools.
 */
import { callOf, type SessionBinding } from "../../core/machine/state.js";
import type { Store } from "../../ports/store.js";
import { type AgentFamily, type ChildAgent, childAgentOf } from "../agent/agent-family.js";
import type { CompiledAgent } from "../agent/compiled-agent.js";

/**
 * The agent that a child session belongs to, by the chain of its parents; null if the chain does not begin with a session
 * of the given agent, or if a tool on the way is gone.
 */
export async function agentBelow(
  sessionId: string,
  parts: Pick<CompiledAgent, "name" | "store" | "family">,
): Promise<ChildAgent | null> {
  return childOf(sessionId, parts, new Set());
}

async function childOf(
  sessionId: string,
  parts: Pick<CompiledAgent, "name" | "store" | "family">,
  seen: Set<string>,
): Promise<ChildAgent | null> {
  if (seen.has(sessionId)) return null;
  seen.add(sessionId);
  const { store } = parts;
  const binding = await bindingOf(store, sessionId);
  const parent = binding?.parent;
  if (parent === undefined) return null;
  const isOurs = (await bindingOf(store, parent.sessionId))?.agent === parts.name;
  const family: AgentFamily | undefined = isOurs
    ? parts.family
    : (await childOf(parent.sessionId, parts, seen))?.family;
  if (family === undefined) return null;
  const state = (await store.load(parent.sessionId))?.state;
  const call = state === undefined ? undefined : callOf(state, parent.callKey);
  return (call !== undefined && childAgentOf(call.name, family)) || agentNamed(binding?.agent, family);
}

/** The parent has gone on without the child's result, for example after an abort. The child still has to end. */
function agentNamed(name: string | undefined, { children }: AgentFamily): ChildAgent | null {
  for (const child of children.values()) if (child.name === name) return child;
  return null;
}

/** What a session is bound to; if it has not begun, what its first request asks for. */
async function bindingOf(store: Store, sessionId: string): Promise<SessionBinding | null> {
  const begun = async () => (await store.load(sessionId))?.state.session ?? null;
  const session = await begun();
  if (session !== null) return session;
  for (const { body } of await store.inbox(sessionId)) if (body.type === "input") return body.session;
  // A driver may have taken the request in between.
  return begun();
}
