/**
 * A model that asks for the same call again and again (TOOL-10): it is told once, and the run stops where that does not help.
 */
import type { PolicyDecision } from "../../core/machine/event.js";
import type { CallRecord } from "../../core/transcript/results.js";
import type { EffectContext } from "../work/effect-context.js";

/** Calls in a row of one tool with one input, from which on they count as repeated. */
const timesAllowed = 2;

/** What the policy says of a call by itself, as far as it is not left to others; `ask` where a person must be asked. */
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
      // The model saw what it was told only where that was in a step before this one.
      return run.toldOfRepeat !== null && run.toldOfRepeat < state.modelCallIndex
        ? { verdict: "block", reason: stopReason, stopRun: true, repeated: true }
        : { verdict: "block", reason: toldReason(timesInRow), repeated: true };
  }
}

/** What a person is asked. */
export function questionOfRepeat({ timesInRow }: CallRecord): string {
  return `The model has asked for this same call ${timesInRow} times in a row. Run it again?`;
}

const stopReason = "the same call was asked for again and again, which ended the run";

function toldReason(timesInRow: number): string {
  return `you have asked for this same call ${timesInRow} times in a row, and it was not run again. Go by the results that you have, or do something else; asking for a call over and over once more ends the run`;
}
