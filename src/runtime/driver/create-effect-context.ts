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
  { sessionId, parts: localAgent, transcript, memory, hold, recorder, subscribers }: EffectSource,
  state: State,
): EffectContext | null {
  const agent = findSessionAgent(localAgent, state);
  if (agent === null) return null;
  const parts = withRunTools(agent, sessionId, transcript.run);
  const runMemory = openRunMemory(memory, transcript.run?.runId ?? null);
  return { sessionId, parts, state, transcript, memory, runMemory, now: parts.clock.now, hold, recorder, subscribers };
}

/** Leaves the session to a process that has its agent. */
export function agentMissingClosing({
  sessionId,
  state,
  parts,
}: {
  readonly sessionId: string;
  readonly state: State;
  readonly parts: CompiledAgent;
}): Closing {
  const error = agentMismatch(sessionId, state.session?.agent ?? "", parts);
  return { type: "interrupted", reason: "lease_lost", error };
}
