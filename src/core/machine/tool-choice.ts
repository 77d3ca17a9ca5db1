/**
 * How long a forced tool choice of a run holds.
 *
 * 1. The log says it in full: a choice with `everyStep: true` holds for each model call, one without it for the first.
 * 2. A hook's choice is for its own model call, and does not come through here.
 */
import type { RecordedToolChoice, ToolChoice } from "./event.js";

/** What the log keeps of a run's choice: a forced one holds for every model call. */
export function recordToolChoice(choice: ToolChoice): RecordedToolChoice {
  if (choice === "required") return { required: true, everyStep: true };
  return typeof choice === "object" ? { tool: choice.tool, everyStep: true } : choice;
}

/** The choice for one model call of the run; undefined if the run says nothing. */
export function toolChoiceAt(choice: RecordedToolChoice | undefined, modelCallIndex: number): ToolChoice | undefined {
  if (choice === undefined || choice === "auto" || choice === "none") return choice;
  const isHeld =
    modelCallIndex === 1 || (typeof choice === "object" && "everyStep" in choice && choice.everyStep === true);
  if (!isHeld) return "auto";
  return typeof choice === "object" && "tool" in choice ? { tool: choice.tool } : "required";
}
