/**
 * Aborts the children of a stopping run. The process that stopped the run may have died before it aborted them, and a restart abandons open
 * calls, so no other process would abort the children later.
 */
import { effects } from "../../core/machine/effects.js";
import { abortsRun, type InboxMessage } from "../../core/machine/inbox.js";
import { type Call, hasCalls, isResting, type State } from "../../core/machine/state.js";
import { findChildAgent } from "../agent/agent-family.js";
import type { CompiledAgent } from "../agent/compiled-agent.js";
import { deriveChildId, postAbort } from "../effects/children.js";

/**
 * Called before a driver resumes a stopping run, or a run that its inbox stops. A child accepts the same abort once.
 * Returns undefined if there is no such child.
 */
export function cancelChildren(
  sessionId: string,
  state: State,
  messages: readonly InboxMessage[],
  agent: Pick<CompiledAgent, "store" | "clock" | "family">,
): Promise<unknown> | undefined {
  const { store, clock } = agent;
  const cancelEffects = effects(state).filter((effect) => effect.type === "cancel_child");
  const uncertainCalls = isStopping(state, messages) ? findStartingCalls(state, agent) : [];
  if (cancelEffects.length + uncertainCalls.length === 0) return undefined;
  return Promise.all([
    ...cancelEffects.map((effect) => postAbort(effect, store, clock.now())),
    ...uncertainCalls.map((callKey) =>
      postAbort({ childId: deriveChildId(sessionId, callKey), callKey }, store, clock.now()),
    ),
  ]);
}

function isStopping(state: State, messages: readonly InboxMessage[]): boolean {
  if (state.status === "idle" || isResting(state)) return false;
  return state.stopping !== null || messages.some((message) => abortsRun(message, state));
}

/** The calls of agents whose children may have started: the commit that records the start may be lost. */
function findStartingCalls(state: State, { family }: Pick<CompiledAgent, "family">): readonly string[] {
  if (!hasCalls(state)) return [];
  const isUncertain = ({ status, name }: Call) => status === "running" && findChildAgent(name, family) !== undefined;
  return state.calls.filter(isUncertain).map(({ callKey }) => callKey);
}
