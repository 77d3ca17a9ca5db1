/**
 * A model that asks for the same call again and again (TOOL-10): it is told once, and the run stops if it goes on.
 */
import type { PolicyDecision } from "../../core/machine/event.js";
import type { CallRecord } from "../../core/transcript/results.js";
import type { EffectContext } from "../work/effect-context.js";
import { repeatedCall, repetitionEndsRun } from "./prompts.js";

/** So many calls in a row of one tool with one input are no repetition yet. */
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
      // A model has seen the warning only if an earlier step gave it.
      return run.repeatWarningStep !== null && run.repeatWarningStep < state.modelCallIndex
        ? { verdict: "block", reason: repetitionEndsRun, stopRun: true, repeated: true }
        : { verdict: "block", reason: repeatedCall(timesInRow), repeated: true };
  }
}

/** What a person is asked. */
export function repeatedCallQuestion({ timesInRow }: CallRecord): string {
  return `The model has asked for this same call ${timesInRow} times in a row. Run it again?`;
}
