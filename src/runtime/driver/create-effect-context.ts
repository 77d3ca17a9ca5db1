/**
 * Creates the context of a session's effects, with the agent that drives the session in the given state.
 */
import type { State } from "../../core/machine/state.js";
import { withRunTools } from "../agent/agent-with-run-tools.js";
import { agentMismatch, type CompiledAgent, findSessionAgent } from "../agent/compiled-agent.js";
import type { Closing } from "../log/closing.js";
import { type EffectContext, openRunMemory } from "../work/effect-context.js";

type EffectSource = Omit<EffectContext, "now" | "runMemory">;

/** Null if the session belongs to an agent that this process does not have: another process handed the session over to it. */
export function createEffectContext(
  { sessionId, agent: localAgent, transcript, memory, hold, recorder, subscribers }: EffectSource,
  state: State,
): EffectContext | null {
  const sessionAgent = findSessionAgent(localAgent, state);
  if (sessionAgent === null) return null;
  const agent = withRunTools(sessionAgent, sessionId, transcript.run);
  const runMemory = openRunMemory(memory, transcript.run?.runId ?? null);
  return { sessionId, agent, state, transcript, memory, runMemory, now: agent.clock.now, hold, recorder, subscribers };
}

/** Leaves the session to a process that has its agent. */
export function agentMissingClosing({
  sessionId,
  state,
  agent,
}: {
  readonly sessionId: string;
  readonly state: State;
  readonly agent: CompiledAgent;
}): Closing {
  const error = agentMismatch(sessionId, state.session?.agent ?? "", agent);
  return { type: "interrupted", reason: "lease_lost", error };
}
