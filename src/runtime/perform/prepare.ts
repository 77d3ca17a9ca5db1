/**
 * Before a model call: what it will see.
 */
import type { EventBody } from "../../core/event.js";
import type { EffectOf, Perform } from "../work.js";

export const prepare: Perform<EffectOf<"prepare">> = (_effect, { state }): EventBody | undefined => {
  if (state.status !== "preparing" || state.for !== "step") return undefined;
  return {
    type: "prepared",
    runId: state.runId,
    modelCallIndex: state.modelCallIndex,
    upTo: state.seq,
    purpose: state.purpose,
  };
};
