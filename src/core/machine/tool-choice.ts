/**
 * How long a forced tool choice of a run holds.
 *
 * 1. The log alone decides: a choice with `everyStep: true` holds for each model call of the run, one without it for
 *    the first. After that the model may call tools, and may also answer: a choice that stayed forced would keep the run
 *    from ending.
 * 2. A hook's choice is for its own model call, and does not come through here.
 */
import type { RunToolChoice, ToolChoice } from "./event.js";

/** The shortest equivalent form of a run's choice. The log stores this form. */
export function normalizeToolChoice(choice: RunToolChoice): RunToolChoice {
  if (typeof choice === "string") return choice;
  const everyStep = appliesToEveryStep(choice) ? { everyStep: true } : {};
  if ("tool" in choice) return { tool: choice.tool, ...everyStep };
  return appliesToEveryStep(choice) ? { required: true, ...everyStep } : "required";
}

/** The choice for one model call of the run; undefined if the run makes none. */
export function resolveToolChoice(choice: RunToolChoice | undefined, modelCallIndex: number): ToolChoice | undefined {
  if (choice === undefined || choice === "auto" || choice === "none") return choice;
  if (modelCallIndex !== 1 && !appliesToEveryStep(choice)) return "auto";
  return typeof choice === "object" && "tool" in choice ? { tool: choice.tool } : "required";
}

function appliesToEveryStep(choice: RunToolChoice): boolean {
  return typeof choice === "object" && "everyStep" in choice && choice.everyStep === true;
}
