/**
 * A run that stops tells its children so. The process that stopped the run may have died before it did, and a restart gives
 * up what is open: nobody would tell the children any more.
 */
import { effects } from "../../core/machine/effects.js";
import { abortsRun, type InboxMessage } from "../../core/machine/inbox.js";
import { type Call, hasCalls, isResting, type State } from "../../core/machine/state.js";
import { childAgentOf } from "../agent/agent-family.js";
import type { CompiledAgent } from "../agent/compiled-agent.js";
import { childIdOf, postCancel } from "../effects/children.js";

/**
 * Before a driver takes a stopping run up, or one that its inbox stops. A child takes the same abort once. Undefined if there
 * is no such child.
 */
export function cancelChildren(
  sessionId: string,
  state: State,
  messages: readonly InboxMessage[],
  parts: Pick<CompiledAgent, "store" | "clock" | "family">,
): Promise<unknown> | undefined {
  const { store, clock } = parts;
  const cancelled = effects(state).filter((effect) => effect.type === "cancel_child");
  const unsure = stops(state, messages) ? startsUnderWay(state, parts) : [];
  if (cancelled.length + unsure.length === 0) return undefined;
  return Promise.all([
    ...cancelled.map((effect) => postCancel(effect, store, clock.now())),
    ...unsure.map(async (callKey) => {
      const childId = childIdOf(sessionId, callKey);
      if ((await store.describe(childId)) !== null) await postCancel({ childId, callKey }, store, clock.now());
    }),
  ]);
}

function stops(state: State, messages: readonly InboxMessage[]): boolean {
  if (state.status === "idle" || isResting(state)) return false;
  return state.stopping !== null || messages.some((message) => abortsRun(message, state));
}

/** The calls of agents whose children may have been asked: the commit that says so may be lost. */
function startsUnderWay(state: State, { family }: Pick<CompiledAgent, "family">): readonly string[] {
  if (!hasCalls(state)) return [];
  const isUnsure = ({ status, name }: Call) => status === "running" && childAgentOf(name, family) !== undefined;
  return state.calls.filter(isUnsure).map(({ callKey }) => callKey);
}
