/**
 * Handles a model that requests the same call again and again (TOOL-10): it is warned once, and the run stops if it continues.
 */
import type { PolicyDecision } from "../../core/machine/event.js";
import type { CallRecord } from "../../core/transcript/results.js";
import type { EffectContext } from "../work/effect-context.js";
import { repeatedCall, repetitionEndsRun } from "./prompts.js";

/** How many equal calls in a row are not yet a repetition. */
const timesAllowed = 2;

/** The decision on a repeated call, or "ask" if a person decides; undefined if repetition does not matter. */
export function decideRepeated(
  { timesInRow }: CallRecord,
  { state, transcript }: EffectContext,
): PolicyDecision | "ask" | undefined {
  const { run } = transcript;
  if (timesInRow <= timesAllowed || run === null || state.status === "idle") return undefined;
  switch (run.limits.onRepeatedCall ?? "stop") {
    case "ignore":
      return undefined;
    case "ask":
      return "ask";
    case "stop":
      // A model has only seen the warning if an earlier step produced it.
      return run.repeatWarningStep !== null && run.repeatWarningStep < state.modelCallIndex
        ? { verdict: "block", reason: repetitionEndsRun, stopRun: true, repeated: true }
        : { verdict: "block", reason: repeatedCall(timesInRow), repeated: true };
  }
}

/** The question to a person. */
export function repeatedCallQuestion({ timesInRow }: CallRecord): string {
  return `The model has asked for this same call ${timesInRow} times in a row. Run it again?`;
}
