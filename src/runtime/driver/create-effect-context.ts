/**
 * What an effect of a session has in hand: the parts of the agent that has the session in the state that wants the effect.
 */
import type { State } from "../../core/machine/state.js";
import { agentMismatch, type CompiledAgent, findSessionAgent } from "../agent/compiled-agent.js";
import { withRunTools } from "../agent/parts-of-run.js";
import type { Closing } from "../log/closing.js";
import type { EffectContext } from "../work/effect-context.js";

type EffectSource = Omit<EffectContext, "now">;

/** Null if the session has an agent that this process cannot drive: another process gave it to that one. */
export function createEffectContext(
  { sessionId, parts: own, transcript, memory, hold, recorder, subscribers }: EffectSource,
  state: State,
): EffectContext | null {
  const ofAgent = findSessionAgent(own, state);
  if (ofAgent === null) return null;
  const parts = withRunTools(ofAgent, sessionId, transcript.run);
  return { sessionId, parts, state, transcript, memory, now: parts.clock.now, hold, recorder, subscribers };
}

/** The session is left to a process that has its agent. */
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
