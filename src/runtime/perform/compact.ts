/**
 * Makes room in the context. Without a compaction nothing shrinks, and the run ends with `context_limit`.
 */
import type { EventBody } from "../../core/event.js";
import type { EffectOf, Perform } from "../work.js";

export const compact: Perform<EffectOf<"compact">> = (effect): EventBody => ({
  type: "compacted",
  runId: effect.runId,
});
