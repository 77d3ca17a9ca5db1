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
  const parent = (await bindingOf(store, sessionId))?.parent;
  if (parent === undefined) return null;
  const isOurs = (await bindingOf(store, parent.sessionId))?.agent === parts.name;
  const family: AgentFamily | undefined = isOurs
    ? parts.family
    : (await childOf(parent.sessionId, parts, seen))?.family;
  const state = (await store.load(parent.sessionId))?.state;
  const call = state === undefined ? undefined : callOf(state, parent.callKey);
  return (family !== undefined && call !== undefined && childAgentOf(call.name, family)) || null;
}

/** What a session is bound to; if it has not begun, what its first request asks for. */
async function bindingOf(store: Store, sessionId: string): Promise<SessionBinding | null> {
  const session = (await store.load(sessionId))?.state.session;
  if (session !== null && session !== undefined) return session;
  for (const { body } of await store.inbox(sessionId)) if (body.type === "input") return body.session;
  return null;
}
