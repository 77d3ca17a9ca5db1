/**
 * A run that stops tells its children so. The process that stopped the run may have died before it did, and a restart gives
 * up what is open: nobody would tell the children any more.
 */
import { effects } from "../../core/machine/effects.js";
import type { State } from "../../core/machine/state.js";
import type { CompiledAgent } from "../agent/compiled-agent.js";
import { postCancel } from "../effects/children.js";

/** Before a driver takes a stopping run up. A child takes the same abort once. Undefined if there is no such child. */
export function cancelChildren(
  state: State,
  parts: Pick<CompiledAgent, "store" | "clock">,
): Promise<unknown> | undefined {
  const cancelled = effects(state).filter((effect) => effect.type === "cancel_child");
  if (cancelled.length === 0) return undefined;
  return Promise.all(cancelled.map((effect) => postCancel(effect, parts.store, parts.clock.now())));
}
