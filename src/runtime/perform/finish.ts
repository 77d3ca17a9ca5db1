/**
 * The end of a run that the model or the done tool chose.
 */
import type { EventBody } from "../../core/event.js";
import type { EffectOf, Perform } from "../work.js";

export const finish: Perform<EffectOf<"finish">> = (_effect, { state }): EventBody | undefined => {
  if (state.status !== "preparing" || state.for !== "finish") return undefined;
  return { type: "run_finished", runId: state.runId, reason: state.reason };
};
